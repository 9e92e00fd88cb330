"""Attribution is scored as theory says: baselines, chance, the published metric, known models."""

from __future__ import annotations

import asyncio
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from evaluation.blamed import BAKERY, HARBOUR, cases, crafted, generated, published, record, steps
from mastwatch.attribution import Attributor
from mastwatch.evaluation.attribution.baselines import BASELINES, by_chance
from mastwatch.evaluation.attribution.cases import CRAFTED, GENERATED, Labelled, gather, load
from mastwatch.evaluation.attribution.preflight import at_most
from mastwatch.evaluation.attribution.report import report
from mastwatch.evaluation.attribution.run import Kept, attribute_all
from mastwatch.evaluation.attribution.score import METRICS, Answered, between_people, score
from mastwatch.evaluation.attribution.scripted import MODELS, Scripted, scripted
from mastwatch.evaluation.attribution.views import tables
from mastwatch.evaluation.tables import markdown
from mastwatch.formats import Problem
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.settings import AttributionSettings, JudgeSettings
from mastwatch.store.attribution import METHODS

PAPER = ("all_at_once", "step_by_step", "binary_search")


def evaluated(runs, name, methods=METHODS, compat=""):
    """The report on a scripted model."""
    opinion, kept = scripted(name), Kept()
    how = JudgeSettings(retries=0, cache=False)

    def attributor_for(case, method):
        client = Scripted(case, opinion(case, method), name, paper=bool(compat))
        settings = AttributionSettings(method=method, compat=compat)
        return Attributor(ModelAccess(client, how), settings)

    asyncio.run(attribute_all(runs, methods, attributor_for, kept))
    return report(runs, methods, kept.found)


def row(result, who, subset="all"):
    parts = result["subsets"]
    part = next((p for p in parts if p["subset"] == subset), parts[-1])
    return next(r for r in part["rows"] if r["who"] == who)


def share(found):
    return {name: found[name]["share"] for name in METRICS}


# Reading labelled runs.


def test_published_files_and_records_are_the_same_runs(tmp_path):
    folder = published(tmp_path / "published", g1=generated(), h1=crafted())
    file = tmp_path / "runs.jsonl"
    logs = [record("a", generated(), GENERATED), record("b", crafted(), CRAFTED)]
    file.write_text("".join(json.dumps(log) + "\n" for log in logs))
    for one, other in zip(cases(folder), cases(file), strict=True):
        assert (one.subset, one.step, one.agent) == (other.subset, other.step, other.agent)
        assert one.speakers == other.speakers
        assert one.trace.rows == other.trace.rows
        assert (one.trace.task, one.trace.expected) == (other.trace.task, other.trace.expected)
    assert [case.trace.run_id for case in cases(folder)] == [
        "Algorithm-Generated/g1",
        "Hand-Crafted/h1",
    ]


def test_names_are_kept_as_logged_beside_the_agents(tmp_path):
    (case,) = cases(published(tmp_path, h1=crafted()))
    assert case.speakers == tuple(name for name, _ in HARBOUR)
    assert [r.agent for r in case.trace.rows][1:3] == ["Orchestrator", "Orchestrator"]
    assert case.trace.success is False


@pytest.mark.parametrize("told", ["3", 3, 3.0, " 3 "])
def test_a_step_is_a_number_however_it_is_written(tmp_path, told):
    (case,) = cases(published(tmp_path, g1=generated(mistake_step=told)))
    assert case.step == 3


@pytest.mark.parametrize("told", [None, "", "three", 3.7, True, [3]])
def test_a_label_that_names_no_step_is_a_problem_with_its_place(tmp_path, told):
    folder = published(tmp_path, g1=generated(mistake_step=told), g2=generated())
    runs, problems = gather([folder])
    assert [case.trace.run_id for case in runs] == ["Algorithm-Generated/g2"]
    (problem,) = problems
    assert "g1.json" in problem
    assert "names no step and agent that can be read" in problem


