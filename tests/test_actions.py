"""Callbacks and interventions, without any framework: rules, orders, runs of the host's own."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

import mastwatch
from mastwatch import Finding, Severity, cli, guard, settings, taxonomy
from mastwatch.events import MessageSent, RunFinished, RunStarted
from mastwatch.interventions import MAX_ROWS, Interventions, read_interventions
from mastwatch.interventions.wording import words
from mastwatch.runs import Runs
from mastwatch.sink import Sink
from mastwatch.sinks.actions import CallbackSink, read_actions

SAME = "I will look the number up in the register of the town again."


def finding(mode: str = "FM-1.3", severity: Severity = Severity.ALERT, **more: Any) -> Finding:
    about: dict[str, Any] = {
        "detector": "d",
        "run_id": "r",
        "agent": "Scout",
        "message_index": 4,
        "evidence": (2, 4),
        "explanation": "Scout said the same twice",
        "fingerprint": "f",
        "framework": "custom",
    }
    return Finding(mode=mode, severity=severity, **{**about, **more})


class Ends(Sink):
    """How runs ended."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str | None]] = []
        self.findings: list[Finding] = []

    def on_event(self, event: Any, framework: str) -> None:
        if isinstance(event, RunFinished):
            self.seen.append((event.outcome, event.reason, event.error))

    def on_finding(self, finding: Finding) -> None:
        self.findings.append(finding)


class Brake:
    """Interventions alone, with a record of what they report."""

    def __init__(self, *rules: dict[str, Any]) -> None:
        self.done: list[tuple[str, str, str]] = []
        self.renewed: list[str] = []
        problems: list[str] = []
        self.runs = Runs()
        self.control = Interventions(
            read_interventions(rules, "actions.intervene", problems),
            self.runs,
            lambda *action: self.done.append(action),
            self.renewed.append,
        )
        self.control.offer(["custom"], ["halt", "nudge"])
        assert problems == []


@pytest.fixture
def quietly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Errors of callbacks are swallowed, as in production."""
    monkeypatch.setenv("MASTWATCH_RAISE_ERRORS", "0")
    yield
    guard.reset()


# Rules


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"mode": "FM-1.3"}, "action is missing"),
        ({"action": "halt"}, "mode is missing"),
        ({"action": "halt", "mode": "FM-9.9"}, "mode: 'FM-9.9' is no MAST failure mode"),
        ({"action": "stop", "mode": "*"}, "action: expected halt or nudge, not 'stop'"),
        ({"action": "halt", "mode": "*", "severity": "loud"}, "severity: 'loud' is no severity"),
        ({"action": "halt", "mode": "*", "dry_run": "yes"}, "dry_run: expected true or false"),
        ({"action": "nudge", "mode": "*", "at_most": 0}, "at_most: expected a whole number"),
        ({"action": "nudge", "mode": "*", "then": "nudge"}, "then: expected halt"),
        ({"action": "halt", "mode": "*", "modes": 1}, "unknown key modes"),
        ("halt", "expected a table, not 'halt'"),
    ],
)
def test_a_rule_with_a_mistake_says_where_and_does_not_act(table: Any, problem: str) -> None:
    read = read_actions({"intervene": [{"mode": "*", "action": "halt"}, table]}, "here")
    assert len(read.interventions) == 1
    assert read.problems[0].startswith(f"here.intervene #2: {problem}")


def test_a_rule_that_no_detector_can_reach_is_said_at_the_start(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """FM-2.2 is the judge's alone; FM-2.4 is a suspicion at most while a run goes on."""
    rules = [
        {"mode": "FM-2.2", "action": "halt"},
        {"mode": "FM-2.4", "action": "halt"},
        {"mode": "FM-2.4", "action": "nudge", "severity": "suspect"},
        {"mode": "*", "action": "nudge"},
    ]
    monkeypatch.chdir(tmp_path)
    with mastwatch.instrument(actions=rules, metrics="none"):
        pass
    said = [record.getMessage() for record in caplog.records]
    assert [s.rpartition("intervene: ")[2] for s in said if "never happens" in s] == [
        "halt on FM-2.2 never happens: severity alert is asked for, and the mode is told by no "
        "detector while a run goes on",
        "halt on FM-2.4 never happens: severity alert is asked for, and the mode goes up to "
        "suspect only while a run goes on",
    ]


