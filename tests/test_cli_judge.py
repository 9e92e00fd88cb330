"""``mastwatch judge``: reports out, costs before, clear words when it cannot be, a worker."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from judge.stub import LOOP, trace
from mastwatch import cli
from mastwatch.commands import judge as command
from mastwatch.judge import pace
from mastwatch.judge.judge import Judge
from mastwatch.store import RunFilter
from mastwatch.store.sqlite import SqliteStore
from mastwatch.testing import ScriptedModelServer
from mastwatch.testing.model_server import Said

SAID = ("Find the harbour log.", LOOP, "Nothing there yet, I am afraid.", LOOP, "I give up.")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    asked = request["response_format"]["json_schema"]
    if asked["name"] != "verdicts":  # an attribution: this model blames nobody
        return {"candidates": []}
    schema = asked["schema"]
    none = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": "looked"}
    found: dict[str, Any] = dict.fromkeys(schema["properties"]["modes"]["required"], none)
    if "step_repetition" in found:
        quotes = [{"msg": 1, "quote": LOOP}, {"msg": 3, "quote": LOOP}]
        found["step_repetition"] = {**none, "verdict": "present", "evidence": quotes}
    return {"modes": found, "task_completed": "no"}


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("MASTWATCH_JUDGE", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("MASTWATCH_STORE", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(pace, "_FIRST_WAIT", 0.01)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(answer) as scripted:
        yield scripted


@pytest.fixture
def runs(tmp_path: Path) -> str:
    path = tmp_path / "runs.jsonl"
    names = ("user", "Clerk", "Chair", "Clerk", "Clerk")
    chat = [
        {"role": "user" if name == "user" else "assistant", "name": name, "content": text}
        for name, text in zip(names, SAID, strict=True)
    ]
    path.write_text("".join(json.dumps({"messages": chat}) + "\n" for _ in range(3)))
    return str(path)


def judge(*words: Any, url: str = "", model: str = "m") -> int:
    more = [*(["--base-url", url] if url else []), *(["--model", model] if model else [])]
    return cli.main(["judge", *map(str, words), *more])


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_one_report_per_line_in_the_order_of_the_runs(runs, server, capsys) -> None:
    assert judge(runs, url=server.url) == 0
    reports = lines(capsys)
    assert [f"runs.jsonl#{n}" for n in (1, 2, 3)] == [report["run"] for report in reports]
    report = reports[0]
    assert list(report)[:5] == ["run", "coverage", "task_completed", "verdicts", "usage"]
    assert (report["coverage"], report["task_completed"]) == (1.0, "no")
    assert len(report["verdicts"]) == 14
    found = report["verdicts"]["step_repetition"]
    assert (found["mode"], found["verdict"]) == ("FM-1.3", "present")
    assert [item["message_index"] for item in found["evidence"]] == [1, 3]
    assert report["usage"]["calls"] == 1


def test_files_alone_leave_nothing_on_disk(runs, server, tmp_path) -> None:
    judge(runs, url=server.url)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["runs.jsonl"]


def test_options_reach_the_judge(runs, server, capsys) -> None:
    status = judge(
        runs, "--limit", 1, "--mode", "FM-1.3", "--language", "Portuguese", "--profile", "deep",
        url=server.url,
    )  # fmt: skip
    assert status == 0
    (report,) = lines(capsys)
    assert list(report["verdicts"]) == ["step_repetition"]
    assert report["profile"] == "deep"
    assert "Portuguese" in server.requests[0]["messages"][0]["content"]


def test_settings_come_from_variables_and_the_file(runs, server, capsys, monkeypatch) -> None:
    Path("mastwatch.toml").write_text('[judge]\nmodel = "of the file"\nprofile = "fast"\n')
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert judge(runs, "--limit", 1, model="") == 0
    assert server.requests[-1]["model"] == "of the file"
    monkeypatch.setenv("MASTWATCH_JUDGE_MODEL", "of the variable")
    assert judge(runs, "--limit", 1, model="") == 0
    assert server.requests[-1]["model"] == "of the variable"
    assert {report["profile"] for report in lines(capsys)} == {"fast"}


def test_a_dry_run_tells_the_costs_and_asks_nobody(runs, server, capsys) -> None:
    words = ("--dry-run", "--price-input", 2, "--price-output", 8)
    assert judge(runs, *words, url=server.url) == 0
    *estimates, total = lines(capsys)
    assert server.requests == []
    assert [estimate["least"]["calls"] for estimate in estimates] == [1, 1, 1]
    assert total["total"]["runs"] == 3
    assert total["total"]["calls"] == [3, sum(e["most"]["calls"] for e in estimates)]
    assert total["total"]["usd"] > 0
    # And it is what the real thing then plans.
    assert judge(runs, "--limit", 1, url=server.url) == 0
    (report,) = lines(capsys)
    assert report["usage"]["planned_tokens"] == pytest.approx(
        estimates[0]["least"]["input_tokens"], rel=0.02
    )


def test_a_limit_holds_for_all_runs_of_a_command_together(runs, server, capsys) -> None:
    words = ("--max-calls", 2, "--concurrency", 1)
    assert judge(runs, *words, "--dry-run", url=server.url) == 0
    assert lines(capsys)[-1]["total"]["over"] == ["calls"]
    assert judge(runs, *words, url=server.url) == 1
    assert len(server.requests) == 2
    reasons = [{v["reason"] for v in report["verdicts"].values()} for report in lines(capsys)]
    assert reasons[2] == {"budget"}
    assert all("budget" not in found for found in reasons[:2])


def test_a_worker_takes_no_limit_for_a_command(tmp_path, capsys) -> None:
    assert judge("--worker", "--max-calls", 2, "--store", tmp_path / "runs.sqlite") == 2
    assert "per_day" in capsys.readouterr().err


def test_a_limit_of_nothing_is_kept(runs, server, capsys) -> None:
    assert judge(runs, "--max-calls", 0, url=server.url) == 1
    assert server.requests == []
    assert {"budget"} == {v["reason"] for r in lines(capsys) for v in r["verdicts"].values()}


def test_reports_are_written_where_they_are_wanted(runs, server, tmp_path) -> None:
    folder = tmp_path / "out"
    assert judge(runs, "--out", folder, url=server.url) == 0
    suffixes = sorted(path.suffix for path in folder.iterdir() if path.stem != "summary")
    assert suffixes == [".html"] * 3 + [".json"] * 3 + [".md"] * 3
    assert (folder / "summary.html").stat().st_size > 1_000


def test_a_report_that_cannot_be_written_is_printed(runs, server, tmp_path, capsys, monkeypatch):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mastwatch.reports.write_report", full)
    assert judge(runs, "--out", tmp_path / "out", url=server.url) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 3
    assert captured.err.count("No space left") == 1


def test_runs_of_the_store_get_their_report_there(server, tmp_path, capsys) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    store.add(trace(1))
    assert judge("run-1", "--store", store.path, url=server.url) == 0
    assert [report["run"] for report in lines(capsys)] == ["run-1"]
    assert store.report("run-1").verdicts["step_repetition"].verdict == "present"
    asked = len(server.requests)
    assert judge("run-1", "--store", store.path, url=server.url) == 0
    assert len(server.requests) == asked  # the earlier answer
    assert judge("run-1", "--store", store.path, "--rerun", url=server.url) == 0
    assert len(server.requests) == asked + 1


# When it cannot be.


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing.json"], "no such file"),
        (["no-such-run"], "there is no store"),
        (["runs.jsonl", "--mode", "FM-9.9"], "FM-9.9"),
        (["runs.jsonl", "--max-usd", "1"], "no price"),
        (["runs.jsonl"], "daily limit"),
        (["runs.jsonl", "--out", "runs.jsonl"], "--out runs.jsonl: File exists"),
        ([], "give runs or files"),
        (["runs.jsonl", "--worker"], "give runs or files"),
    ],
)
def test_what_cannot_be_done_is_said(runs, words, told, capsys, monkeypatch) -> None:
    if told == "daily limit":
        monkeypatch.setenv("MASTWATCH_JUDGE_PER_DAY", "{calls = 5}")
    assert judge(*words) == 2
    assert told in capsys.readouterr().err


def test_no_model_is_said(runs, capsys) -> None:
    assert judge(runs, model="") == 2
    assert "--model" in capsys.readouterr().err


def test_no_key_is_said_once_and_the_rest_is_not_tried(runs, capsys, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert judge(runs, "--concurrency", 1) == 1
    captured = capsys.readouterr()
    assert captured.err.count("OPENAI_API_KEY") == 1
    reports = [json.loads(line) for line in captured.out.splitlines()]
    assert len(reports) == 3
    assert {"auth"} == {v["reason"] for r in reports for v in r["verdicts"].values()}


def test_a_server_that_is_not_there_is_said(runs, capsys) -> None:
    assert judge(runs, url="http://127.0.0.1:9/v1") == 1
    assert "127.0.0.1:9" in capsys.readouterr().err


def test_a_mistake_in_the_judge_s_table_stops_it(runs, server, capsys) -> None:
    Path("mastwatch.toml").write_text('[judge.per_day]\nusd = "five"\n')
    assert judge(runs, url=server.url) == 2
    assert "per_day" in capsys.readouterr().err
    assert server.requests == []


def test_one_broken_run_costs_no_other(tmp_path, runs, server, capsys) -> None:
    with open(runs, "a") as file:
        file.write("{broken\n")
    assert judge(runs, url=server.url) == 0
    captured = capsys.readouterr()
    assert "runs.jsonl:4" in captured.err
    assert len(captured.out.splitlines()) == 3


def test_some_run_without_any_verdict_is_status_1(runs, capsys) -> None:
    replies = iter([answer, lambda _: Said(content=None, refusal="No."), answer])
    with ScriptedModelServer(lambda request: next(replies)(request)) as server:
        assert judge(runs, "--concurrency", 1, url=server.url) == 1
    words = [r["verdicts"]["step_repetition"]["verdict"] for r in lines(capsys)]
    assert words == ["present", "not_evaluated", "present"]


def test_a_mistake_of_ours_costs_one_run(runs, server, capsys, monkeypatch) -> None:
    real = Judge.judge

    async def broken(self: Judge, run: Any, trigger: str = "asked") -> Any:
        if run.run_id.endswith("#2"):
            raise RuntimeError("ours")
        return await real(self, run, trigger)

    monkeypatch.setattr(Judge, "judge", broken)
    assert judge(runs, url=server.url) == 1
    words = [r["verdicts"]["step_repetition"] for r in lines(capsys)]
    assert [w["verdict"] for w in words] == ["present", "not_evaluated", "present"]
    assert words[1]["reason"] == "internal_error"


def test_the_interrupt_key_keeps_what_is_finished(runs, tmp_path) -> None:
    asked = []

    def stalls(request: dict[str, Any]) -> Any:
        asked.append(1)
        return answer(request) if len(asked) == 1 else Said(content="{}", delay=30)

    with ScriptedModelServer(stalls) as server:
        process = start("judge", runs, "--concurrency", "1", "--base-url", server.url)
        until(lambda: len(asked) == 2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert [json.loads(line)["run"] for line in out.splitlines()] == ["runs.jsonl#1"]


def test_on_a_terminal_it_is_made_to_be_read(runs, server) -> None:
    theirs, ours = pty.openpty()
    words = ["judge", runs, "--limit", "1", "--base-url", server.url, "--model", "m"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mastwatch", *words], stdout=ours, stderr=subprocess.DEVNULL
    )
    os.close(ours)
    told = b""
    while True:
        try:
            part = os.read(theirs, 4_096)
        except OSError:
            break
        if not part:
            break
        told += part
    assert process.wait() == 0
    text = told.decode()
    assert "PRESENT" in text
    assert "Step repetition" in text
    assert LOOP in text
    assert "{" not in text


# As a worker.


def start(*words: str, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mastwatch", *words, "--model", "m"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "MASTWATCH_JUDGE_PROMETHEUS_PORT": "0", **environ},
    )


def until(true: Any, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def filled(path: Path, count: int) -> SqliteStore:
    store = SqliteStore(path)
    for number in range(count):
        store.add(trace(number), job="judge", trigger="outcome")
    return store


def test_a_worker_serves_metrics_and_ends_cleanly_when_told_to(tmp_path, server) -> None:
    from socket import socket

    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    store = filled(tmp_path / "runs.sqlite", 5)
    process = start(
        "judge", "--worker", "--store", str(store.path), "--base-url", server.url, "--out", "out",
        MASTWATCH_JUDGE_PROMETHEUS_PORT=str(port),
    )  # fmt: skip
    until(lambda: store.queue("judge")["done"] == 5)
    time.sleep(0.1)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        told = page.read().decode()
    process.terminate()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "5 judged, 5 attributed, 0 waiting" in err
    assert 'mastwatch_judge_verdicts_total{mode="FM-1.3",verdict="present"} 5.0' in told
    assert 'severity="warn",slug="step_repetition",source="judge"' in told
    assert len(list((tmp_path / "out").glob("*.html"))) == 6
    assert "run-4" in (tmp_path / "out" / "summary.html").read_text()


def test_a_worker_stops_by_itself_when_nothing_waits(tmp_path, server, capsys, monkeypatch) -> None:
    monkeypatch.setenv("MASTWATCH_JUDGE_PROMETHEUS_PORT", "0")
    store = filled(tmp_path / "runs.sqlite", 2)
    words = ("--worker", "--once", "--store", store.path)
    assert judge(*words, url=server.url) == 0
    assert store.queue("judge")["done"] == 2
    store.add(trace(7), job="judge", trigger="sample")
    assert judge(*words, url="http://127.0.0.1:9/v1") == 1
    assert store.queue("judge")["waiting"] == 1
    assert "1 waiting" in capsys.readouterr().err


def test_the_page_over_all_runs_is_over_those_of_earlier_workers_too(
    tmp_path, server, monkeypatch
) -> None:
    monkeypatch.setenv("MASTWATCH_JUDGE_PROMETHEUS_PORT", "0")
    store = filled(tmp_path / "runs.sqlite", 2)
    words = ("--worker", "--once", "--store", store.path, "--out", tmp_path / "out")
    assert judge(*words, url=server.url) == 0
    store.add(trace(7), job="judge", trigger="sample")
    store.delete(RunFilter(run_id="run-0"))
    assert judge(*words, url=server.url) == 0
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert {run["run_id"] for run in told["runs"]} == {"run-1", "run-7"}


def test_a_worker_that_is_killed_loses_no_run(tmp_path) -> None:
    """Its job comes back when the loan is over, and then there is one report."""
    stalling = ScriptedModelServer(lambda _: Said(content="{}", delay=60))
    store = filled(tmp_path / "runs.sqlite", 1)
    with stalling as server:
        process = start("judge", "--worker", "--store", str(store.path), "--base-url", server.url)
        until(lambda: server.requests)
        process.kill()
        process.wait()
    later = SqliteStore(store.path, clock=lambda: time.time() + 3_600)
    assert store.queue("judge")["running"] == 1
    assert later.claim("judge", "next", 60.0).attempt == 2


# Its place on the command line.


@pytest.mark.parametrize("word", command.WORDS)
def test_the_words_of_sub_commands_are_kept_apart_from_runs(word) -> None:
    assert command.words(["judge", word, "x", "--y"]) == [f"judge {word}", "x", "--y"]
    assert command.words(["judge", f"./{word}"]) == ["judge", f"./{word}"]
    assert command.words(["judge", "x", word]) == ["judge", "x", word]
