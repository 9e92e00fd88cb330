"""FM-2.4: an agent keeps to itself what another asks it for."""

from __future__ import annotations

import pytest

from mastwatch.testing import Script, check_detector, findings
from mastwatch_detectors.information_withholding import InformationWithholding

TOLD = "booking reference: QX7731, cabin: economy, gate closes 06:40"
ASKED = "Which booking reference did they give you for the cabin?"


def trip(
    answer: str | None, *, asked: str = ASKED, asker: str = "pilot", told: str = TOLD
) -> Script:
    script = Script().start("Fly me to Oslo.")
    script.call("book", {"to": "Oslo"}, told, agent="clerk")
    script.say("clerk", "The seat is taken care of.")
    return script.say(asker, asked).say("clerk", answer)


def test_a_question_left_open_is_suspect() -> None:
    (found,) = findings(trip("It is all arranged."), InformationWithholding)
    assert (found.severity.label, found.agent, found.tool) == ("suspect", "clerk", "book")
    assert (found.message_index, found.evidence) == (3, (0, 2, 3))
    assert "QX7731" not in found.explanation


def test_an_answer_is_no_withholding() -> None:
    assert findings(trip("It is QX7731."), InformationWithholding) == []


def test_a_call_or_a_question_back_is_an_answer_in_the_making() -> None:
    assert findings(trip("Which of the two flights?"), InformationWithholding) == []


@pytest.mark.parametrize(
    "run",
    [
        trip("It is all arranged.", asked="How is the weather over there today?"),
        trip("It is all arranged.", asked="The booking reference is on the cabin list."),
        trip("It is all arranged.", asker="clerk"),
        trip(None),
    ],
)
def test_other_questions_own_questions_and_withheld_text_are_silent(run: Script) -> None:
    assert findings(run, InformationWithholding) == []


def test_what_was_known_before_is_no_secret() -> None:
    script = Script().start("Use booking reference QX7731 for it.")
    script.call("book", {"ref": "QX7731"}, TOLD, agent="clerk")
    script.say("pilot", ASKED).say("clerk", "It is all arranged.")
    assert findings(script, InformationWithholding) == []


def test_a_person_alone_with_one_agent_is_no_peer() -> None:
    script = Script().start().call("book", {}, TOLD, agent="clerk")
    script.human(ASKED).say("clerk", "It is all arranged.")
    assert findings(script, InformationWithholding) == []


def test_chinese() -> None:
    told = "订单编号：SF88213，收货地址：杭州市西湖区"
    asked = "请问这个订单编号是多少？收货地址填好了吗？"
    held = trip("都已经安排妥当了。", told=told, asked=asked)
    assert [f.severity.label for f in findings(held, InformationWithholding)] == ["suspect"]
    given = trip("编号是SF88213。", told=told, asked=asked)
    assert findings(given, InformationWithholding) == []


@pytest.mark.slow
def test_keeps_the_contract() -> None:
    run = trip("It is all arranged.").events
    check_detector(InformationWithholding, events=run, length=20_000)
