"""``mastwatch config show``, and the configuration in ``mastwatch detect`` and ``doctor``."""

from __future__ import annotations

import json

import pytest

from mastwatch import cli, registry
from mastwatch.detector import Detector
from mastwatch.events import MessageSent
from mastwatch.findings import Severity

REASON = "polls on purpose"
RULE = """
[[rules]]
mode = "FM-1.3"
agent = "Poll*"
ignore = true
reason = "polls on purpose"
"""


class Loops(Detector):
    mode = "FM-1.3"
    name = "loops"

    def __init__(self, *, warn: int = 1, share: float = 0.5) -> None:
        self.warn, self.seen = warn, 0

    def observe(self, event, signals):
        if not isinstance(event, MessageSent) or "loop" not in (event.text or ""):
            return None
        self.seen += 1
        level = Severity.WARN if self.seen >= self.warn else Severity.SUSPECT
        return self.finding(
            level, signals, key="k", agent=event.sender, evidence=(), explanation="loops"
        )


class Idle(Loops):
    mode = "FM-1.5"
    name = "idle"

    def observe(self, event, signals):
        return None


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """A working directory of its own, with detectors of its own."""
    found = [
        registry.Plugin(registry.DETECTORS, kind.name, "tests", "1", "t:T", kind)
        for kind in (Loops, Idle)
    ]
    monkeypatch.setattr(registry, "plugins", lambda group=None: found)
    monkeypatch.chdir(tmp_path)
    for name in ("RELEASE", "CONFIG", "DETECTORS", "THRESHOLDS", "RULES"):
        monkeypatch.delenv(f"MASTWATCH_{name}", raising=False)
    return tmp_path


def log(*agents: str) -> str:
    rows = [
        {"index": i, "agent": agent, "role": "assistant", "content": f"loop {i}"}
        for i, agent in enumerate(agents)
    ]
    return json.dumps({"id": "run-1", "framework": "custom", "task": "t", "messages": rows})


def call(capsys, *args):
    status = cli.main(list(args))
    out, err = capsys.readouterr()
    return status, out, err


def show(capsys, *args):
    status, out, err = call(capsys, "config", "show", "--json", *args)
    assert err == ""
    return status, json.loads(out)


def test_each_value_says_where_it_comes_from(capsys, here, monkeypatch) -> None:
    monkeypatch.setenv("MASTWATCH_PROMETHEUS_PORT", "0")
    (here / "mastwatch.toml").write_text('release = "1.2"\nprometheus_port = 9999\n')
    status, shown = show(capsys)
    assert status == 0
    assert shown["problems"] == []
    assert shown["settings"]["release"] == {
        "value": "1.2", "from": f"{here}/mastwatch.toml: release",
    }  # fmt: skip
    assert shown["settings"]["prometheus_port"] == {
        "value": 0, "from": "variable MASTWATCH_PROMETHEUS_PORT",
    }  # fmt: skip
    assert shown["settings"]["max_runs"] == {"value": 1024, "from": "default"}


def test_parameters_show_their_defaults_where_changed(capsys, here) -> None:
    (here / "pyproject.toml").write_text("[tool.mastwatch.thresholds.loops]\nwarn = 4\n")
    _, shown = show(capsys)
    assert shown["detectors"]["loops"] == {
        "mode": "FM-1.3",
        "parameters": {
            "warn": {
                "value": 4,
                "default": 1,
                "from": f"{here}/pyproject.toml: tool.mastwatch.thresholds.loops.warn",
            },
            "share": {"value": 0.5, "default": 0.5},
        },
    }
    _, out, _ = call(capsys, "config", "show")
    assert "4 [1]" in out


def test_rules_show_their_state(capsys, here) -> None:
    (here / "mastwatch.toml").write_text(
        RULE + "expires = 2999-12-31\n"
        '[[rules]]\ntool = "x"\nseverity = "suspect"\nexpires = 2020-01-01\n'
        '[[rules]]\nagent = "y"\nthresholds = { warn = 7 }\n'
    )
    status, shown = show(capsys)
    assert status == 1
    first, second, third = shown["rules"]
    assert first == {
        "number": 1, "from": f"{here}/mastwatch.toml: rules #1", "state": "active",
        "mode": ["FM-1.3"], "agent": ["Poll*"], "ignore": True, "reason": REASON,
        "expires": "2999-12-31",
    }  # fmt: skip
    assert (second["state"], second["expires"]) == ("expired", "2020-01-01")
    assert third["thresholds"] == {"loops": {"warn": 7}, "idle": {"warn": 7}}
    assert "rules #2: expired on 2020-01-01" in shown["problems"][0]
    _, out, _ = call(capsys, "config", "show")
    assert "active until 2999-12-31  mode=FM-1.3  agent=Poll*" in out
    assert "expired on 2020-01-01  tool=x" in out


