"""Step repetition fires where it should, at the exact row."""

from __future__ import annotations

import pytest

from mastwatch.findings import Severity
from mastwatch.testing import Script, watched

MODE = "FM-1.3"
AGAIN = "Please look the depth over the bar up in the harbour book."


def other(n: int) -> str:
    return f"Buoy {n} lies {n * 13} cables off rock {n * 7} and shows light number {n * 31}."


def test_stuck_call_warns_at_the_third_result_and_alerts_at_the_fifth() -> None:
    run = Script()
    for n in range(5):
        run.call("depth", {"at": "bar"}, "four metres").say("mate", other(n))
    seen = watched(run.events)
    assert (seen.at(MODE, Severity.WARN), seen.at(MODE, Severity.ALERT)) == (4, 8)
    assert seen.episodes(MODE) == 1
    assert seen.findings[-1].evidence == (0, 2, 4, 6, 8)


def test_stuck_call_is_capped_while_another_call_is_polled() -> None:
    run = Script()
    for n in range(3):
        run.call("depth", {"at": "bar"}, "four metres")
        run.call("tide", {}, f"{n} metres")
    assert watched(run.events).worst(MODE) == "suspect"


def test_what_changed_before_the_streak_does_not_cap_it() -> None:
    run = Script()
    for n in range(2):
        run.call("tide", {}, f"{n} metres")
    for _ in range(3):
        run.call("depth", {"at": "bar"}, "four metres")
    assert watched(run.events).at(MODE, Severity.WARN) == 4


def test_result_with_its_keys_in_another_order_is_the_same_result() -> None:
    run = Script()
    for result in ('{"deep": 4, "in": "m"}', '{"in": "m", "deep": 4}', '{"in":"m","deep":4}'):
        run.call("depth", {"at": "bar"}, result)
    assert watched(run.events).at(MODE, Severity.WARN) == 2


def test_a_person_restarts_the_count() -> None:
    run = Script()
    for _ in range(4):
        run.call("depth", {"at": "bar"}, "four metres").human("And once more, please.")
    assert watched(run.events).worst(MODE) == "silent"


def test_calls_of_recorded_logs_count_once() -> None:
    """The message announces the call and the tool event confirms it: one call, not two."""
    from mastwatch.events import ToolRequest

    run = Script(ids=False)
    for n in range(2):
        request = ToolRequest(name="depth", arguments={"at": "bar"})
        run.say("mate", f"Now I read depth number {n} of the bar.", calls=[request])
        run.call("depth", {"at": "bar"}, "four metres", agent="mate")
    assert watched(run.events).worst(MODE) == "silent"


def test_thrash_warns_at_the_sixth_equal_result() -> None:
    run = Script()
    for n in range(6):
        run.call("search", {"query": f"pilot office {n}"}, "nothing found under this name")
    assert watched(run.events).at(MODE, Severity.WARN) == 5


@pytest.mark.parametrize(("gap", "level"), [(0, "warn"), (1, "suspect")])
def test_near_duplicates_warn_at_the_third_only_without_progress(gap: int, level: str) -> None:
    run = Script()
    for n in range(3):
        run.say("mate", f"{AGAIN} {AGAIN} {AGAIN} This is part {n}.")
        for k in range(gap):
            run.say("pilot", other(10 * n + k))
    seen = watched(run.events)
    assert seen.worst(MODE) == level
    assert seen.at(MODE, Severity.SUSPECT) == 1 + gap


@pytest.mark.parametrize(("acts", "level"), [(False, "warn"), (True, "suspect")])
def test_exact_words_again_in_mere_talk_warn_whatever_others_say(acts: bool, level: str) -> None:
    run = Script()
    for n in range(3):
        run.say("mate", AGAIN).say("pilot", other(n))
        if acts:
            run.call("depth", {"at": n}, f"{n * 7} metres at mark {n}")
    assert watched(run.events).worst(MODE) == level


def test_near_duplicates_of_a_talkative_agent_are_no_template() -> None:
    """Copies count once for the template: else what a loop repeats would not be compared."""
    run = Script()
    for n in range(5):
        run.say("mate", other(n))
    for n in range(6):
        words = [f"term{k}" for k in range(80)]
        words[3 * n + 2] = f"edit{n}"
        run.say("mate", " ".join(words))
    assert watched(run.events).at(MODE, Severity.WARN) == 7