@pytest.mark.parametrize("told", [99, -1])
def test_a_label_beyond_the_run_stays_in_the_denominator(tmp_path, told):
    runs, problems = gather([published(tmp_path, g1=generated(mistake_step=told))])
    assert f"names row {told}, which it lacks" in problems[0]
    result = evaluated(runs, "oracle")
    assert row(result, "all_at_once")["step"]["share"] == 0.0
    assert row(result, "by chance")["step"]["share"] == 0.0


def test_rows_that_are_none_keep_the_numbers_of_the_others(tmp_path):
    log = generated(3, "Baking_Expert")
    log["history"][1] = "torn"
    log["history"][2]["content"] = 7
    (case,) = cases(published(tmp_path, g1=log))
    assert [r.index for r in case.trace.rows] == [0, 1, 2, 3, 4]
    assert [r.text for r in case.trace.rows][1:3] == ["", ""]
    assert case.trace.rows[3].agent == "Baking_Expert"


def test_a_record_keeps_the_numbers_of_its_rows(tmp_path):
    log = record("a", generated(), GENERATED)
    del log["messages"][0]
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(log))
    (case,) = cases(file)
    assert [r.index for r in case.trace.rows] == [1, 2, 3, 4]
    for message in log["messages"]:
        message["index"] = 5
    file.write_text(json.dumps(log))
    (case,) = cases(file)
    assert [r.index for r in case.trace.rows] == [0, 1, 2, 3]


def test_what_cannot_be_read_is_said_and_costs_no_other_run(tmp_path):
    good = json.dumps(record("a", generated(), GENERATED))
    unlabelled = json.dumps({**record("b", generated(), GENERATED), "labels": {}})
    lines = [good, '{"torn', '{"neither": 1}', "[1, 2]", unlabelled, good]
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(lines))
    runs, problems = gather([str(file), str(tmp_path / "nowhere.json")])
    assert len(runs) == 1
    assert len(problems) == 5
    assert [f":{n}" in problem for n, problem in zip((2, 3, 4), problems, strict=False)] == [
        True
    ] * 3
    assert "a comes again; it counts once" in problems[3]
    assert "cannot be opened" in problems[4]
    assert not any("loaves" in problem for problem in problems)


def test_a_limit_takes_the_first_of_each_subset(tmp_path):
    logs = {"g1": generated(), "g2": generated(), "h1": crafted(), "h2": crafted()}
    runs, _ = gather([published(tmp_path, **logs)], limit=1)
    assert [case.trace.run_id.rpartition("/")[2] for case in runs] == ["g1", "h1"]


# The scorer.


@pytest.fixture
def case(tmp_path) -> Labelled:
    (found,) = cases(published(tmp_path, g1=generated()))
    return found


def test_twelve_is_not_one(case):
    found = share(score([case], [Answered(step=12, agent="Sums_Expert")]))
    assert found["step"] == 0.0
    assert found["substring_step"] == 1.0
    assert (found["agent"], found["joint"], found["within_1"]) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(("step", "near"), [(0, 1.0), (1, 1.0), (2, 1.0), (3, 0.0)])
def test_within_one_counts_neighbours(case, step, near):
    assert share(score([case], [Answered(step=step)]))["within_1"] == near


def test_the_fourth_step_is_not_in_the_top_three(case):
    assert share(score([case], [Answered(step=3, top=(3, 4, 1))]))["top_3"] == 1.0
    assert share(score([case], [Answered(step=3, top=(3, 4, 0, 1))]))["top_3"] == 0.0


def test_undefined_is_wrong_everywhere(case):
    found = score([case, case], [Answered(), Answered(step=1, agent="Sums_Expert")])
    assert found["undefined"]["hits"] == 1
    assert {found[name]["hits"] for name in METRICS} == {1}
    assert found["runs"] == 2


def test_names_with_asides_are_one_agent_and_a_hyphen_breaks_the_published_metric(tmp_path):
    folder = published(tmp_path, h1=crafted(1, "Orchestrator"), h2=crafted(3, "Blu-Ray_Expert"))
    runs = cases(folder)
    said = [Answered(agent="Orchestrator (thought)"), Answered(agent="Blu-Ray_Expert")]
    found = score(runs, said)
    assert found["agent"]["hits"] == 2
    assert found["substring_agent"]["hits"] == 1


