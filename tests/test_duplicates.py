"""Echoes of a log: what comes twice without ids, and what only looks so."""

from __future__ import annotations

import pytest

from mastwatch.events import Event, MessageSent, RunFinished, RunStarted, ToolRequest, ToolReturned
from mastwatch.watch import Sink, Watch


class Rows(Sink):
    """Keeps what counted."""

    name = "rows"

    def __init__(self) -> None:
        self.kept: list[Event] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.kept.append(event)


def counted(events: list[Event]) -> list[int]:
    """Rows that were no echo."""
    rows = Rows()
    watch = Watch(sinks=[rows])
    watch.publish(RunStarted(run_id="run"))
    for event in events:
        watch.publish(event)
    return [e.index for e in rows.kept if isinstance(e, MessageSent | ToolReturned)]


def said(index: int, text: str = "The bar is four metres deep.", calls: int = 0) -> MessageSent:
    asked = tuple(ToolRequest(name="depth", arguments={"at": n}) for n in range(calls))
    return MessageSent(run_id="run", index=index, sender="mate", text=text, tool_calls=asked)


def gave(index: int, result: str = "four metres", name: str = "depth") -> ToolReturned:
    return ToolReturned(run_id="run", index=index, agent="mate", name=name, result=result)


@pytest.mark.parametrize("times", [2, 3, 4])
def test_adjacent_equal_rows_are_one(times: int) -> None:
    rows = [said(n) for n in range(times)] + [said(times, "And now?")]
    assert counted(rows) == [0, times]


def test_rows_with_others_between_in_the_log_are_two() -> None:
    """Thoughts are no events, but their rows stand between."""
    assert counted([said(98), said(101)]) == [98, 101]


def test_calls_of_one_message_may_give_equal_results() -> None:
    assert counted([said(0, calls=3), gave(1), gave(2), gave(3)]) == [0, 1, 2, 3]


@pytest.mark.parametrize("times", [2, 3])
def test_results_of_a_message_that_was_echoed_are_echoed_as_often(times: int) -> None:
    rows: list[Event] = [said(n, calls=2) for n in range(times)]
    rows += [gave(times + n) for n in range(2 * times)]
    assert counted(rows) == [0, times, 2 * times]


def test_the_echo_of_a_result_is_paired_with_no_call() -> None:
    assert counted([said(0, calls=1), gave(1), gave(2, name="")]) == [0, 1]


def test_a_run_that_ended_takes_no_more_rows() -> None:
    assert counted([said(0), RunFinished(run_id="run", outcome="completed"), said(1)]) == [0]