def test_three_messages_put_together_from_what_was_said_are_stagnation() -> None:
    said = [
        ("The film from the harbour shows three kinds of birds.", "Two of them sit on the mole."),
        ("The picture of the quay was taken at noon.", "Nobody knows who has the negative."),
        ("The list of the berths is on the second page.", "It was printed before the storm."),
    ]
    run = Script()
    for agent, parts in zip(("mate", "pilot", "cook"), said, strict=True):
        run.say(agent, " ".join(parts))
    for n in range(3):
        run.say("chief", f"{said[n][1]} {said[n - 1][0]} {said[n - 2][1]}")
    found = [f for f in watched(run.events).findings if f.mode == MODE]
    assert [(f.severity, f.evidence) for f in found] == [(Severity.SUSPECT, (3, 4, 5))]


def test_near_duplicates_in_a_script_without_spaces() -> None:
    run = Script()
    for ending in ("今天", "今晚", "明天"):
        run.say("mate", f"请再一次到港口的登记册里查一下沙洲上面的水深是多少米然后告诉我{ending}")
    assert watched(run.events).worst(MODE) == "warn"


def test_circle_fires_on_the_last_step_of_the_third_round() -> None:
    run = Script()
    for _ in range(3):
        for agent in ("mate", "pilot"):
            run.say(agent, "Aye aye")  # too short for any rule but the circle
    seen = watched(run.events)
    assert seen.at(MODE, Severity.WARN) == 5
    assert "mate, pilot" in seen.findings[0].explanation


def test_degenerate_text() -> None:
    line = "the bar is shallow and the tide is late and then again "
    seen = watched(Script().say("mate", "We begin. " + line * 14).events)
    assert (seen.worst(MODE), seen.at(MODE, Severity.WARN)) == ("warn", 0)
    table = "| bar | shallow | tide | late | light | red | rock |\n"
    assert watched(Script().say("mate", table * 14).events).worst(MODE) == "silent"
    fence = "```\n" + line * 14 + "\n```"
    assert watched(Script().say("mate", fence).events).worst(MODE) == "silent"


def test_explanations_hold_no_message_text() -> None:
    run = Script()
    for _ in range(6):
        run.say("mate", AGAIN).call("depth", {"where": "outer bar"}, "four metres of water")
    findings = watched(run.events).findings
    assert findings
    for finding in findings:
        for text in (AGAIN, "outer bar", "four metres of water"):
            assert not any(text[i : i + 12] in finding.explanation for i in range(len(text) - 11))


def test_finding_names_the_agent_it_speaks_of_and_the_loop_stays_one_episode() -> None:
    script = Script().start()
    for n in range(15):
        script.say(("ann", "ben", "cleo")[n % 3], other(n % 3))
    seen = watched(script.events)
    named = {f.agent for f in seen.findings if f.mode == MODE}
    assert {"ann", "cleo"} <= named
    for finding in seen.findings:
        assert not finding.agent or finding.agent in finding.explanation
    assert seen.episodes(MODE) == 1


def test_one_call_stuck_between_two_agents_names_both() -> None:
    script = Script().start()
    for n in range(5):
        agent = ("ben", "ann")[n % 2]
        script.say(agent, other(n)).call("search", {"q": "tides"}, "no table found", agent=agent)
    found = [f for f in watched(script.events).findings if f.mode == MODE]
    assert found[0].agent == ""
    assert found[0].explanation.startswith("ann and ben called search 3 times")
    assert len({f.episode for f in found}) == 1


def test_a_circle_and_stale_results_of_one_tool_name_it() -> None:
    run = Script()
    for n in range(6):
        run.call("depth", {"at": ("bar", "mole")[n % 2]}, f"{4 + n % 2} metres at low water")
    assert {f.tool for f in watched(run.events).findings} == {"depth"}
    lines = [f"Line {n} says that rock {n * 7} lies {n * 13} cables off." for n in range(40)]
    run = Script().call("read", {"from": 0}, "\n".join(lines))
    for n in range(1, 5):
        run.call("read", {"from": n}, "\n".join(lines[n : n + 30]))
    found = watched(run.events).findings
    assert [(f.severity, f.tool) for f in found] == [(Severity.SUSPECT, "read")]
