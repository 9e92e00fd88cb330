"""The four methods on runs whose decisive step is known by construction."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from attribution.model import Model, check, proposal, run, words
from mastwatch.attribution import AttributionSettings, Attributor
from mastwatch.findings import Finding, Severity
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.client import Reply
from mastwatch.judge.settings import JudgeSettings, TraceLimits
from mastwatch.store import Attribution, Evidence, Report, Trace, Verdict
from mastwatch.store.attribution import METHODS

SETTINGS = JudgeSettings(model="m", retries=0)
METHOD = pytest.mark.parametrize("method", METHODS)


async def attribute(
    model: Model,
    trace: Trace | None = None,
    report: Report | None = None,
    judge: JudgeSettings = SETTINGS,
    **options: Any,
) -> Attribution:
    access = ModelAccess(model, judge)
    attributor = Attributor(access, AttributionSettings(**options))
    return await attributor.attribute(run() if trace is None else trace, report)


@METHOD
@pytest.mark.parametrize("decisive", range(8))
async def test_every_method_finds_the_step_and_its_speaker(method: Any, decisive: int) -> None:
    model = Model(decisive)
    found = await attribute(model, method=method)
    assert (found.result, found.step) == ("attributed", decisive)
    assert found.agent == ("Planner", "Pilot", "Clerk")[decisive % 3]
    assert found.usage.calls == len(model.asked)
    assert found.model == "m-1"


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8, 9, 33])
async def test_each_method_makes_the_stated_number_of_calls(rows: int) -> None:
    worst = {"step_by_step": rows - 1}  # of halves the first is the larger one
    calls = {}
    for method in METHODS:
        decisive = worst.get(method, 0)
        model = Model(decisive)
        assert (await attribute(model, run(rows), method=method)).step == decisive
        calls[method] = len(model.asked)
    assert calls == {
        "propose_verify": 2,
        "all_at_once": 1,
        "step_by_step": rows,
        "binary_search": math.ceil(math.log2(rows)),
    }


async def test_the_earliest_candidate_that_survives_its_check_wins() -> None:
    listed = [proposal(5, confidence=0.9), proposal(2, confidence=0.4), proposal(1, confidence=0.7)]

    def checked(ask: Any) -> Any:
        named = next(n for n in (1, 2, 5) if f"row #{n} is the decisive" in ask.system)
        return check("no" if named == 1 else "yes", named, why="too early")

    model = Model(proposals={"candidates": listed}, check=checked)
    found = await attribute(model)
    assert (found.step, found.result) == (2, "attributed")
    assert found.counterfactual == "Ask the harbour first."
    assert [(c.step, c.check) for c in found.candidates] == [
        (5, "survived"),
        (1, "refuted"),
        (2, "survived"),
    ]
    assert found.candidates[1].objection == "too early"
    assert model.kinds == ["proposals", "check", "check", "check"]


async def test_without_a_survivor_the_surest_is_named_and_marked() -> None:
    listed = [proposal(5), proposal(6, confidence=0.2)]
    model = Model(proposals={"candidates": listed}, check=check("no", 5))
    found = await attribute(model)
    assert (found.result, found.step) == ("unverified", 5)


@pytest.mark.parametrize(
    "answer",
    [
        {"is_error": "yes", "lost_before": "yes", "saves": "yes"},
        {"is_error": "no", "lost_before": "no", "saves": "yes"},
        {"is_error": "yes", "lost_before": "no", "saves": "no"},
    ],
)
async def test_a_candidate_falls_by_each_of_the_three_questions(answer: dict[str, str]) -> None:
    found = await attribute(Model(check={**check("yes"), **answer}))
    assert [c.check for c in found.candidates] == ["refuted"]


async def test_an_unsure_check_refutes_nothing_and_proves_nothing() -> None:
    found = await attribute(Model(check={**check("yes"), "saves": "unsure"}))
    assert (found.result, found.candidates[0].check) == ("unverified", "unchecked")


async def test_nothing_survives_on_words_that_nobody_said() -> None:
    invented = {"msg": 3, "quote": "an utterance that stands nowhere in it"}
    model = Model(
        proposals={"candidates": [proposal(3, evidence=invented)]},
        check=check("yes", evidence=invented),
    )
    found = await attribute(model)
    assert (found.result, found.evidence) == ("unverified", ())


async def test_a_quote_under_the_wrong_number_is_put_right() -> None:
    moved = {"msg": 7, "quote": words(3)}
    found = await attribute(Model(proposals={"candidates": [proposal(3, evidence=moved)]}))
    assert found.evidence[0] == Evidence(message_index=3, quote=words(3), status="repaired")


@pytest.mark.parametrize("step", [99, -1, "seven", 3.5, True, None])
async def test_a_step_that_does_not_exist_is_no_step(step: Any) -> None:
    found = await attribute(Model(proposals={"candidates": [proposal(step)]}))
    assert (found.result, found.step, found.reason) == ("none", None, "no_such_step")


@pytest.mark.parametrize("step", ["3", 3.0, "#3"])
async def test_a_step_that_means_a_whole_number_is_read_as_one(step: Any) -> None:
    listed = [proposal(3, step=step)]
    assert (await attribute(Model(proposals={"candidates": listed}))).step == 3


async def test_the_agent_is_who_speaks_there_whatever_the_model_says() -> None:
    found = await attribute(Model(proposals={"candidates": [proposal(3, agent="Admiral")]}))
    assert (found.agent, found.named_agent) == ("Planner", "Admiral")


async def test_an_aside_in_a_name_names_the_same_agent() -> None:
    trace = run()
    rows = tuple(replace(row, agent=f"{row.agent} (thought)") for row in trace.rows)
    found = await attribute(
        Model(proposals={"candidates": [proposal(3, agent="Planner (-> Clerk)")]}),
        replace(trace, rows=rows),
    )
    assert (found.agent, found.named_agent) == ("Planner", "")


@METHOD
async def test_a_model_that_blames_nobody_gives_none(method: Any) -> None:
    if method == "binary_search":
        pytest.skip("it always ends at one step, as in the paper")
    model = Model(
        proposals={"candidates": []},
        choice={"step": None, "agent": "", "reason": "", "confidence": 0},
        step={"error": "no", "reason": "", "evidence": None},
    )
    found = await attribute(model, method=method)
    assert (found.result, found.step, found.agent, found.reason) == ("none", None, "", "no_error")


async def test_a_half_that_cannot_be_told_is_asked_once_more_and_then_undefined() -> None:
    model = Model(half={"half": "unclear", "reason": ""})
    found = await attribute(model, method="binary_search")
    assert (found.result, found.reason, len(model.asked)) == ("not_evaluated", "ambiguous", 2)


async def test_a_step_nothing_was_readable_of_is_no_pass() -> None:
    def refusing(ask: Any) -> Any:
        return Reply(text="", refusal="no") if "row #2." in ask.system else Model(99)._step(ask)

    found = await attribute(Model(step=refusing), method="step_by_step")
    assert (found.result, found.reason) == ("not_evaluated", "refusal")
    assert "1 earlier steps (#2)" in found.problems[0]


async def test_step_by_step_shows_nothing_of_what_came_later() -> None:
    model = Model(7)
    await attribute(model, method="step_by_step")
    for number, ask in enumerate(model.asked):
        assert words(number) in ask.user
        assert words(number + 1) not in ask.user


async def test_binary_search_shows_the_segment_only() -> None:
    model = Model(7)
    await attribute(model, method="binary_search")
    assert words(3) not in model.asked[1].user
    assert words(4) in model.asked[1].user


async def test_a_run_that_succeeded_is_left_alone() -> None:
    model = Model()
    found = await attribute(model, run(success=True))
    assert (found.result, found.reason, model.asked) == ("none", "succeeded", [])


async def test_a_run_without_text_is_not_evaluated() -> None:
    trace = run()
    silent = replace(trace, rows=tuple(replace(row, text=None) for row in trace.rows))
    assert (await attribute(Model(), silent)).reason == "no_text"
    assert (await attribute(Model(), replace(trace, rows=()))).reason == "no_rows"


async def test_the_right_answer_is_shown_only_where_it_was_asked_for() -> None:
    trace = run(expected="The answer is forty-two ships.")
    model = Model()
    assert not (await attribute(model, trace)).ground_truth
    assert all("forty-two" not in ask.user for ask in model.asked)
    assert (await attribute(model, trace, ground_truth=True)).ground_truth
    assert "forty-two" in model.asked[-1].user


def judged() -> Report:
    evidence = (Evidence(message_index=3, quote=words(3)),)
    present = Verdict(slug="task_derailment", mode="FM-2.3", verdict="present", evidence=evidence)
    return Report(run_id="run-1", verdicts={"task_derailment": present})


def loop() -> Finding:
    return Finding(
        run_id="run-1",
        mode="FM-1.3",
        severity=Severity.WARN,
        detector="step_repetition",
        agent="Pilot",
        message_index=4,
        explanation="Pilot called steer 3 times",
        evidence=(1, 4),
        fingerprint="f",
        episode="e",
    )


async def test_findings_and_verdicts_are_hints_and_modes_of_the_step_are_linked() -> None:
    model = Model()
    found = await attribute(model, run(findings=(loop(),)), judged())
    assert "Pilot called steer 3 times" in model.asked[0].user
    assert "task_derailment (rows #3)" in model.asked[0].user
    assert found.modes == ("task_derailment",)
    quiet = Model()
    await attribute(quiet, run(findings=(loop(),)), judged(), hints=False)
    assert all("Pilot called" not in ask.user for ask in quiet.asked)


@pytest.mark.parametrize("method", ["all_at_once", "step_by_step", "binary_search"])
async def test_the_paper_s_inputs_have_neither_hints_nor_second_questions(method: Any) -> None:
    model = Model(3)
    found = await attribute(model, run(findings=(loop(),)), judged(), method=method, compat="paper")
    assert found.step == 3
    assert found.prompt_version.endswith("-paper")
    assert all("Pilot called" not in ask.user for ask in model.asked)
    if method != "step_by_step":
        assert "[#3" not in model.asked[0].user
    unsure = Model(half={"half": "unclear", "reason": ""})
    await attribute(unsure, method="binary_search", compat="paper")
    assert len(unsure.asked) == 3


async def test_in_the_paper_s_form_a_step_is_a_position() -> None:
    trace = run()
    gaps = replace(trace, rows=tuple(replace(row, index=row.index * 2) for row in trace.rows))
    found = await attribute(Model(3), gaps, method="all_at_once", compat="paper")
    assert found.step == 6


async def test_in_the_paper_s_form_positions_are_counted_within_each_window() -> None:
    long = run(40)
    rows = tuple(replace(row, text=f"{row.text} " + "and so on " * 40) for row in long.rows)
    judge = JudgeSettings(model="short", retries=0, context_tokens=4_500, reply_tokens=500)
    model = Model(0, model="short")
    found = await attribute(
        model, replace(long, rows=rows), judge=judge, method="all_at_once", compat="paper"
    )
    assert len(model.asked) > 2
    assert len({candidate.step for candidate in found.candidates}) == len(model.asked)


@METHOD
async def test_a_long_run_is_seen_whole_in_windows(method: Any) -> None:
    long = run(60)
    rows = tuple(replace(row, text=f"{row.text} " + "and so on " * 40) for row in long.rows)
    judge = JudgeSettings(
        model=f"small-{method}",
        retries=0,
        context_tokens=4_500,
        reply_tokens=500,
        per_trace=TraceLimits(calls=None),
    )
    model = Model(41, model=f"small-{method}")
    found = await attribute(model, replace(long, rows=rows), judge=judge, method=method)
    assert found.step == 41
    if method in ("propose_verify", "all_at_once"):
        assert found.coverage == 1.0
        assert found.windows > 1


async def test_what_a_run_may_cost_is_the_judge_s_limit() -> None:
    judge = JudgeSettings(model="m", retries=0, per_trace=TraceLimits(calls=3))
    model = Model(7)
    found = await attribute(model, judge=judge, method="step_by_step")
    assert (found.result, found.reason, len(model.asked)) == ("not_evaluated", "budget", 3)