def test_the_strongest_action_that_fits_is_taken_once_per_run() -> None:
    brake = Brake({"mode": "*", "action": "nudge"}, {"mode": "FM-1.3", "action": "halt"})
    for _ in range(3):
        brake.control.on_finding(finding())
    assert brake.done == [("halt", "FM-1.3", "done")]
    assert brake.control.reason("r") == "halted by mastwatch: FM-1.3"
    brake.control.on_finding(finding("FM-1.5", run_id="other"))
    assert brake.done[1:] == [("nudge", "FM-1.5", "done")]


@pytest.mark.parametrize(
    "filters",
    [
        {"severity": "alert", "mode": "*"},
        {"mode": "step_repetition", "agent": "Clerk*"},
        {"mode": "FM-1.*", "framework": "autogen"},
        {"mode": "FM-2.*"},
    ],
)
def test_a_finding_that_does_not_fit_does_nothing(filters: dict[str, Any]) -> None:
    brake = Brake({"action": "halt", **filters})
    brake.control.on_finding(finding(severity=Severity.WARN))
    assert brake.done == []
    assert not brake.control.halting("r")


def test_what_a_framework_cannot_do_is_counted_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    brake = Brake({"action": "nudge", "mode": "*", "at_most": 5})
    for run in ("one", "two"):
        for _ in range(3):
            brake.control.on_finding(finding(run_id=run, framework="elsewhere"))
    assert brake.done == [("nudge", "FM-1.3", "unsupported")] * 2
    assert [r.getMessage() for r in caplog.records] == [
        "mastwatch: nudge is not possible with elsewhere"
    ]


def test_a_run_that_is_over_is_left_alone() -> None:
    brake = Brake({"action": "halt", "mode": "*"})
    state = brake.runs.touch(RunStarted(run_id="r", framework="custom"))
    assert state is not None
    brake.runs.finish(state, "completed")
    brake.control.on_finding(finding())
    brake.control.halt("r", "late")
    assert brake.done == []
    assert not brake.control.halting("r")


def test_a_nudge_is_said_once_and_lets_the_loop_count_anew() -> None:
    brake = Brake({"action": "nudge", "mode": "*", "at_most": 2, "message": "{agent}: {task}"})
    brake.control.on_event(RunStarted(run_id="r", framework="custom", task="Count."), "custom")
    for _ in range(3):
        brake.control.on_finding(finding())
    assert brake.control.take_nudge("r") == "Scout: Count.\n\nScout: Count."
    assert brake.control.take_nudge("r") == ""
    assert brake.renewed == ["r", "r"]


def test_a_second_loop_of_the_same_step_does_not_halt_before_the_nudge_is_heard() -> None:
    brake = Brake({"action": "nudge", "mode": "*", "then": "halt"})
    brake.control.on_finding(finding())
    brake.control.on_finding(finding(fingerprint="another"))  # the tool beside it
    assert brake.done == [("nudge", "FM-1.3", "done")]
    assert brake.control.take_nudge("r")
    brake.control.on_finding(finding(fingerprint="another"))
    assert brake.done[1:] == [("halt", "FM-1.3", "done")]


def test_a_loop_in_which_no_model_is_asked_is_halted_all_the_same() -> None:
    brake = Brake({"action": "nudge", "mode": "*", "then": "halt"})
    for _ in range(2):
        brake.control.on_finding(finding())
    assert brake.done == [("nudge", "FM-1.3", "done"), ("halt", "FM-1.3", "done")]


def test_a_dry_nudge_changes_nothing() -> None:
    brake = Brake({"action": "nudge", "mode": "*", "dry_run": True, "then": "halt"})
    for _ in range(4):
        brake.control.on_finding(finding())
    assert brake.done == [("nudge", "FM-1.3", "dry_run"), ("halt", "FM-1.3", "dry_run")]
    assert brake.control.take_nudge("r") == ""
    assert brake.renewed == []
    assert not brake.control.halting("r")


def test_every_mode_has_words_of_its_own() -> None:
    said = {mode.code: words(finding(mode.code), "", "Count {agent}.") for mode in taxonomy.MODES}
    assert len(set(said.values())) == len(taxonomy.MODES)
    assert not any("{task}" in text for text in said.values())