def test_nothing_scored_gives_no_share():
    found = score([], [])
    assert found["step"] == {"hits": 0, "share": None, "low": None, "high": None}


def test_intervals_are_wilsons(case):
    found = score([case] * 67, [Answered(step=1)] * 18 + [Answered(step=2)] * 49)["step"]
    assert (round(found["low"], 3), round(found["high"], 3)) == (0.177, 0.385)


# What needs no model.


def test_baselines_follow_their_definitions(tmp_path):
    runs = cases(published(tmp_path, g1=generated(), h1=crafted()))
    said = {b.called([c.subset]): b.answer(c) for b in BASELINES for c in runs}
    # Two say as much; the first seen is taken, and the terminal never.
    assert said["most frequent speaker"] == Answered(agent="Baking_Expert")
    assert said["constant step 1"] == Answered(step=1, agent="Sums_Expert", top=(0, 1, 3))
    assert said["WebSurfer, else Orchestrator"] == Answered(agent="WebSurfer")
    assert said["first WebSurfer row"] == Answered(step=3, agent="WebSurfer", top=(3, 6))
    assert said["constant step 4"] == Answered(step=4, agent="Orchestrator")
    assert said["constant step 8"] == Answered()


def test_baselines_without_their_agent_are_undefined(tmp_path):
    rows = [(name, text) for name, text in HARBOUR if name != "WebSurfer"]
    (case,) = cases(published(tmp_path, h1=crafted(1, "Orchestrator", rows)))
    said = {b.called([CRAFTED]): b.answer(case) for b in BASELINES}
    assert said["WebSurfer, else Orchestrator"].agent == "Orchestrator"
    assert said["first WebSurfer row"] == Answered()


def test_the_terminal_may_speak_most(tmp_path):
    rows = [BAKERY[0], *[BAKERY[2]] * 4, BAKERY[1]]
    (case,) = cases(published(tmp_path, g1=generated(rows=rows)))
    said = {b.called([GENERATED]): b.answer(case) for b in BASELINES}
    assert said["most frequent speaker"].agent == "Baking_Expert"
    assert said["constant step 1"] == Answered(step=1, agent="Computer_terminal", top=(0, 5))


def test_chance_is_exact(tmp_path):
    (case,) = cases(published(tmp_path, g1=generated()))
    found = by_chance([case])
    shares = {name: found[name]["share"] for name in METRICS if name in found}
    assert shares == {
        "step": 1 / 5,
        "agent": 1 / 3,
        "joint": 1 / 15,
        "within_1": 3 / 5,
        "top_3": 3 / 5,
        "substring_step": 1 / 5,
    }


def test_chance_counts_names_as_logged_and_normalised(tmp_path):
    (case,) = cases(published(tmp_path, h1=crafted()))
    assert by_chance([case])["agent"]["share"] == pytest.approx(1 / 3)
    assert by_chance([case], str)["agent"]["share"] == pytest.approx(1 / 5)


def test_chance_in_a_long_run_gains_from_the_published_metric(tmp_path):
    rows = [("Ann_Expert", f"word {n}") for n in range(12)]
    (case,) = cases(published(tmp_path, g1=generated(1, "Ann_Expert", rows)))
    found = by_chance([case])
    assert found["step"]["share"] == pytest.approx(1 / 12)
    assert found["substring_step"]["share"] == pytest.approx(3 / 12)  # 1, 10, 11


def test_two_people_are_a_row(tmp_path):
    second = {"root_cause_step": 4, "root_cause_agent": "Orchestrator"}
    same = {"root_cause_step": 3, "root_cause_agent": "WebSurfer"}
    none = {"root_cause_step": None, "root_cause_agent": None}
    told = [second, same, none, {}, None, 7]
    file = tmp_path / "runs.jsonl"
    logs = [record(f"r{n}", crafted(), CRAFTED, agentrx=said) for n, said in enumerate(told)]
    file.write_text("".join(json.dumps(log) + "\n" for log in logs))
    found = between_people(cases(file))
    assert found["runs"] == 2
    assert [found[m]["hits"] for m in ("step", "agent", "joint", "within_1")] == [1, 1, 1, 2]
    result = report(cases(file), (), {})
    assert row(result, "two annotators")["runs"] == 2
    assert any("lower bound" in cell for line in tables(result)[-1].rows for cell in line)


