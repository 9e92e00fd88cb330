"""FM-1.4: what was cut out of the history is asked for again."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from mastwatch.events import MessageSent, ToolReturned
from mastwatch.testing import Script, findings
from mastwatch_detectors.loss_of_conversation_history import LossOfConversationHistory

TERMS = "The rent is due on the first of each month."
TERMS_ZH = "租金须在每月第一天之前付清，逾期加收百分之五。"
Cut = Literal["trim", "summary", "restart", "none"]


def request(script: Script, lines: range, summary: str = "") -> Script:
    said = [("user", summary)] if summary else []
    return script.asks("clerk", *said, *[("user", f"line {n}") for n in lines])


def lease(
    cut: Cut, *, again: str = TERMS, first: str = TERMS, edits: dict[str, int] | None = None
) -> Script:
    script = Script().start()
    request(script, range(3)).call("read_terms", {"flat": 7}, first, agent="clerk")
    for n in range(4, 10):
        request(script, range(n)).say("clerk", f"Noted point {n} of the lease.")
    if cut == "trim":
        request(script, range(7, 10))
    elif cut == "summary":
        request(script, range(8, 10), "A summary of the conversation so far: the lease is on.")
    elif cut == "restart":
        request(script, range(3))
    else:
        request(script, range(11))
    if edits:
        script.call("update_lease", edits, "saved", agent="clerk", mutating=True)
    return script.call("read_terms", {"flat": 7}, again, agent="clerk")


@pytest.mark.parametrize("cut", ["trim", "summary", "restart"])
@pytest.mark.parametrize("text", [TERMS, TERMS_ZH])
def test_asking_again_after_a_cut_is_suspect(cut: Cut, text: str) -> None:
    (found,) = findings(lease(cut, first=text, again=text), LossOfConversationHistory)
    assert (found.severity.label, found.agent, found.tool) == ("suspect", "clerk", "read_terms")
    assert (found.message_index, found.evidence) == (7, (0, 6, 7))
    assert text not in found.explanation


def test_asking_again_with_the_history_whole_is_repetition_not_loss() -> None:
    assert findings(lease("none"), LossOfConversationHistory) == []


def test_another_answer_was_worth_asking_for() -> None:
    run = lease("trim", again="The rent is due on the third of each month.")
    assert findings(run, LossOfConversationHistory) == []


def test_asking_again_after_a_change_of_the_same_thing_is_checking() -> None:
    assert findings(lease("trim", edits={"flat": 7}), LossOfConversationHistory) == []


def test_a_change_of_another_thing_excuses_nothing() -> None:
    (found,) = findings(lease("trim", edits={"sum": 900}), LossOfConversationHistory)
    assert found.evidence == (0, 6, 8)


def test_what_the_trimmed_history_still_holds_is_not_lost() -> None:
    script = request(Script().start(), range(8))
    script.call("read_terms", {"flat": 7}, TERMS, agent="clerk")
    request(script, range(4, 8)).call("read_terms", {"flat": 7}, TERMS, agent="clerk")
    assert findings(script, LossOfConversationHistory) == []


def test_another_agent_s_cut_does_not_count() -> None:
    script = lease("none")
    script.asks("porter", *[("user", f"line {n}") for n in range(9)])
    script.asks("porter", *[("user", f"line {n}") for n in range(6, 9)])
    script.call("read_terms", {"flat": 7}, TERMS, agent="clerk")
    assert findings(script, LossOfConversationHistory) == []


def test_a_cleared_history_counts() -> None:
    script = Script().start().call("read_terms", {"flat": 7}, TERMS, agent="clerk")
    script.clears("clerk").call("read_terms", {"flat": 7}, TERMS, agent="clerk")
    assert [f.message_index for f in findings(script, LossOfConversationHistory)] == [1]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_rows_of_a_log_written_twice_are_no_distance(times: int) -> None:
    """Trap 14: what the request still reaches was not lost, however many rows lie between."""
    script = Script(ids=False)
    request(script, range(9)).call("read_terms", {"flat": 7}, TERMS, agent="clerk")
    script.say("clerk", "Noted the rent.").say("porter", "Noted the deposit.")
    request(script, range(5, 9)).call("read_terms", {"flat": 7}, TERMS, agent="clerk")
    events = []
    for event in script.events:
        for n in range(times if isinstance(event, MessageSent | ToolReturned) else 1):
            events.append(replace(event, index=event.index * times + n))
    assert findings(events, LossOfConversationHistory) == []
