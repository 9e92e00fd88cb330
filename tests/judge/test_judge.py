"""A run through the judge: looks, windows, overflow, votes and what stands on the report."""

from __future__ import annotations

from typing import Any

import pytest

from judge.runs import Model, finding, opinion, row, trace
from mastwatch import taxonomy
from mastwatch.judge.calibrate import Calibration, Calibrations
from mastwatch.judge.client import Ask, ModelError
from mastwatch.judge.judge import EXTRA_VOTES, Judge
from mastwatch.judge.modes import mast
from mastwatch.judge.settings import JudgeSettings
from mastwatch.store import Report, Trace

SLUGS = tuple(mode.slug for mode in taxonomy.MODES)
RUN = trace(
    "We need the total of the column.",
    "I shall read the file first.",
    "We need the total of the column.",
    "The total is 412, as the file says.",
)
QUOTE = {"msg": 3, "quote": "The total is 412"}
LONG = trace(*(f"row {n}: {'several words of a long run ' * 30}" for n in range(80)))


async def judged(model: Model, run: Trace = RUN, **settings: Any) -> Report:
    calibrations = settings.pop("calibrations", None)
    settings = {"retries": 0, **settings}
    report = await Judge(model, JudgeSettings(**settings), calibrations=calibrations).judge(run)
    assert tuple(report.verdicts) == (settings.get("modes") or SLUGS)
    assert all(v.evidence for v in report.present)
    return report


async def test_a_healthy_run_takes_one_call_and_every_mode_is_absent() -> None:
    model = Model()
    report = await judged(model)
    assert len(model.asked) == 1
    assert {v.verdict for v in report.verdicts.values()} == {"absent"}
    assert (report.coverage, report.windows, report.task_completed) == (1.0, 1, "yes")
    assert (report.model, report.prompt_version) == ("m-2026", "1")
    assert report.taxonomy_version == mast().version


async def test_present_stands_with_its_quote() -> None:
    report = await judged(Model({"task_derailment": opinion("present", evidence=[QUOTE])}))
    (found,) = report.present
    assert (found.slug, found.evidence[0].message_index) == ("task_derailment", 3)
    assert report.evidence_counts["verified"] == 1


async def test_only_what_is_in_doubt_is_asked_again() -> None:
    model = Model({"task_derailment": opinion("unsure")}, {})
    report = await judged(model)
    assert len(model.asked) == 1 + EXTRA_VOTES
    for ask in model.asked[1:]:
        assert list(ask.schema["properties"]["modes"]["properties"]) == ["task_derailment"]
    found = report.verdicts["task_derailment"]
    assert (found.verdict, found.votes) == ("absent", "2/3")


async def test_findings_are_shown_in_the_second_look_only() -> None:
    run = Trace(run_id="r", rows=RUN.rows, findings=(finding("step_repetition"),))
    model = Model()
    report = await judged(model, run)
    first, *again = model.asked
    said = "planner said the same twice"
    assert said not in first.user + first.system
    assert len(again) == EXTRA_VOTES
    assert all(said in ask.user for ask in again)
    assert report.verdicts["step_repetition"].detector == "warn"


async def test_without_a_majority_it_is_unsure() -> None:
    answers = [opinion("unsure"), opinion("present", evidence=[QUOTE]), opinion("absent")]
    report = await judged(Model(*({"task_derailment": answer} for answer in answers)))
    found = report.verdicts["task_derailment"]
    assert (found.verdict, found.reason, found.votes) == ("unsure", "split_vote", "1/3")


async def test_a_structural_rule_takes_present_down() -> None:
    once = {"step_repetition": opinion("present", evidence=[QUOTE])}
    report = await judged(Model(once))
    found = report.verdicts["step_repetition"]
    assert (found.verdict, found.reason) == ("unsure", "one_row")


async def test_the_fast_profile_never_asks_again_and_the_deep_one_always() -> None:
    fast, deep = Model({"task_derailment": opinion("unsure")}), Model()
    await judged(fast, profile="fast")
    await judged(deep, profile="deep")
    assert (len(fast.asked), len(deep.asked)) == (1, 1 + EXTRA_VOTES)


async def test_a_long_run_is_asked_about_in_parts_with_full_coverage() -> None:
    model = Model()
    report = await judged(model, LONG, context_tokens=16_000, reply_tokens=1_000)
    assert report.windows == len(model.asked) > 1
    assert report.coverage == 1.0
    assert all("Outline of the whole run" in ask.user for ask in model.asked)