def test_problems_come_last_and_set_the_exit_status(capsys, here) -> None:
    (here / "mastwatch.toml").write_text("relase = 1\n[thresholds.loops]\nwran = 3\n")
    status, out, _ = call(capsys, "config", "show")
    assert status == 1
    assert out.splitlines()[-3] == "problems: 2"
    assert "relase is no setting" in out.splitlines()[-2]
    assert "thresholds.loops.wran: no such parameter (did you mean warn?)" in out.splitlines()[-1]


def test_a_file_may_be_named(capsys, here, monkeypatch) -> None:
    (here / "other.toml").write_text('release = "other"\n')
    (here / "mastwatch.toml").write_text('release = "here"\n')
    assert show(capsys, "--config", "other.toml")[1]["settings"]["release"]["value"] == "other"
    monkeypatch.setenv("MASTWATCH_CONFIG", str(here / "other.toml"))
    assert show(capsys)[1]["settings"]["release"]["value"] == "other"
    status, shown = show(capsys, "--config", "missing.toml")
    assert status == 1
    assert "missing.toml cannot be read" in shown["problems"][0]


def test_config_alone_says_what_it_can_do(capsys) -> None:
    status, out, _ = call(capsys, "config")
    assert status == 0
    assert "show" in out


def test_doctor_says_the_same_problems(capsys, here) -> None:
    (here / "mastwatch.toml").write_text('[[rules]]\nmode = "FM-1.3"\nignore = true\n')
    _, out, _ = call(capsys, "doctor")
    assert "rules #1: ignore needs a reason" in out


def detect(capsys, *args):
    status, out, err = call(capsys, "detect", "log.jsonl", *args)
    return status, [json.loads(line) for line in out.splitlines()], err.splitlines()


def test_detect_honours_the_file_and_says_what_it_suppressed(capsys, here) -> None:
    (here / "log.jsonl").write_text(log("Poller", "Clerk") + "\n")
    (here / "mastwatch.toml").write_text(RULE)
    status, found, err = detect(capsys, "--fail-on", "warn")
    assert [f["agent"] for f in found] == ["Clerk"]
    assert status == 1
    assert err == [f"mastwatch: 1 finding suppressed by {here}/mastwatch.toml: rules #1: {REASON}"]
    _, found, err = detect(capsys, "--no-config")
    assert [f["agent"] for f in found] == ["Poller", "Clerk"]
    assert err == []


def test_what_is_suppressed_does_not_fail(capsys, here) -> None:
    (here / "log.jsonl").write_text(log("Poller", "Poller") + "\n")
    (here / "ci.toml").write_text(RULE)
    assert detect(capsys, "--fail-on", "warn", "--config", "ci.toml")[0] == 0
    assert detect(capsys, "--fail-on", "warn")[0] == 1


def test_detect_takes_thresholds_and_the_choice_of_detectors(capsys, here) -> None:
    (here / "log.jsonl").write_text(log("A", "A") + "\n")
    (here / "mastwatch.toml").write_text("[thresholds.loops]\nwarn = 2\n")
    assert [f["severity"] for f in detect(capsys)[1]] == ["suspect", "warn"]
    (here / "mastwatch.toml").write_text('detectors = ["idle", "idel"]\n')
    _, found, err = detect(capsys)
    assert found == []
    assert err == [
        f"mastwatch: {here}/mastwatch.toml: detectors: no detector idel; known: loops, idle"
    ]


def test_detect_says_problems_and_goes_on(capsys, here) -> None:
    (here / "log.jsonl").write_text(log("A") + "\n")
    (here / "broken.toml").write_text("[[rules\n")
    status, found, err = detect(capsys, "--config", "broken.toml")
    assert (status, len(found)) == (0, 1)
    assert "broken.toml cannot be read" in err[0]


def test_detect_with_a_file_that_is_not_there_is_a_mistake(capsys, here) -> None:
    (here / "log.jsonl").write_text(log("A") + "\n")
    assert call(capsys, "detect", "log.jsonl", "--config", "missing.toml")[0] == 2


def test_detect_takes_only_one_of_both_options(capsys) -> None:
    assert call(capsys, "detect", "log.jsonl", "--config", "x", "--no-config")[0] == 2
