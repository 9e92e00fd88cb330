"""``mastwatch store``: see and forget what was kept."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from mastwatch.cli import main
from mastwatch.events import ToolRequest
from mastwatch.findings import Finding, Severity
from mastwatch.store import Attribution, Evidence, Report, RunFilter, Trace, TraceRow, Verdict
from mastwatch.store.sqlite import SqliteStore

DAY = 86_400.0


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MASTWATCH_STORE", str(tmp_path / "runs.sqlite"))
    return tmp_path / "runs.sqlite"


@pytest.fixture
def store(path):
    store = SqliteStore(path)
    row = TraceRow(
        index=0, agent="Planner", text="Let us\x1b[2J look", recipients=("Clerk",),
        tool_calls=(ToolRequest(name="search", arguments={"q": 1}),),
    )  # fmt: skip
    finding = Finding(
        mode="FM-1.3", severity=Severity.WARN, detector="d", run_id="a", agent="Planner",
        message_index=0, evidence=(0,), explanation="Twice.", fingerprint="f",
    )  # fmt: skip
    a = Trace(
        run_id="a", framework="autogen", conversation_id="c1", user_id="u1", ended=10 * DAY,
        outcome="limit", success=False, rows=(row,), findings=(finding,), task="find it",
    )  # fmt: skip
    store.add(a)
    store.add(replace(a, run_id="b", conversation_id="c2", ended=20 * DAY, success=None))
    verdict = Verdict(
        slug="step_repetition", mode="FM-1.3", verdict="present", why="It says it twice.",
        evidence=(Evidence(message_index=0, quote="Let us"),),
    )  # fmt: skip
    store.put(Report(run_id="a", verdicts={"step_repetition": verdict}))
    return store


def run(capsys, *args: str) -> tuple[int, str, str]:
    status = main(["store", *args])
    out, err = capsys.readouterr()
    return status, out, err


def lines(capsys, *args: str) -> list[dict]:
    status, out, err = run(capsys, *args)
    assert (status, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def terminal(monkeypatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


def test_list_prints_a_json_line_per_run_where_nobody_reads_along(store, capsys) -> None:
    found = lines(capsys, "list")
    assert [entry["run"] for entry in found] == ["b", "a"]
    assert found[1].items() >= {"framework": "autogen", "success": False, "judged": True}.items()


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--conversation", "c1"], ["a"]),
        (["--user", "u1", "--limit", "1"], ["b"]),
        (["--failure"], ["a"]),
        (["--success"], []),
        (["--judged"], ["a"]),
        (["--unjudged"], ["b"]),
        (["--since", "1970-01-21"], ["b"]),
        (["--before", "1970-01-21"], ["a"]),
        (["--before", "1970-01-21T00:00:01"], ["b", "a"]),
        (["--framework", "x"], []),
        (["--outcome", "limit"], ["b", "a"]),
    ],
)
def test_list_takes_conditions(store, capsys, args, found) -> None:
    assert [entry["run"] for entry in lines(capsys, "list", *args)] == found


def test_list_is_for_people_in_a_terminal(store, capsys, monkeypatch) -> None:
    terminal(monkeypatch)
    _, out, _ = run(capsys, "list")
    assert out.splitlines()[1].split() == [
        "a", "1970-01-11", "00:00", "autogen", "limit", "failure", "judged", "c1",
    ]  # fmt: skip
    assert run(capsys, "list", "--json")[1].startswith("{")


def test_show_prints_the_run_and_its_report(store, capsys) -> None:
    [shown] = lines(capsys, "show", "a")
    assert shown["trace"]["rows"][0]["agent"] == "Planner"
    assert shown["report"]["verdicts"]["step_repetition"]["verdict"] == "present"


def test_show_is_for_people_and_safe_in_a_terminal(store, capsys, monkeypatch) -> None:
    terminal(monkeypatch)
    _, out, _ = run(capsys, "show", "a")
    assert "#0 Planner reply -> Clerk\n    Let us\\x1b[2J look\n    search({'q': 1})\n" in out
    assert "warn FM-1.3 step_repetition at #0: Twice.\n" in out
    assert "judge: FM-1.3 step_repetition at #0: It says it twice.\n" in out


def test_show_says_when_there_is_no_such_run(store, capsys) -> None:
    status, out, err = run(capsys, "show", "other")
    assert (status, out) == (2, "")
    assert "there is no run 'other' in " in err


@pytest.mark.parametrize(
    ("args", "left"),
    [
        (["--conversation", "c1"], ["b"]),
        (["--run", "b"], ["a"]),
        (["--user", "u1"], []),
        (["--user", "u1", "--before", "1970-01-21"], ["b"]),
        (["--user", "other"], ["b", "a"]),
    ],
)
def test_delete_forgets_what_meets_all_conditions(store, capsys, args, left) -> None:
    assert lines(capsys, "delete", *args) == [{"deleted": 2 - len(left)}]
    assert list(store.runs()) == left


def test_delete_without_a_condition_deletes_nothing(store, capsys) -> None:
    status, out, err = run(capsys, "delete")
    assert (status, out) == (2, "")
    assert "--conversation ID" in err
    assert len(list(store.runs())) == 2


def test_prune_keeps_to_the_bounds_of_the_settings(store, capsys, monkeypatch) -> None:
    assert lines(capsys, "prune") == [{"deleted": 0}]
    monkeypatch.setenv("MASTWATCH_STORE_MAX_MB", "0.000001")
    terminal(monkeypatch)
    assert run(capsys, "prune")[1] == "2 runs deleted\n"


def test_path_tells_where_it_is_without_making_it(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MASTWATCH_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run(capsys, "path")[1] == f"{tmp_path}/state/mastwatch/runs.sqlite\n"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(capsys, "path")[1] == f"{tmp_path}/.local/state/mastwatch/runs.sqlite\n"
    assert run(capsys, "path", "--store", "~/x.sqlite")[1] == f"{tmp_path}/x.sqlite\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", [["list"], ["show", "a"], ["delete", "--run", "a"], ["prune"]])
def test_a_store_that_is_not_there_is_said_and_not_made(path, capsys, args) -> None:
    status, out, err = run(capsys, *args)
    assert (status, out) == (2, "")
    assert f"{path} cannot be used: there is no such file" in err
    assert list(path.parent.iterdir()) == []


def test_a_date_that_is_none_is_said(store, capsys) -> None:
    status, _, err = run(capsys, "list", "--since", "yesterday")
    assert status == 2
    assert "'yesterday' is no date; write 2026-11-30" in err


# What attribution said of a run.

DECIDED = Attribution(
    run_id="a", method="all_at_once", result="attributed", step=0, agent="Planner",
    reason="It looks in the wrong\x1b[2J place.", counterfactual="Ask first.",
)  # fmt: skip


def test_list_tells_and_asks_for_attributed_runs(store, capsys, monkeypatch) -> None:
    store.put(DECIDED)
    found = {entry["run"]: entry["attributed"] for entry in lines(capsys, "list")}
    assert found == {"a": True, "b": False}
    assert [entry["run"] for entry in lines(capsys, "list", "--attributed")] == ["a"]
    assert [entry["run"] for entry in lines(capsys, "list", "--unattributed")] == ["b"]
    assert list(store.runs(RunFilter(attributed=True, judged=False))) == []
    terminal(monkeypatch)
    assert "judged  attributed" in run(capsys, "list")[1]


def test_show_tells_the_attribution(store, capsys, monkeypatch) -> None:
    assert lines(capsys, "show", "a")[0]["attribution"] is None
    store.put(DECIDED)
    [shown] = lines(capsys, "show", "a")
    assert shown["attribution"].items() >= {"step": 0, "agent": "Planner"}.items()
    terminal(monkeypatch)
    text = run(capsys, "show", "a")[1]
    assert "attribution: decided: #0 Planner" in text
    assert "instead: Ask first." in text
    assert "\x1b" not in text


def test_delete_forgets_the_attribution_too(store, capsys, path) -> None:
    store.put(DECIDED)
    assert lines(capsys, "delete", "--run", "a") == [{"deleted": 1}]
    assert store.attribution("a") is None
    store.close()
    assert b"Ask first." not in path.read_bytes()


def test_the_beginning_of_an_id_will_do_where_it_is_of_one_run_only(store, capsys) -> None:
    for run_id in ("4f1c9a0d11", "4f1c9a0d22", "77aa88bb99"):
        store.add(Trace(run_id=run_id))
    [shown] = lines(capsys, "show", "77aa88bb")
    assert shown["trace"]["run_id"] == "77aa88bb99"
    assert run(capsys, "show", "4f1c9a0d")[0] == 2
    assert run(capsys, "show", "77aa8")[0] == 2  # too short to mean one
