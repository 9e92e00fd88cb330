"""FM-3.1: agents stop before they are done."""

from __future__ import annotations

import pytest

from mastwatch.events import Outcome, ToolRequest
from mastwatch.testing import Script, findings
from mastwatch_detectors.premature_termination import PrematureTermination

DONE = "All of it is done. TERMINATE"


def failing(*texts: str | None, error: str | None = "KeyError") -> Script:
    script = Script().start().call("fetch", {"id": 1}, "no such id", agent="coder", error=error)
    for text in texts:
        script.say("coder", text)
    return script


def test_a_claim_right_after_a_failure_is_suspect() -> None:
    (found,) = findings(failing(DONE), PrematureTermination)
    assert (found.severity.label, found.agent, found.evidence) == ("suspect", "coder", (0, 1))


@pytest.mark.parametrize(
    "run",
    [
        failing(DONE, error=None),
        failing(DONE, error="HTTP 503: service unavailable"),
        failing("I see: 4 it is, from the table above.", DONE),
        failing("The task cannot be completed: it cannot be solved without it. TERMINATE"),
        failing(None),
    ],
)
def test_success_weather_work_between_and_giving_up_are_silent(run: Script) -> None:
    assert findings(run, PrematureTermination) == []


@pytest.mark.parametrize(("outcome", "count"), [("completed", 1), ("limit", 0), ("error", 0)])
def test_the_end_of_the_run_is_a_claim_unless_something_else_ended_it(
    outcome: Outcome, count: int
) -> None:
    run = failing("Here is what there is.").end(outcome)
    assert len(findings(run, PrematureTermination)) == count


def planned(second: str) -> Script:
    plan = "- [ ] read the log\n- [ ] fix the pump"
    return Script().start().say("lead", plan).say("fitter", second).say("lead", DONE)


def test_open_items_of_a_plan_in_use_are_suspect() -> None:
    run = planned("- [x] read the log\n- [ ] fix the pump")
    (found,) = findings(run, PrematureTermination)
    assert (found.agent, found.message_index, found.evidence) == ("lead", 2, (1, 2))


@pytest.mark.parametrize("second", ["- [x] read the log\n- [x] fix the pump", "I read it all."])
def test_plans_that_are_done_or_never_ticked_are_silent(second: str) -> None:
    assert findings(planned(second), PrematureTermination) == []


def test_open_items_of_a_to_do_tool_are_suspect() -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
    call = ToolRequest(name="write_todos", arguments={"todos": todos})
    script = Script().start().say("lead", "", calls=[call]).say("lead", DONE)
    assert [f.message_index for f in findings(script, PrematureTermination)] == [1]


@pytest.mark.parametrize(
    "text",
    [
        "Next, I will write the tests for it.\nTERMINATE",
        "接下来我将编写测试。\nTERMINATE",
        "次に、私はテストを書きます。\nTERMINATE",
        "FINAL ANSWER: <your answer>",
        "FINAL ANSWER: [答案]",
        "TODO\nTERMINATE",
    ],
)
def test_work_to_come_and_placeholders_are_suspect(text: str) -> None:
    (found,) = findings(Script().start().say("lead", text), PrematureTermination)
    assert found.severity.label == "suspect"
    assert text not in found.explanation


@pytest.mark.parametrize(
    "text",
    ["FINAL ANSWER: 42", "FINAL ANSWER: unknown", "TERMINATE", r"It is \boxed{7}. TERMINATE"],
)
def test_answers_and_bare_tokens_are_silent(text: str) -> None:
    assert findings(Script().start().say("lead", text).end(), PrematureTermination) == []


@pytest.mark.parametrize(("text", "count"), [("", 1), (None, 0), ("It is 7.", 0)])
def test_an_empty_last_message_is_suspect_and_a_withheld_one_is_not(
    text: str | None, count: int
) -> None:
    run = Script().start().say("lead", "It is nearly ready.").say("lead", text).end()
    assert len(findings(run, PrematureTermination)) == count
