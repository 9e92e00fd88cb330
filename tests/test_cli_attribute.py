"""``mastwatch attribute``: who decided a failure and when, on stdout, in files, in the store."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from judge.stub import LOOP, trace
from mastwatch import cli
from mastwatch.attribution import Attributor
from mastwatch.judge import pace
from mastwatch.store.sqlite import SqliteStore
from mastwatch.testing import ScriptedModelServer

SAID = ("Find the harbour log.", LOOP, "Nothing there yet, I am afraid.", LOOP, "I give up.")
QUOTE = {"msg": 3, "quote": LOOP}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Blames #3, doubts nothing about it, and finds a loop where it is asked to judge."""
    asked = request["response_format"]["json_schema"]
    if asked["name"] == "proposals":
        said = {"step": 3, "agent": "Chair", "reason": "It searches again.", "confidence": 0.8}
        return {"candidates": [{**said, "counterfactual": "Ask first.", "evidence": QUOTE}]}
    if asked["name"] == "check":
        words = {"is_error": "yes", "lost_before": "no", "saves": "yes"}
        return {**words, "evidence": QUOTE, "why": "it does"}
    if asked["name"] == "choice":
        return {"step": 3, "agent": "Clerk", "reason": "It searches again.", "confidence": 0.8}
    none = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": "looked"}
    found: dict[str, Any] = dict.fromkeys(asked["schema"]["properties"]["modes"]["required"], none)
    quotes = [{"msg": 1, "quote": LOOP}, QUOTE]
    found["step_repetition"] = {**none, "verdict": "present", "evidence": quotes}
    return {"modes": found, "task_completed": "no"}


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("MASTWATCH_JUDGE", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("MASTWATCH_STORE", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MASTWATCH_JUDGE_PROMETHEUS_PORT", "0")
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
    path.write_text("".join(json.dumps({"messages": chat}) + "\n" for _ in range(2)))
    return str(path)


def command(word: str, *words: Any, url: str) -> int:
    return cli.main([word, *map(str, words), "--base-url", url, "--model", "m"])


def attribute(*words: Any, url: str) -> int:
    return command("attribute", *words, url=url)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def stored(path: Path, **fields: Any) -> SqliteStore:
    store = SqliteStore(path)
    store.add(trace(1, **fields), job="judge", trigger="outcome")
    return store


def test_one_attribution_per_line_in_the_order_of_the_runs(runs, server, capsys) -> None:
    assert attribute(runs, url=server.url) == 0
    found = lines(capsys)
    assert [f"runs.jsonl#{n}" for n in (1, 2)] == [each["run"] for each in found]
    first = found[0]
    assert list(first)[:6] == ["run", "result", "step", "agent", "reason", "counterfactual"]
    assert (first["result"], first["step"], first["agent"]) == ("attributed", 3, "Clerk")
    assert first["named_agent"] == "Chair"
    assert first["evidence"] == [{"message_index": 3, "quote": LOOP, "status": "verified"}]
    assert first["usage"]["calls"] == 2


def test_options_reach_the_method(runs, server, capsys) -> None:
    assert attribute(runs, "--limit", 1, "--method", "all_at_once", url=server.url) == 0
    assert lines(capsys)[0]["method"] == "all_at_once"
    assert attribute(runs, "--compat", "paper", url=server.url) == 2
    assert "give --method all_at_once" in capsys.readouterr().err
    assert attribute(url=server.url) == 2
    assert "give runs or files" in capsys.readouterr().err


def test_a_run_of_the_store_gets_it_there_and_nowhere_else(server, tmp_path, capsys) -> None:
    store = stored(tmp_path / "runs.sqlite")
    assert attribute("run-1", "--store", store.path, url=server.url) == 0
    assert store.attribution("run-1").step == 3
    assert lines(capsys)[0]["run"] == "run-1"
    assert attribute("run-1", "--store", store.path, url=server.url) == 0
    assert lines(capsys)[0]["usage"]["cached_calls"] == 2


def test_a_run_that_succeeded_is_left_alone(server, tmp_path, capsys) -> None:
    store = stored(tmp_path / "runs.sqlite", success=True)
    assert attribute("run-1", "--store", store.path, url=server.url) == 0
    assert lines(capsys)[0]["reason"] == "succeeded"
    assert server.requests == []
    assert store.attribution("run-1") is None


def test_reports_are_written_where_they_are_wanted(runs, server, tmp_path) -> None:
    folder = tmp_path / "out"
    assert attribute(runs, "--out", folder, url=server.url) == 0
    suffixes = sorted(path.suffix for path in folder.iterdir() if path.stem != "summary")
    assert suffixes == [".html"] * 2 + [".json"] * 2 + [".md"] * 2
    page = next(p for p in folder.glob("*.html") if p.stem != "summary").read_text()
    assert "decided at #3 by Clerk" in page
    assert "not judged" in page
    assert "Who decides failures" in (folder / "summary.html").read_text()


@pytest.mark.parametrize("order", [("judge", "attribute"), ("attribute", "judge")])
def test_judging_and_attributing_into_one_folder_loses_neither(
    runs, server, tmp_path, order
) -> None:
    folder = tmp_path / "out"
    for word in order:
        assert command(word, runs, "--limit", 1, "--out", folder, url=server.url) == 0
    [page] = [p.read_text() for p in folder.glob("*.html") if p.stem != "summary"]
    assert "decided at #3 by Clerk" in page
    assert "1 present" in page


def test_what_was_said_of_another_run_of_that_name_is_not_taken(runs, server, tmp_path) -> None:
    folder = tmp_path / "out"
    assert command("judge", runs, "--limit", 1, "--out", folder, url=server.url) == 0
    other = Path(runs).read_text().replace(LOOP, "Now I look for the key of the boathouse.")
    Path(runs).write_text(other)
    assert attribute(runs, "--limit", 1, "--out", folder, url=server.url) == 0
    [page] = [p.read_text() for p in folder.glob("*.html") if p.stem != "summary"]
    assert "not judged" in page


def test_a_judged_run_of_the_store_shows_its_attribution(server, tmp_path) -> None:
    store, folder = stored(tmp_path / "runs.sqlite"), tmp_path / "out"
    assert attribute("run-1", "--store", store.path, url=server.url) == 0
    words = ("run-1", "--store", store.path, "--out", folder)
    assert command("judge", *words, url=server.url) == 0
    [told] = [json.loads(p.read_text()) for p in folder.glob("run*.json")]
    assert told["attribution"]["step"] == 3
    assert told["verdicts"]["step_repetition"]["verdict"] == "present"


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_spent(
    runs, server, tmp_path, capsys
) -> None:
    (tmp_path / "out").write_text("a file")
    assert attribute(runs, "--out", tmp_path / "out", url=server.url) == 2
    assert "name a folder" in capsys.readouterr().err
    assert server.requests == []


def test_a_server_that_is_not_there_is_said_once(runs, capsys) -> None:
    assert attribute(runs, url="http://127.0.0.1:9/v1") == 1
    captured = capsys.readouterr()
    told = [json.loads(line) for line in captured.out.splitlines()]
    assert [each["reason"] for each in told] == ["unreachable", "unreachable"]
    assert captured.err.count("are not tried") == 1


def test_a_mistake_of_ours_costs_one_run(runs, server, capsys, monkeypatch) -> None:
    monkeypatch.setenv("MASTWATCH_RAISE_ERRORS", "0")
    works, first = Attributor.attribute, []

    async def fails_once(self: Attributor, *args: Any) -> Any:
        if not first:
            first.append(1)
            raise RuntimeError("a mistake of ours")
        return await works(self, *args)

    monkeypatch.setattr(Attributor, "attribute", fails_once)
    assert attribute(runs, url=server.url) == 1
    assert lines(capsys)[0]["reason"] == "internal_error"


def test_on_a_terminal_it_is_made_to_be_read(runs, server) -> None:
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mastwatch", "attribute", runs, "--base-url", server.url,
         "--model", "m"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(writer)
    shown = b""
    with os.fdopen(reader, "rb", buffering=0) as terminal:
        try:
            while part := terminal.read(4_096):
                shown += part
        except OSError:  # the other end is closed
            pass
    assert process.wait(20) == 0
    process.communicate()
    text = shown.decode()
    assert "DECIDED  #3 Clerk" in text
    assert "instead: Ask first." in text
    assert "2 runs, 2 with a deciding step" in text


# The worker writes the page again when the attribution is there.


def test_the_worker_s_page_shows_who_decided(server, tmp_path, capsys) -> None:
    store, folder = stored(tmp_path / "runs.sqlite"), tmp_path / "out"
    words = ("--worker", "--once", "--store", store.path, "--out", folder)
    assert command("judge", *words, url=server.url) == 0
    assert "1 judged, 1 attributed, 0 waiting" in capsys.readouterr().err
    [page] = [p.read_text() for p in folder.glob("run*.html")]
    assert "decided at #3 by Clerk" in page
    assert "1 present" in page
    assert re.search(r'#the-step">Clerk #3</a>', (folder / "summary.html").read_text())
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["deciders"]["agents"]["Clerk"]["decided"] == 1


def test_runs_that_were_only_attributed_are_on_the_worker_s_page(server, tmp_path) -> None:
    store, folder = SqliteStore(tmp_path / "runs.sqlite"), tmp_path / "out"
    store.add(trace(7))
    assert attribute("run-7", "--store", store.path, "--out", folder, url=server.url) == 0
    store.add(trace(1), job="judge", trigger="outcome")
    words = ("--worker", "--once", "--store", store.path, "--out", folder)
    assert command("judge", *words, url=server.url) == 0
    told = json.loads((folder / "summary.json").read_text())
    assert {run["run_id"] for run in told["runs"]} == {"run-1", "run-7"}


def test_the_worker_can_be_told_not_to(server, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("MASTWATCH_JUDGE_ATTRIBUTION", "off")
    store = stored(tmp_path / "runs.sqlite")
    assert command("judge", "--worker", "--once", "--store", store.path, url=server.url) == 0
    assert "1 judged, 0 attributed, 0 waiting" in capsys.readouterr().err
    assert store.attribution("run-1") is None
