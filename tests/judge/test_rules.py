"""What evidence must look like before a mode counts as present."""

from __future__ import annotations

import pytest

from judge.runs import row, trace
from mastwatch import taxonomy
from mastwatch.judge.rules import broken_rule, remark
from mastwatch.store import Evidence, Trace

TEAM = trace(*("some words of the run" for _ in range(10)))
ALONE = trace(*("some words of the run" for _ in range(10)), agents=("solo",))


def at(*rows: int) -> tuple[Evidence, ...]:
    return tuple(Evidence(message_index=n, quote="some words of") for n in rows)


def with_person(*kinds: str) -> Trace:
    rows = [row(0, "user", "do it", "opener")]
    rows += [row(n, "user" if k == "human" else "bot", "words", k) for n, k in enumerate(kinds, 1)]
    return Trace(run_id="r", rows=tuple(rows))


@pytest.mark.parametrize("mode", taxonomy.MODES, ids=lambda mode: mode.code)
def test_no_mode_is_present_without_evidence(mode: taxonomy.FailureMode) -> None:
    assert broken_rule(mode.slug, (), TEAM) == "no_evidence"
    assert broken_rule(mode.slug, at(3, 9), TEAM) == ""


def test_a_repetition_takes_two_rows() -> None:
    assert broken_rule("step_repetition", at(3, 3), TEAM) == "one_row"


@pytest.mark.parametrize("slug", ["termination_unawareness", "premature_termination"])
def test_what_is_wrong_with_the_end_shows_at_the_end(slug: str) -> None:
    assert broken_rule(slug, at(7), TEAM) == "not_at_end"
    assert broken_rule(slug, at(2, 8), TEAM) == ""
    assert broken_rule(slug, at(0), trace("only row here")) == ""


@pytest.mark.parametrize("slug", ["information_withholding", "ignored_agent_input"])
def test_what_happens_between_agents_takes_two(slug: str) -> None:
    assert broken_rule(slug, at(3), ALONE) == "single_agent"
    assert broken_rule(slug, at(1), with_person("reply", "human", "reply")) == "single_agent"


def test_a_person_can_be_asked() -> None:
    run = with_person("reply", "human")
    assert broken_rule("fail_to_ask_for_clarification", at(1), run) == ""
    assert broken_rule("fail_to_ask_for_clarification", at(3), ALONE) == "single_agent"


@pytest.mark.parametrize(
    "slug", ["conversation_reset", "task_derailment", "reasoning_action_mismatch"]
)
def test_three_modes_show_in_runs_of_one_agent_too_and_say_so(slug: str) -> None:
    assert broken_rule(slug, at(3), ALONE) == ""
    assert remark(slug, ALONE) == "single_agent"
    assert remark(slug, TEAM) == ""


@pytest.mark.parametrize("slug", ["no_or_incomplete_verification", "incorrect_verification"])
def test_the_claim_or_the_check_is_cited_not_the_person(slug: str) -> None:
    run = with_person("reply", "human")
    assert broken_rule(slug, at(0, 2), run) == "no_claim"
    assert broken_rule(slug, at(0, 1), run) == ""