def test_what_is_kept_of_runs_is_bounded() -> None:
    brake = Brake({"action": "halt", "mode": "*"})
    for index in range(MAX_ROWS + 50):
        row = MessageSent(run_id="r", index=index, sender="A", text="x")
        brake.control.on_event(row, "custom")
    rows = brake.control.end("r").transcript
    assert (len(rows), rows[-1].index) == (MAX_ROWS, MAX_ROWS + 49)
    for index in range(3):
        row = MessageSent(run_id="s", index=index, sender="A", text="x" * 600_000)
        brake.control.on_event(row, "custom")
    assert [row.index for row in brake.control.end("s").transcript] == [2]
    brake.control.on_run_end("r")
    assert brake.control.end("r").transcript == ()


# Runs of the host's own


def talk(times: int = 12) -> int:
    said = 0
    with mastwatch.run("town", task="Count the people."):
        for _ in range(times):
            said += 1
            mastwatch.message("Scout", SAME)
    return said


def test_a_run_of_the_hosts_own_is_halted_at_the_message_of_the_alert() -> None:
    ends = Ends()
    rule = {"mode": "FM-1.3", "action": "halt"}
    with mastwatch.instrument(frameworks=[], metrics="none", actions=[rule]) as handle:
        handle.add_sink(ends)
        with pytest.raises(mastwatch.RunHalted) as stopped:
            talk()
        alert = next(f for f in ends.findings if f.severity is Severity.ALERT)
        error = stopped.value
        assert (error.finding, error.run_id) == (alert, alert.run_id)
        assert [row.index for row in error.transcript] == list(range(alert.message_index + 1))
        assert ends.seen == [("cancelled", "halted by mastwatch: FM-1.3", None)]
        assert SAME not in str(error)


def test_a_tool_of_a_halted_run_does_not_run() -> None:
    ran = 0

    def search_on_and_on() -> None:
        nonlocal ran
        with mastwatch.run("town"):
            for _ in range(30):
                with mastwatch.tool("search", {"q": "x"}, agent="Scout") as call:
                    ran += 1
                    call.result = "nothing"

    rule = {"mode": "*", "action": "halt", "severity": "warn"}
    with mastwatch.instrument(frameworks=[], metrics="none", actions=[rule]):
        with pytest.raises(mastwatch.RunHalted):
            search_on_and_on()
        assert ran < 10


def test_without_a_rule_nothing_is_raised_and_nothing_is_kept() -> None:
    with mastwatch.instrument(frameworks=[], metrics="none") as handle:
        assert talk() == 12
        assert handle.emitter.interventions is None


def too_dear() -> None:
    with mastwatch.run("town"):
        mastwatch.halt(reason="too dear")
        mastwatch.message("Scout", "One more.")


def test_halt_ends_the_current_run_and_needs_one(caplog: pytest.LogCaptureFixture) -> None:
    ends = Ends()
    mastwatch.halt()  # not instrumented: nothing happens
    with mastwatch.instrument(frameworks=[], metrics="none") as handle:
        handle.add_sink(ends)
        mastwatch.halt()
        assert "outside a run needs run_id=" in caplog.text
        with pytest.raises(mastwatch.RunHalted, match="halted by the host: too dear"):
            too_dear()
        assert ends.seen == [("cancelled", "halted by the host: too dear", None)]


def test_a_run_that_ends_by_itself_is_not_said_to_be_halted() -> None:
    ends = Ends()
    with mastwatch.instrument(frameworks=[], metrics="none") as handle:
        handle.add_sink(ends)
        with mastwatch.run("town"):
            mastwatch.halt()
        assert ends.seen[0][0] == "completed"


def test_what_is_done_is_counted_and_its_series_exist_from_the_start() -> None:
    registry = CollectorRegistry()
    labels = {"action": "halt", "mode": "FM-1.3", "result": "done"}
    rule = {"mode": "FM-1.3", "action": "halt"}
    with mastwatch.instrument(frameworks=[], registry=registry, actions=[rule]):
        assert registry.get_sample_value("mastwatch_actions_total", labels) == 0
        with pytest.raises(mastwatch.RunHalted):
            talk()
        assert registry.get_sample_value("mastwatch_actions_total", labels) == 1


def test_a_mistake_in_the_table_is_said_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    with mastwatch.instrument(frameworks=[], metrics="none", actions={"webhok": {}}):
        assert "instrument(actions=): webhok is none of webhook, intervene" in caplog.text


