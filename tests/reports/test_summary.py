"""Many runs: counts that leave out what was not evaluated, odds, trend, cost."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mastwatch.reports import case, summarise, summary_dict, summary_document, summary_page
from mastwatch.reports.intervals import odds_ratio, wilson
from mastwatch.store import Usage
from reports.sample import sample_cases, sample_report, sample_trace

MODE = "step_repetition"
OTHER = "task_derailment"


def run(word="absent", *, failed=None, other="absent", at=1_900_000_000.0, usd=None, **more):
    one = case(sample_trace(), sample_report())
    return replace(
        one,
        run_id=str(more.pop("run_id", at)),
        verdicts={MODE: word, OTHER: other},
        modes={MODE: "FM-1.3", OTHER: "FM-2.3"},
        reasons={MODE: "timeout"} if word == "not_evaluated" else {},
        failed=failed,
        failed_by="host" if failed is not None else "",
        at=at,
        usage=Usage(usd=usd),
        **more,
    )


def test_what_was_not_evaluated_is_in_no_count() -> None:
    words = ["present", "absent", "unsure", "not_evaluated", "not_evaluated"]
    tally = summarise([run(word) for word in words]).tallies[MODE]
    assert (tally.present, tally.unsure, tally.absent, tally.not_evaluated) == (1, 1, 1, 2)
    assert tally.evaluated == 3
    assert tally.share == wilson(1, 3)
    assert summarise([run("not_evaluated")]).tallies[MODE].share is None


def test_reasons_are_counted() -> None:
    assert summarise([run("not_evaluated"), run("not_evaluated")]).reasons == {"timeout": 2}


def test_odds_are_given_where_there_are_enough_runs() -> None:
    runs = [run("present", failed=True)] * 9 + [run("present", failed=False)] * 1
    runs += [run("absent", failed=True)] * 10 + [run("absent", failed=False)] * 10
    runs += [run("unsure", failed=True), run("not_evaluated", failed=True), run("present")]
    table = summarise(runs).fatality[MODE]
    assert (table.with_failed, table.with_ok) == (9, 1)
    assert (table.without_failed, table.without_ok) == (10, 10)
    assert table.odds == odds_ratio(9, 1, 10, 10)


@pytest.mark.parametrize("cells", [(4, 0, 10, 10), (10, 10, 2, 2), (2, 10, 2, 10), (10, 2, 10, 2)])
def test_too_few_runs_give_no_odds(cells) -> None:
    a, b, c, d = cells
    runs = [run("present", failed=True)] * a + [run("present", failed=False)] * b
    runs += [run("absent", failed=True)] * c + [run("absent", failed=False)] * d
    summary = summarise(runs)
    assert summary.fatality[MODE].odds is None
    assert "too few" in summary_page(summary)


def test_an_empty_cell_gives_a_wide_interval() -> None:
    odds = odds_ratio(10, 0, 5, 5)
    assert odds.low < odds.value < odds.high < 10_000


def test_modes_together_count_runs_in_which_both_were_evaluated() -> None:
    runs = [
        run("present", other="present"),
        run("present", other="absent"),
        run("present", other="not_evaluated"),
    ]
    assert summarise(runs).together == {(MODE, OTHER): (1, 2)}


def test_an_agent_is_blamed_where_the_evidence_is_its_own() -> None:
    one = run("present", agents=("A", "B"), blamed={MODE: ("A",)})
    two = run("absent", agents=("A", "B"), blamed={})
    agents = summarise([one, two]).groups["agent"]
    assert (agents["A"][MODE].present, agents["A"][MODE].evaluated) == (1, 2)
    assert (agents["B"][MODE].present, agents["B"][MODE].evaluated) == (0, 2)


def test_groups_are_in_order_of_their_size() -> None:
    runs = [run(framework="a"), run(framework="b"), run(framework="b")]
    assert list(summarise(runs).groups["framework"]) == ["b", "a"]


def test_the_trend_has_no_gaps_and_long_spans_go_by_week() -> None:
    day = 86_400.0
    days = summarise([run("present", at=day * 100), run(at=day * 103)]).trend
    assert [period.runs for period in days] == [1, 0, 0, 1]
    assert [period.flagged for period in days] == [1, 0, 0, 0]
    assert days[0].start == "1970-04-11"
    weeks = summarise([run(at=day * 100), run(at=day * 200)]).trend
    assert len(weeks) == 16
    assert sum(period.runs for period in weeks) == 2


def test_cost_tells_how_many_prices_are_unknown() -> None:
    summary = summarise([run(usd=0.01), run(usd=0.05), run(usd=None)])
    assert (summary.usd, summary.usd_runs) == (pytest.approx(0.06), 2)
    assert (summary.usd_median, summary.usd_max) == (pytest.approx(0.03), 0.05)
    assert "no price known for 1 run" in summary_page(summary)
    assert summarise([run()]).usd is None


@pytest.mark.parametrize(
    ("trace", "done", "failed", "said_by"),
    [
        ({"success": True, "error": "Boom"}, "no", False, "host"),
        ({"success": None, "error": "Boom"}, "yes", True, "error"),
        ({"success": None, "outcome": "completed"}, "no", True, "judge"),
        ({"success": None, "outcome": "completed"}, "unclear", None, ""),
    ],
)
def test_who_says_whether_a_run_failed(trace, done, failed, said_by) -> None:
    one = case(replace(sample_trace(), **trace), replace(sample_report(), task_completed=done))
    assert (one.failed, one.failed_by) == (failed, said_by)


def test_a_case_knows_who_is_blamed_and_holds_no_text() -> None:
    one = case(sample_trace(), sample_report(), "runs/a.html")
    assert one.blamed["termination_unawareness"] == ("Writer", "Coordinator")
    assert one.reasons == {"task_derailment": "schema"}
    assert "Marbach" not in repr(one)


def test_the_json_is_versioned_and_whole() -> None:
    summary = summarise(sample_cases(30))
    told = json.loads(summary_document(summary))
    assert told["schema"] == 1
    assert len(told["runs"]) == 30
    assert told["tallies"][MODE]["share"]["low"] >= 0
    assert summary_dict(summarise([]))["runs"] == []


def test_the_page_links_to_the_runs() -> None:
    assert 'href="runs/energy-0007.html"' in summary_page(summarise(sample_cases(30)))


def test_a_run_counts_for_every_model_its_agents_used() -> None:
    runs = [run("present", models=("small", "large")), run("absent", models=("small",))]
    models = summarise(runs).groups["model"]
    assert (models["small"][MODE].present, models["small"][MODE].evaluated) == (1, 2)
    assert (models["large"][MODE].present, models["large"][MODE].evaluated) == (1, 1)
    assert case(replace(sample_trace(), models=("small",)), sample_report()).models == ("small",)