# Scripted models: what each must score is known.


@pytest.mark.parametrize("compat", ["", "paper"])
def test_an_oracle_is_always_right_and_asks_as_often_as_is_said(tmp_path, compat):
    runs = cases(steps(tmp_path, 8))
    methods = PAPER if compat else METHODS
    result = evaluated(runs, "oracle", methods, compat)
    for method in methods:
        found = row(result, method)
        right = {**share(found)}
        assert right.pop("undefined") == 0.0
        assert set(right.values()) == {1.0}, method
    calls = {method: row(result, method)["calls"] for method in methods}
    # Step by step stops at the labelled step: 1 to 8 calls, each as often.
    expected = {"all_at_once": 1.0, "step_by_step": 4.5, "binary_search": 3.0}
    assert calls == ({**expected, "propose_verify": 2.0} if not compat else expected)
    assert all(row(result, method)["tokens"] > 0 for method in methods)
    assert result["missing"] == 0


def test_a_silent_model_is_undefined_and_wrong(tmp_path):
    result = evaluated(cases(steps(tmp_path, 8)), "silent")
    for method in METHODS:
        found = share(row(result, method))
        assert found.pop("undefined") == 1.0
        assert set(found.values()) == {0.0}
    assert row(result, "step_by_step")["calls"] == 8.0
    assert result["asked"]["not_evaluated"] == {"ambiguous": 8}


def test_a_model_that_always_says_one_is_the_baseline(tmp_path):
    logs = {"g1": generated(), "g2": generated(2, "Computer_terminal"), "g3": generated(4)}
    result = evaluated(cases(published(tmp_path, **logs)), "first")
    baseline = row(result, "constant step 1")
    for method in METHODS:
        for metric in ("step", "agent", "joint", "within_1", "substring_step", "substring_agent"):
            assert row(result, method)[metric] == baseline[metric]


def test_a_noisy_model_scores_what_its_noise_predicts(tmp_path):
    runs = cases(steps(tmp_path, 200))
    result = evaluated(runs, "noisy:0.3", PAPER)
    spread = 4 * math.sqrt(0.3 * 0.7 / 200)
    for method in PAPER:
        found = row(result, method)
        assert found["step"]["share"] == pytest.approx(0.7, abs=spread)
        # Of seven other steps three are the same agent's.
        assert found["agent"]["share"] == pytest.approx(0.7 + 0.3 * 3 / 7, abs=spread)


def test_an_unknown_model_is_refused():
    for name in ("friendly", "noisy:2", "noisy:x"):
        with pytest.raises(ValueError, match="is no scripted model; known: oracle"):
            scripted(name)


def test_a_report_has_a_part_for_each_subset_and_one_for_all(tmp_path):
    runs = cases(published(tmp_path, g1=generated(), h1=crafted()))
    result = evaluated(runs, "oracle", ("all_at_once",))
    assert [part["subset"] for part in result["subsets"]] == [GENERATED, CRAFTED, "all"]
    names = [r["who"] for r in result["subsets"][2]["rows"]]
    assert "constant step 1 / first WebSurfer row" in names
    assert "constant step 4" not in names
    assert names[-1] == "all_at_once"
    assert "by chance, names as logged" not in {r["who"] for r in result["subsets"][0]["rows"]}
    text = json.dumps(result)
    assert "loaves" not in text
    assert "harbour" not in text


# Before anything is sent.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("context", [120_000, 9_000])
def test_no_model_takes_more_than_what_was_said_to_be_the_most(tmp_path, method, context):
    rows = [(f"A{n % 3}_Expert", f"{n} " + "some words to read " * (5 + 37 * n % 400))
            for n in range(13)]  # fmt: skip
    (case,) = cases(published(tmp_path, g1=generated(12, rows=rows)))
    settings = JudgeSettings(
        retries=0, context_tokens=context, attribution=AttributionSettings(method=method)
    )
    most = asyncio.run(at_most(case.trace, settings))
    for step in (None, *range(13)):
        client = Scripted(case, step, "any")
        attributor = Attributor(ModelAccess(client, settings), settings.attribution)
        used = asyncio.run(attributor.attribute(case.trace)).usage
        assert used.calls <= most.calls
        assert used.input_tokens <= most.input_tokens
    expected = {"step_by_step": 13, "binary_search": 8}
    if context == 120_000:
        expected |= {"propose_verify": 4, "all_at_once": 1}
    assert most.calls == expected.get(method, most.calls)
    assert most.usd is None


