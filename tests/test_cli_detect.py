"""``mastwatch detect``: findings out, problems aside, an exit status to build on."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys

import pytest

from mastwatch import cli, registry
from mastwatch.detector import Detector
from mastwatch.events import MessageSent
from mastwatch.findings import Severity


class LoopWord(Detector):
    """Fires where a message says so; keeps these tests free of the real rules."""

    mode = "FM-1.3"
    name = "loop_word"

    def observe(self, event, signals):
        if not isinstance(event, MessageSent) or event.text is None:
            return None
        if "explode" in event.text:
            raise RuntimeError("a detector broke")
        if "notice" in event.text:
            return self.notice("replan", signals, explanation="planned anew")
        if "loop" not in event.text:
            return None
        return self.finding(
            Severity.ALERT if "LOUD" in event.text else Severity.WARN,
            signals,
            key="k",
            agent=event.sender,
            evidence=(0, event.index),
            explanation=f"{event.sender} loops",
        )


class NeverSpeaks(LoopWord):
    mode = "FM-1.5"
    name = "silent"

    def observe(self, event, signals):
        return None


@pytest.fixture(autouse=True)
def stub_detectors(monkeypatch):
    found = [
        registry.Plugin(registry.DETECTORS, kind.name, "tests", "1", "t:T", kind)
        for kind in (LoopWord, NeverSpeaks)
    ]
    monkeypatch.setattr(registry, "plugins", lambda group=None: found)


def log(id, *texts, **more):
    rows = [
        {"index": i, "agent": "Planner", "role": "assistant", "content": text}
        for i, text in enumerate(texts)
    ]
    return json.dumps({"id": id, "framework": "custom", "task": "t", "messages": rows, **more})


@pytest.fixture
def logs(tmp_path):
    def write(name, *lines):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return write


def detect(capsys, *args):
    status = cli.main(["detect", *args])
    out, err = capsys.readouterr()
    return status, [json.loads(line) for line in out.splitlines()], err.splitlines()


def test_one_object_per_finding_with_exactly_the_promised_keys(capsys, logs):
    status, found, err = detect(capsys, logs("a.jsonl", log("run-1", "hi", "a loop")))
    assert (status, err) == (0, [])
    (finding,) = found
    assert list(finding) == [
        "run",
        "mode",
        "slug",
        "severity",
        "agent",
        "message_index",
        "evidence",
        "explanation",
        "episode",
        "fingerprint",
    ]
    assert finding["run"] == "run-1"
    assert (finding["mode"], finding["slug"]) == ("FM-1.3", "step_repetition")
    assert (finding["severity"], finding["agent"]) == ("warn", "Planner")
    assert (finding["message_index"], finding["evidence"]) == (1, [0, 1])


def test_broken_runs_cost_the_good_ones_nothing(capsys, logs):
    path = logs("a.jsonl", log("one", "loop"), '{"id": "two", "mess', "[]", log("three", "loop"))
    status, found, err = detect(capsys, path)
    assert status == 0
    assert [finding["run"] for finding in found] == ["one", "three"]
    assert err == [
        f"mastwatch: {path}:2: the JSON is cut off in the middle; skipped",
        f"mastwatch: {path}:3: is a list, not a run (an object); skipped",
    ]


def test_a_detector_that_breaks_costs_one_event(capsys, logs, monkeypatch):
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    path = logs("a.jsonl", log("one", "explode", "loop"), log("two", "loop"))
    status, found, _ = detect(capsys, path)
    assert status == 0
    assert [finding["run"] for finding in found] == ["one", "two"]


def test_runs_know_nothing_of_each_other(capsys, logs):
    path = logs("a.jsonl", log("same", "loop"), log("same", "loop"))
    _, found, err = detect(capsys, path)
    assert [finding["message_index"] for finding in found] == [0, 0]
    assert len(err) == 1


@pytest.mark.parametrize(
    ("severity", "status"), [("info", 1), ("warn", 1), ("WARN", 1), ("alert", 0)]
)
def test_fail_on(capsys, logs, severity, status):
    path = logs("a.jsonl", log("one", "loop"), log("two", "fine"))
    assert detect(capsys, path, "--fail-on", severity)[0] == status


def test_mode_chooses(capsys, logs):
    path = logs("a.jsonl", log("one", "loop"))
    assert len(detect(capsys, path, "--mode", "FM-1.3")[1]) == 1
    assert len(detect(capsys, path, "--mode", "step_repetition")[1]) == 1
    status, found, _ = detect(capsys, path, "--mode", "FM-1.5", "--fail-on", "info")
    assert (status, found) == (0, [])


def test_notices_only_where_asked_for(capsys, logs):
    path = logs("a.jsonl", log("one", "notice"))
    assert detect(capsys, path, "--fail-on", "info")[:2] == (0, [])
    status, found, _ = detect(capsys, path, "--notices", "--fail-on", "info")
    assert status == 0
    assert (found[0]["mode"], found[0]["notice"]) == (None, "replan")


@pytest.mark.parametrize(
    "args",
    [
        ["--mode", "1.3", "x"],
        ["--fail-on", "loud", "x"],
        ["--format", "yaml", "x"],
        ["--nonsense", "x"],
        [],
    ],
)
def test_usage_errors_are_2(capsys, args):
    assert cli.main(["detect", *args]) == 2
    assert capsys.readouterr().err.startswith("usage: mastwatch")


def test_nothing_readable_is_2(capsys, logs, tmp_path):
    empty = logs("empty.jsonl")
    missing = str(tmp_path / "missing")
    status, found, err = detect(capsys, empty, missing, str(tmp_path / "no" / "way"))
    assert (status, found) == (2, [])
    assert len(err) == 3
    assert detect(capsys, logs("good.jsonl", log("one", "fine")), missing)[0] == 0


def test_folders_are_walked(capsys, logs, tmp_path):
    logs("in/b.jsonl", log("b", "loop"))
    logs("in/deep/c.json", log("c", "loop"))
    logs("in/notes.md", "no log")
    _, found, err = detect(capsys, str(tmp_path / "in"))
    assert ([f["run"] for f in found], err) == (["b", "c"], [])
    (tmp_path / "bare").mkdir()
    status, _, err = detect(capsys, str(tmp_path / "bare"))
    assert (status, len(err)) == (2, 1)


def test_a_folder_of_odd_things_gives_its_logs(capsys, logs, tmp_path):
    """A pipe is not waited for, a link that leads nowhere or in a circle is told."""
    logs("in/b.jsonl", log("b", "loop"))
    logs("in/picture.png", "no log")
    folder = tmp_path / "in"
    os.mkfifo(folder / "pipe.log")
    (folder / "folder.json").mkdir()
    (folder / "circle").symlink_to(folder)
    (folder / "self.json").symlink_to("self.json")
    (folder / "gone.json").symlink_to("nowhere.json")
    status, found, err = detect(capsys, str(folder))
    assert (status, [f["run"] for f in found]) == (0, ["b"])
    assert [line.partition(" cannot be opened ")[2] for line in err] == [
        "(No such file or directory)",
        "(Too many levels of symbolic links)",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_what_is_closed_is_told(capsys, logs, tmp_path):
    logs("in/b.jsonl", log("b", "loop"))
    logs("in/secret.jsonl", log("c", "loop"))
    (tmp_path / "in" / "secret.jsonl").chmod(0)
    (tmp_path / "in" / "closed").mkdir(mode=0)
    _, found, err = detect(capsys, str(tmp_path / "in"))
    assert [f["run"] for f in found] == ["b"]
    assert len([line for line in err if "cannot be opened (Permission denied)" in line]) == 2


def test_a_dash_is_stdin(capsys, monkeypatch):
    data = io.BytesIO(log("one", "loop").replace('"id": "one", ', "").encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data))
    _, found, _ = detect(capsys, "-")
    assert found[0]["run"] == "<stdin>#1"


def test_on_a_terminal_it_is_for_people(capsys, logs, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    evil = log("ru\x1b[2Jn", "fine", "loop", "LOUD loop")
    path = logs("a.jsonl", evil, log("ok", "fine"))
    assert cli.main(["detect", path]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "ru\\x1b[2Jn  custom, 3 messages"
    assert "\x1b" not in out
    assert "warn     FM-1.3 step_repetition  Planner" in out
    assert out.splitlines()[-1] == "2 runs with 4 messages read; 1 finding in 1 run: FM-1.3 1"
    assert cli.main(["detect", "--json", path]) == 0
    assert capsys.readouterr().out.startswith('{"run": ')


def test_without_detectors_it_says_so(capsys, logs, monkeypatch):
    broken = registry.Plugin(registry.DETECTORS, "x", "d", "1", "m:C", None, "m:C cannot be loaded")
    monkeypatch.setattr(registry, "plugins", lambda group=None: [broken])
    _, found, err = detect(capsys, logs("a.jsonl", log("one", "loop")))
    assert found == []
    assert err[0] == "mastwatch: detector x: m:C cannot be loaded"
    assert "no detector could be loaded" in err[1]


COMMAND = [sys.executable, "-m", "mastwatch.cli"]


def test_a_reader_that_leaves_early_is_no_error():
    end, other = os.pipe()
    os.close(end)
    done = subprocess.run(
        [*COMMAND, "plugins", "--json"], stdout=other, stderr=subprocess.PIPE, check=False
    )
    os.close(other)
    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_is_130_and_quiet():
    main, other = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, "detect", "-"], stdin=other, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(2)
        child.send_signal(2)
        out, err = child.communicate(timeout=10)
    finally:
        child.kill()
        os.close(main)
        os.close(other)
    assert (child.returncode, out) == (130, b"")
    assert b"Traceback" not in err


@pytest.mark.slow
def test_every_recorded_set_is_examined(capsys, traces, monkeypatch):
    """With the real detectors: no crash, no problem, and every finding says where."""
    monkeypatch.undo()
    monkeypatch.setenv("MASTWATCH_RAISE_ERRORS", "1")
    for path in sorted((traces / "dev").glob("*.jsonl.gz")):
        status, found, err = detect(capsys, str(path))
        assert status == 0
        assert not [line for line in err if path.name in line]
        for finding in found:
            assert finding["run"]
            assert finding["evidence"] == sorted(set(finding["evidence"]))
            assert finding["message_index"] >= max(finding["evidence"], default=0)
