"""The live view without a terminal, and how it behaves as a sink."""

import io
import threading

import pytest

from mastwatch import live
from mastwatch.events import MessageSent, RunFinished, RunStarted, ToolReturned
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.live import MAX_QUEUE, View
from mastwatch.live.plain import PlainPainter

RUN = "3f2a91c0ffee"


class FakeHandle:
    """What a handle offers to the view."""

    metrics_url = "http://127.0.0.1:9464/metrics"

    def __init__(self):
        self.sinks = []

    def add_sink(self, sink):
        self.sinks.append(sink)

    def remove_sink(self, sink):
        self.sinks.remove(sink)


def finding(severity=Severity.WARN, index=9, **changes):
    values = {
        "mode": "FM-1.3",
        "severity": severity,
        "detector": "step_repetition",
        "run_id": RUN,
        "agent": "Planner",
        "message_index": index,
        "evidence": (3, 6, index),
        "explanation": "Planner said the same three times.",
        "fingerprint": "f",
        "episode": "f-1",
        "framework": "autogen",
    }
    return Finding(**{**values, **changes})


def message(index, text="secret words", sender="Planner", **changes):
    return MessageSent(run_id=RUN, index=index, sender=sender, text=text, **changes)


def feed(view, *items):
    for item in items:
        if isinstance(item, Finding):
            view.on_finding(item)
        elif isinstance(item, Notice):
            view.on_notice(item)
        else:
            view.on_event(item, "autogen")


def plain(*items):
    stream, handle = io.StringIO(), FakeHandle()
    with live.start(handle, stream=stream) as view:
        feed(view, *items)
    return stream.getvalue().splitlines()


def test_a_run_is_told_line_by_line_and_summed_up():
    assert plain(
        RunStarted(run_id=RUN, name="group chat", framework="autogen"),
        message(0),
        ToolReturned(run_id=RUN, index=1, agent="Planner", name="search", result="nothing"),
        finding(),
        RunFinished(run_id=RUN, index=11, outcome="limit"),
    ) == [
        "run 3f2a91c0 started: group chat (autogen)",
        "run 3f2a91c0 FM-1.3 WARN step_repetition Planner at message 9 (evidence 3, 6, 9): "
        "Planner said the same three times.",
        "run 3f2a91c0 ended: limit, 1 message, 1 tool call, 1 finding",
        "summary",
        "  run 3f2a91c0 group chat (autogen): limit, 1 message, 1 tool call",
        "    FM-1.3 WARN step_repetition: 1 finding, first at message 9 of 12",
        "metrics: http://127.0.0.1:9464/metrics",
    ]


def test_a_rise_is_a_line_of_its_own_but_the_same_finding_in_the_summary():
    lines = plain(
        finding(Severity.SUSPECT, 6), finding(Severity.WARN, 9), finding(Severity.ALERT, 15)
    )
    assert [line.split()[3] for line in lines[:3]] == ["SUSPECT", "WARN", "ALERT"]
    assert "    FM-1.3 ALERT step_repetition: 1 finding, first at message 6 of 0" in lines


def test_plain_lines_never_carry_message_text():
    lines = plain(
        RunStarted(run_id=RUN, name="chat", framework="autogen", task="secret words"),
        message(0),
        ToolReturned(run_id=RUN, index=1, agent="A", name="t", result="secret words"),
        RunFinished(run_id=RUN, index=1, outcome="error", reason="secret words"),
    )
    assert "secret" not in "\n".join(lines)


def test_a_name_with_line_breaks_and_escapes_cannot_forge_lines():
    lines = plain(finding(agent="Eve\nrun 1 ended: completed\x1b[2J"))
    assert lines[0].startswith(
        "run 3f2a91c0 FM-1.3 WARN step_repetition Eve run 1 ended: completed [2J at message 9"
    )


def test_a_notice_and_a_healthy_run_are_said_as_what_they_are():
    lines = plain(
        RunStarted(run_id=RUN, name="chat", framework="autogen"),
        Notice(name="replan", run_id=RUN, message_index=4, explanation="A new plan."),
        RunFinished(run_id=RUN, index=5, outcome="completed"),
    )
    assert "run 3f2a91c0 notice replan at message 4: A new plan." in lines
    assert "    no findings" in lines


def test_branches_of_a_run_are_no_runs():
    lines = plain(
        RunStarted(run_id=RUN, name="chat", framework="autogen"),
        RunStarted(run_id=RUN, name="inner", framework="autogen", branch="1"),
        RunFinished(run_id=RUN, branch="1", outcome="completed"),
    )
    assert "inner" not in "\n".join(lines)
    assert "  run 3f2a91c0 chat (autogen): running, no messages, no tool calls" in lines


def test_a_flood_skips_messages_but_neither_findings_nor_ends():
    stream = io.StringIO()
    view = View(PlainPainter(stream))  # not begun: nobody draws
    for index in range(MAX_QUEUE + 10):
        view.on_event(message(index), "autogen")
    feed(view, finding(), RunFinished(run_id=RUN, index=9_999, outcome="limit"))
    view.stop()
    assert "FM-1.3 WARN" in stream.getvalue()
    assert "ended: limit" in stream.getvalue()
    assert "  10 events came too fast to be shown" in stream.getvalue()


def test_the_board_stays_bounded_over_many_runs():
    view = View(PlainPainter(io.StringIO()))
    for number in range(200):
        run_id = f"run-{number}"
        feed(
            view,
            RunStarted(run_id=run_id, name="r", framework="autogen"),
            RunFinished(run_id=run_id, outcome="completed"),
        )
    view.refresh()
    assert (len(view.board.runs), view.board.forgotten) == (64, 136)


def test_stop_detaches_and_is_harmless_when_repeated():
    handle, stream = FakeHandle(), io.StringIO()
    view = live.start(handle, stream=stream)
    assert [view] == handle.sinks
    view.stop()
    view.stop()
    assert handle.sinks == []
    assert stream.getvalue().count("summary") == 1
    assert "mastwatch-live" not in [thread.name for thread in threading.enumerate()]


def test_a_stream_that_breaks_never_reaches_the_app(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS", raising=False)

    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    with live.start(FakeHandle(), stream=Broken()) as view:
        view.announce("title")
        feed(view, finding())


def test_our_log_lines_do_not_repeat_what_the_view_says(capsys: pytest.CaptureFixture[str]):
    import logging

    handle = FakeHandle()
    logger = logging.getLogger("mastwatch")
    before = list(logger.handlers)
    with live.start(handle, stream=io.StringIO()):
        logger.warning("event='finding' mode='FM-1.3'")
    assert before == logger.handlers
    assert "FM-1.3" not in capsys.readouterr().err