def test_the_price_of_the_most_is_known_where_prices_are(case):
    settings = JudgeSettings(prices={"input": 2.0, "output": 8.0})
    most = asyncio.run(at_most(case.trace, settings))
    assert most.usd == pytest.approx((2 * most.input_tokens + 8 * most.output_tokens) / 1e6)


# The recorded runs.


def percent(found, metric):
    return round(100 * found[metric]["share"], 1)


@pytest.fixture(scope="module")
def dev(traces):
    runs, problems = gather([str(traces / "dev" / "who_and_when.jsonl.gz")])
    assert problems == []
    return report(runs, (), {})


def test_the_baselines_of_the_recorded_runs(dev):
    parts = {part["subset"]: part["runs"] for part in dev["subsets"]}
    assert parts == {GENERATED: 67, CRAFTED: 27, "all": 94}
    constant = row(dev, "constant step 1", GENERATED)
    hits = {m: constant[m]["hits"] for m in ("step", "agent", "joint", "within_1", "top_3")}
    assert hits == {"step": 18, "agent": 23, "joint": 17, "within_1": 35, "top_3": 43}
    assert percent(constant, "step") == 26.9
    assert row(dev, "most frequent speaker", GENERATED)["agent"]["hits"] == 34
    surfer = row(dev, "first WebSurfer row", CRAFTED)
    hits = {m: surfer[m]["hits"] for m in ("step", "agent", "joint", "within_1", "top_3")}
    assert hits == {"step": 3, "agent": 14, "joint": 3, "within_1": 5, "top_3": 11}
    assert row(dev, "WebSurfer, else Orchestrator", CRAFTED)["agent"]["hits"] == 15


def test_the_digits_are_right_on_every_generated_run_by_the_published_metric(dev):
    digits = 'the string "1234567890"'
    assert percent(row(dev, digits, GENERATED), "substring_step") == 100.0
    assert row(dev, digits, CRAFTED)["substring_step"]["hits"] == 17
    assert row(dev, digits)["step"]["hits"] == 0


def test_two_people_agree_on_six_of_nineteen_steps(dev):
    found = row(dev, "two annotators", CRAFTED)
    assert found["runs"] == 19
    assert [found[m]["hits"] for m in ("step", "within_1", "agent")] == [6, 8, 11]


def test_published_files_are_the_same_runs_as_the_records(traces):
    recorded = list(load(str(traces / "dev" / "who_and_when.jsonl.gz")))
    by_task = {case.trace.task: case for case in recorded if not isinstance(case, Problem)}
    raw = list(load(str(traces / "raw" / "whowhen")))
    compared = 0
    for case in raw:
        assert isinstance(case, Labelled)
        other = by_task.get(case.trace.task)
        if other is not None:
            compared += 1
            assert (case.subset, case.step, case.agent) == (other.subset, other.step, other.agent)
            assert len(case.trace.rows) == len(other.trace.rows)
    assert compared


def test_chance_is_what_the_labels_make_it(dev):
    assert percent(row(dev, "by chance", GENERATED), "agent") == 29.1
    found = row(dev, "by chance", CRAFTED)["step"]["share"]
    assert Fraction(found).limit_denominator(10**6) < Fraction(4, 100)


def test_the_page_shows_the_table_as_it_is_printed(dev):
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    shown = markdown(tables(dev)[:2], "").splitlines()
    rows = [line for line in shown if line.startswith("|")]
    assert len(rows) > 12
    assert [line for line in rows if line not in page] == []


def test_the_page_names_what_there_is():
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    words = (*METHODS, *MODELS, "noisy:0.2", "MASTWATCH_WHO_AND_WHEN")
    assert [word for word in words if word not in page] == []