@pytest.mark.parametrize(
    "given",
    [
        {"keywords": {"actions": [{"mode": "FM-1.3", "action": "halt"}]}},
        {"keywords": {"actions": {"intervene": {"mode": "FM-1.3", "action": "halt"}}}},
        {"environ": {"MASTWATCH_ACTIONS": '[{mode = "FM-1.3", action = "halt"}]'}},
    ],
    ids=["list", "table", "variable"],
)
def test_rules_can_be_written_in_several_places(given: dict[str, Any], tmp_path: Path) -> None:
    read = settings.load(**{"environ": {}, "directory": tmp_path, **given})
    assert read.problems == ()
    (rule,) = read_actions(read.actions).interventions
    assert (rule.action, rule.severity, rule.dry_run) == ("halt", Severity.ALERT, False)


def test_config_show_hides_addresses_and_secrets_and_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mastwatch.toml").write_text(
        '[[actions.webhook]]\nurl = "https://chat.example/s3cr3t"\nsecret = "s3cr3t"\n'
        '[[actions.intervene]]\nmode = "FM-1.3"\naction = "stop"\n'
    )
    monkeypatch.chdir(tmp_path)
    assert cli.main(["config", "show"]) == 1
    shown = capsys.readouterr().out
    assert "s3cr3t" not in shown
    assert "(hidden)" in shown
    assert "actions.intervene #1: action: expected halt or nudge, not 'stop'" in shown


# Callbacks


def test_an_async_callback_runs_on_the_loop_of_the_finding() -> None:
    heard: list[Any] = []

    async def tell(found: Finding) -> None:
        await asyncio.sleep(0)
        heard.append((found.mode, asyncio.get_running_loop()))

    done: list[tuple[str, str, str]] = []
    sink = CallbackSink(lambda *action: done.append(action))
    sink.add(tell)

    async def app() -> Any:
        sink.on_finding(finding())
        assert heard == []  # nobody waits for it
        await asyncio.sleep(0.01)
        return asyncio.get_running_loop()

    loop = asyncio.run(app())
    assert heard == [("FM-1.3", loop)]
    assert done == [("callback", "FM-1.3", "done")]


def test_without_a_loop_it_runs_in_the_background() -> None:
    heard: list[str] = []
    go = threading.Event()

    async def tell(found: Finding) -> None:
        while not go.is_set():
            await asyncio.sleep(0.001)
        heard.append(threading.current_thread().name)

    sink = CallbackSink()
    sink.add(tell)
    sink.on_finding(finding())
    assert heard == []
    assert not sink.flush(0.01)
    go.set()
    assert sink.flush(2.0)
    assert heard == ["mastwatch-callbacks"]
    sink.close(1.0)


@pytest.mark.usefixtures("quietly")
def test_the_errors_of_callbacks_are_caught_and_counted() -> None:
    done: list[str] = []
    sink = CallbackSink(lambda action, mode, result: done.append(result))

    def fail(found: Finding) -> None:
        raise ZeroDivisionError

    async def fail_later(found: Finding) -> None:
        raise ZeroDivisionError

    for callback in (fail, fail_later, done.append):
        sink.add(callback)
    sink.on_finding(finding())
    assert sink.flush(2.0)
    assert sorted(map(str, done)).count("failed") == 2
    assert guard.counts()["callback"] == 2
    sink.close(1.0)


def test_a_flood_of_async_callbacks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mastwatch.sinks.actions.callbacks.MAX_PENDING", 3)
    done: list[str] = []
    sink = CallbackSink(lambda action, mode, result: done.append(result))
    go = threading.Event()

    async def slow(found: Finding) -> None:
        while not go.is_set():
            await asyncio.sleep(0.001)

    sink.add(slow)
    for _ in range(5):
        sink.on_finding(finding())
    assert done == ["dropped"] * 2
    go.set()
    assert sink.flush(2.0)
    sink.close(1.0)


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork_callbacks_have_a_loop_of_their_own() -> None:
    heard: list[int] = []

    async def tell(found: Finding) -> None:
        heard.append(os.getpid())

    sink = CallbackSink()
    sink.add(tell)
    sink.on_finding(finding())
    assert sink.flush(2.0)
    child = os.fork()
    if child == 0:
        sink.on_finding(finding())
        fine = sink.flush(2.0) and heard[-1] == os.getpid()
        os._exit(0 if fine else 1)
    deadline = time.monotonic() + 10
    while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert status == (child, 0)
    sink.close(1.0)
