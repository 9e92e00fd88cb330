"""FM-2.5: an agent goes on as if another had not spoken."""

from __future__ import annotations

import pytest

from mastwatch.events import ToolRequest
from mastwatch.testing import Script, findings
from mastwatch_detectors.ignored_agent_input import IgnoredAgentInput

PLAN = "We sort the parcels by weight first, then we load the heavy ones onto the truck."
NEWS = "The scales broke yesterday evening; please order them by postal district, Lisbon ahead."
PLAN_ZH = "我们先按照重量给包裹排序，然后把最重的包裹装到卡车上，最后再装轻的。"
NEWS_ZH = "昨天晚上磅秤坏了，请改为按照邮政区域排列，里斯本的邮件排在最前面。"


def talk(*lines: tuple[str, str]) -> Script:
    script = Script().start()
    for agent, text in lines:
        script.say(agent, text)
    return script


@pytest.mark.parametrize(("plan", "news"), [(PLAN, NEWS), (PLAN_ZH, NEWS_ZH)])
def test_repeating_oneself_over_new_input_is_suspect(plan: str, news: str) -> None:
    (found,) = findings(talk(("a", plan), ("b", news), ("a", plan)), IgnoredAgentInput)
    assert (found.severity.label, found.agent, found.evidence) == ("suspect", "a", (0, 1, 2))
    assert news not in found.explanation


@pytest.mark.parametrize(
    "reply",
    [
        "Then we sort them by postal district, Lisbon ahead, and load those onto the truck.",
        "A crane would be faster for everything that weighs more than forty kilograms.",
    ],
)
def test_taking_it_up_or_saying_something_new_is_healthy(reply: str) -> None:
    assert findings(talk(("a", PLAN), ("b", NEWS), ("a", reply)), IgnoredAgentInput) == []


def test_praise_asks_for_nothing() -> None:
    praise = "Great work! Both of you reached matching totals and the method is correct throughout."
    assert findings(talk(("a", PLAN), ("b", praise), ("a", PLAN)), IgnoredAgentInput) == []


def test_a_repeated_nag_is_no_new_input() -> None:
    script = Script().start()
    for _ in range(3):
        script.proxy("Continue. Please keep solving the problem until you need to query something.")
        script.say("a", PLAN)
    assert findings(script, IgnoredAgentInput) == []


def corrected(correction: str, second: str, *, agent: str = "clerk") -> Script:
    script = Script().start()
    for path in ("a.csv", second):
        script.say("clerk", "", calls=[ToolRequest(name="load", arguments={"path": path})])
        script.call("load", {"path": path}, "40 rows", agent="clerk")
        if path == "a.csv" and script.row == 2:
            script.say(agent, correction)
    return script


@pytest.mark.parametrize(
    "correction", ["That's wrong, take the other one.", "你弄错了，换另一个。"]
)
def test_the_same_call_after_a_correction_is_suspect(correction: str) -> None:
    (found,) = findings(corrected(correction, "a.csv", agent="b"), IgnoredAgentInput)
    assert (found.agent, found.message_index, found.evidence) == ("clerk", 3, (0, 2, 3))


def test_another_call_or_no_correction_is_healthy() -> None:
    assert findings(corrected("That's wrong.", "b.csv", agent="b"), IgnoredAgentInput) == []
    assert findings(corrected("Load it once more.", "a.csv", agent="b"), IgnoredAgentInput) == []


def test_a_correction_of_oneself_is_none() -> None:
    assert findings(corrected("That's wrong.", "a.csv"), IgnoredAgentInput) == []


def test_withheld_text_says_nothing() -> None:
    script = Script().start().say("a", PLAN).say("b", None).say("a", PLAN).say("a", None)
    assert findings(script, IgnoredAgentInput) == []