async def test_a_part_that_is_not_answered_makes_absent_impossible() -> None:
    answers: list[Any] = [{}, ModelError("timeout", "no answer"), {}]
    report = await judged(Model(*answers), LONG, context_tokens=16_000, reply_tokens=1_000)
    assert {v.verdict for v in report.verdicts.values()} == {"not_evaluated"}
    assert {v.reason for v in report.verdicts.values()} == {"timeout"}
    assert 0 < report.coverage < 1


def too_long(limit: int, stated: int | None = None) -> Any:
    def answer(ask: Ask) -> Any:
        if len(ask.system + ask.user) / 3 > limit:
            return ModelError("context_overflow", "too long", context_tokens=stated)
        return {}

    return answer


@pytest.mark.parametrize("stated", [None, 18_000])
async def test_an_overflow_is_planned_anew_once_and_no_verdict_is_lost(stated: int | None) -> None:
    report = await judged(Model(too_long(20_000, stated)), LONG, reply_tokens=1_000)
    assert {v.verdict for v in report.verdicts.values()} == {"absent"}
    assert report.windows > 1
    assert report.coverage == 1.0


async def test_a_second_overflow_is_said() -> None:
    model = Model(too_long(10))
    report = await judged(model, LONG)
    assert {v.reason for v in report.verdicts.values()} == {"context_overflow"}
    assert {v.verdict for v in report.verdicts.values()} == {"not_evaluated"}
    assert len(model.asked) < 20


async def test_an_overflow_without_a_figure_halves_again_what_was_learned_before() -> None:
    model = Model(too_long(20_000))
    judge = Judge(model, JudgeSettings(retries=0, reply_tokens=1_000))
    await judge.judge(LONG)
    before = judge.learned.context
    model._answers = [too_long(10_000)]
    report = await judge.judge(LONG)
    assert before is not None
    assert judge.learned.context is not None
    assert judge.learned.context < before
    assert {v.verdict for v in report.verdicts.values()} == {"absent"}


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (Trace(run_id="r"), "no_rows"),
        (Trace(run_id="r", rows=(row(0, "a", None), row(1, "b", ""))), "no_text"),
    ],
)
async def test_a_run_with_nothing_to_read_is_not_evaluated_and_costs_nothing(
    run: Trace, reason: str
) -> None:
    model = Model()
    report = await judged(model, run)
    assert {v.reason for v in report.verdicts.values()} == {reason}
    assert (model.asked, report.usage.calls, report.coverage) == ([], 0, 0.0)


async def test_one_agent_and_one_row_can_be_judged() -> None:
    run = trace("All on my own I wander off.", agents=("solo",))
    quote = {"msg": 0, "quote": "I wander off"}
    report = await judged(Model({"task_derailment": opinion("present", evidence=[quote])}), run)
    found = report.verdicts["task_derailment"]
    assert (found.verdict, found.reason) == ("present", "single_agent")


def calibration(**modes: Any) -> Calibrations:
    found = Calibrations()
    for model in ("m", "m-2026"):
        found.add(
            Calibration(
                taxonomy_version=mast().version, prompt_version="1", model=model,
                date="2026-11-21", runs=40, modes=modes,
            )
        )  # fmt: skip
    return found


async def test_the_calibration_of_this_very_judge_is_stamped() -> None:
    report = await judged(Model(), calibrations=calibration())
    assert report.calibration.endswith(" of 2026-11-21, n=40")
    other = await judged(Model(), calibrations=calibration(), modes=("step_repetition",))
    assert other.calibration == report.calibration


async def test_another_prompt_is_uncalibrated(tmp_path: Any) -> None:
    examples = tmp_path / "examples.jsonl"
    examples.write_text('{"run": "[#0 a reply]\\n| hm", "verdicts": {"step_repetition": '
                        '{"verdict": "absent"}}}\n')  # fmt: skip
    model = Model()
    report = await judged(model, calibrations=calibration(), examples=str(examples))
    assert report.calibration == "uncalibrated"
    assert report.prompt_version.startswith("1+ex")
    assert "data as the run itself is:\n[#0 a reply]" in model.asked[0].system
    assert (await judged(Model())).calibration == "uncalibrated"


async def test_a_calibrated_threshold_asks_again_where_the_judge_is_not_to_be_believed() -> None:
    sure = opinion("present", 0.7, evidence=[QUOTE])
    known = calibration(task_derailment={"threshold": 0.8})
    model = Model({"task_derailment": sure})
    await judged(model, calibrations=known)
    assert len(model.asked) == 1 + EXTRA_VOTES
    model = Model({"task_derailment": sure})
    await judged(model, calibrations=known, thresholds={"task_derailment": 0.5})
    assert len(model.asked) == 1
