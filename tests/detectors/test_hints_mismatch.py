"""FM-2.6: an agent does something else than it says."""

from __future__ import annotations

import pytest

from mastwatch.events import ToolRequest
from mastwatch.testing import Script, findings
from mastwatch_detectors.reasoning_action_mismatch import ReasoningActionMismatch


def announced(text: str, then: str) -> Script:
    script = Script().start()
    for tool in ("get_order", "cancel_order"):
        script.call(tool, {"id": 1}, "ok", agent="clerk")
    return script.say("clerk", text, calls=[ToolRequest(name=then, arguments={"id": 2})])


@pytest.mark.parametrize(
    "text",
    [
        "I will call get_order to look first.",
        "我将调用 get_order 查看一下。",
        "get_order を呼び出します。",
    ],
)
def test_another_tool_than_announced_is_suspect(text: str) -> None:
    (found,) = findings(announced(text, "cancel_order"), ReasoningActionMismatch)
    assert (found.severity.label, found.agent, found.tool) == ("suspect", "clerk", "get_order")
    assert found.message_index == 2
    assert findings(announced(text, "get_order"), ReasoningActionMismatch) == []


@pytest.mark.parametrize(
    "text",
    [
        "I will call get_order once cancel_order is through.",
        "What get_order told us is enough.",
        "I will call the customer.",
    ],
)
def test_naming_both_or_announcing_neither_is_healthy(text: str) -> None:
    assert findings(announced(text, "cancel_order"), ReasoningActionMismatch) == []


def ran(text: str | None, *, error: str | None, tool: str = "run_tests") -> Script:
    script = Script().start().call(tool, {}, "...", agent="coder", error=error)
    return script.say("coder", text)


@pytest.mark.parametrize(
    "text", ["All tests passed, on we go.", "所有测试通过。", "テストに合格しました。"]
)
def test_passed_tests_that_failed_are_suspect(text: str) -> None:
    (found,) = findings(ran(text, error="AssertionError"), ReasoningActionMismatch)
    assert (found.severity.label, found.tool, found.evidence) == ("suspect", "run_tests", (0, 1))
    assert findings(ran(text, error=None), ReasoningActionMismatch) == []


def test_a_failure_that_is_admitted_is_taken_at_its_word() -> None:
    run = ran("Two tests passed, one did not: an error in the port.", error="AssertionError")
    assert findings(run, ReasoningActionMismatch) == []


def test_a_later_success_settles_it() -> None:
    script = ran("Once more.", error="AssertionError")
    script.call("run_tests", {}, "3 passed", agent="coder").say("coder", "All tests passed.")
    assert findings(script, ReasoningActionMismatch) == []


def test_a_change_that_failed_is_not_done() -> None:
    text = "Your seat has been changed to the window."
    run = ran(text, error="SeatTaken", tool="update_seat")
    assert [f.tool for f in findings(run, ReasoningActionMismatch)] == ["update_seat"]
    assert findings(ran(text, error=None, tool="update_seat"), ReasoningActionMismatch) == []


@pytest.mark.parametrize("text", ["I have updated your seat.", "我已更新您的座位。"])
def test_deeds_without_a_call_are_suspect(text: str) -> None:
    script = Script().start().call("get_seat", {}, "12A").call("list_seats", {}, "12A 12B")
    (found,) = findings(script.say("worker", text), ReasoningActionMismatch)
    assert (found.severity.label, found.message_index) == ("suspect", 2)
    assert text not in found.explanation


def test_deeds_after_a_call_that_may_have_done_it_are_healthy() -> None:
    script = Script().start().call("get_seat", {}, "12A").call("sync", {}, "ok")
    assert findings(script.say("worker", "I have updated it."), ReasoningActionMismatch) == []


def test_withheld_text_says_nothing() -> None:
    assert findings(ran(None, error="AssertionError"), ReasoningActionMismatch) == []
