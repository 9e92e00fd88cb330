"""The sections of the report, on runs small enough to work the figures out by hand."""

from __future__ import annotations

import json

import pytest

from evaluation.runs import STUBS, Counts, record
from mastwatch.evaluation import report, tables, targets, views
from mastwatch.evaluation.datasets import Case
from mastwatch.evaluation.examine import examine
from mastwatch.evaluation.sources import Options


def score(*records, set="mine", detectors=STUBS):
    runs = [examine(Case(set, r), detectors) for r in records]
    return report.score(runs, Options(), detectors)


def row(rows, **wanted):
    found = [r for r in rows if all(r.get(key) == value for key, value in wanted.items())]
    assert len(found) == 1, found
    return found[0]


def turn_cap(task, positive, *texts, cap=8, **more):
    labels = {"fm": {"1.5": int(positive)}, "turn_cap": cap, "config": "c"}
    id = f"{task}-{'yes' if positive else 'no'}"
    return record(id, *texts, task=task, labels=labels, **more)


def pairs(n=12):
    """Positives that overrun at row 5, every second one at row 3; negatives of three rows."""
    for at in range(n):
        texts = ["go", "work", "done", "overrun" if at % 2 else "x", "y", "overrun", "z", "z"]
        yield turn_cap(f"t{at}", True, *texts)
        yield turn_cap(f"t{at}", False, "go", "work", "hint" if at == 0 else "done")


@pytest.fixture(scope="module")
def found():
    return score(*pairs())


class TestTurnCap:
    """Whole run, first half, matched prefix, overrun and share saved."""

    @pytest.mark.parametrize(
        ("view", "rule", "cells"),
        [
            ("whole run", "warn", (12, 0, 0, 12)),
            ("whole run", "suspect", (12, 1, 0, 11)),
            ("whole run", "alert", (0, 0, 12, 12)),
            ("first half of the turns", "warn", (6, 0, 6, 12)),
            ("matched prefix", "warn", (0, 0, 12, 12)),
            ("matched prefix", "suspect", (0, 1, 12, 11)),
            ("whole run", "always positive", (12, 12, 0, 0)),
            ("whole run", "message count >= 8 (best in sample)", (12, 0, 0, 12)),
            ("matched prefix", "message count >= 3 (best in sample)", (12, 12, 0, 0)),
        ],
    )
    def test_agreement(self, found, view, rule, cells):
        agreed = row(found["agreement"], group="all", view=view, rule=rule)
        assert tuple(agreed[key] for key in ("tp", "fp", "fn", "tn")) == cells

    def test_rates_have_an_interval(self, found):
        half = row(found["agreement"], group="all", view="first half of the turns", rule="warn")
        assert (half["precision"], half["recall"], half["kappa"]) == (1.0, 0.5, 0.5)
        assert half["kappa_low"] < 0.5 < half["kappa_high"]

    def test_overrun_is_counted_from_the_end_of_the_matched_negative(self, found):
        """The negatives end with row 2, so rows 3 and 5 are one and three messages later."""
        warn = row(found["overrun"], group="all", severity="warn")
        assert (warn["pairs"], warn["found"], warn["early"]) == (12, 12, 0)
        assert (warn["q1"], warn["median"], warn["q3"]) == (1, 2, 3)
        alert = row(found["overrun"], group="all", severity="alert")
        assert (alert["found"], alert["median"], alert["median_of_found"]) == (0, None, None)

    def test_share_saved(self, found):
        saved = row(found["saved"], group="all", mode="FM-1.5", severity="warn")
        assert saved["flagged"] == 12
        assert saved["median"] == pytest.approx((4 / 8 + 2 / 8) / 2)

    def test_targets_stand_beside_their_figure(self, found):
        judged = {t["what"]: t for t in found["targets"]}
        half = judged["turn-cap set, first half, all: kappa at warn"]
        assert (half["wanted"], half["reached"], half["met"]) == (0.60, 0.5, False)
        assert judged["turn-cap set, matched prefix: negatives flagged at warn"]["met"]


def test_few_runs_get_counts_only():
    found = score(*list(pairs(3)))
    agreed = row(found["agreement"], group="all", view="whole run", rule="warn")
    assert (agreed["tp"], agreed["tn"]) == (3, 3)
    assert "kappa" not in agreed


def test_labels_marked_unusable_are_never_scored():
    bad = {"fm": {"1.5": 1}, "usable_per_trace": False}
    found = score(record("r", "a", labels=bad))
    assert found["agreement"] == found["false_alarms"] == []
    assert found["sets"][0]["kinds"] == ["unusable"]
    assert "never scored" in found["sets"][0]["worth"]


def test_a_set_of_ones_own_says_what_its_runs_are_good_for():
    healthy, bare = record("a", "x", success=True), record("b", "y")
    assert score(bare)["sets"][0]["worth"] == "no labels, no success: nothing to score"
    assert score(healthy, bare)["sets"][0]["worth"] == "1 healthy, 1 unlabelled"


def planted(id, *texts, onset=2, earliest=3, mode="FM-1.5", target=True, control=False, **more):
    injection = {"mode": mode, "injector": "i", "params": {"k": 2}, "seed": 0}
    injection |= {"onset": onset, "earliest": earliest, "target": target}
    extra = {"control": True} if control else {}
    return record(id, *texts, success=True, injection=injection, **extra, **more)


def test_planted_faults_count_from_the_onset_on():
    found = score(
        planted("on time", "a", "b", "c", "overrun", "d"),
        planted("late", "a", "b", "c", "d", "e", "overrun"),
        planted("missed", "a", "b", "hint", "d"),
        planted("before the onset", "a", "overrun", "c", "d"),
        planted("other mode", "a", "b", "c", "again"),
    )
    row_ = row(found["injected"], by="mode", mode="FM-1.5", target=True)
    assert (row_["runs"], row_["suspect"], row_["warn"], row_["alert"]) == (5, 0.6, 0.4, 0)
    assert (row_["delay"], row_["excess"]) == (2, 1)
    assert [row_[f"excess_{n}"] for n in (0, 1, 2, 5)] == [0.2, 0.2, 0.4, 0.4]
    assert row_["false_before_onset"] == 1
    assert row(found["injected"], by="variant")["variant"] == "k=2"


def test_reported_variants_stay_out_of_the_target():
    found = score(
        planted("a", "a", "b", "c", "overrun"), planted("b", "a", "b", "c", "d", target=False)
    )
    assert row(found["injected"], by="mode", target=True)["warn"] == 1.0
    assert row(found["injected"], by="mode", target=False)["warn"] == 0.0


def test_twin_controls_are_false_alarms_where_flagged():
    found = score(
        planted("a", "a", "b", "overrun", control=True), planted("b", "a", "b", "c", control=True)
    )
    assert found["injected"] == []
    control = row(found["controls"], by="injector")
    assert (control["runs"], control["warn"], control["per_100"]) == (2, 1, 50.0)


def test_recall_lost_in_another_language():
    found = score(
        planted("en", "a", "b", "c", "overrun"),
        planted("zh", "a", "b", "c", "overrun", language="zh"),
        planted("zh2", "a", "b", "c", "d", language="zh"),
    )
    lost = row(targets.judged(found), wanted=0.05)
    assert (lost["reached"], lost["met"]) == (0.5, False)


def test_false_alarms_leave_turn_cap_positives_out_and_say_both():
    runs = [record(f"ok{n}", "a", "b", framework="AG2", success=True) for n in range(3)]
    runs.append(record("bad", "a", "overrun", "again", framework="AG2", success=True))
    runs.append(record("t-yes", "a", "overrun", framework="AG2", success=True))
    runs.append(record("no", "a", "overrun", framework="AG2", success=False))
    found = score(*runs, turn_cap("t", True, "a", "overrun", cap=2, framework="AG2"))
    clean = row(found["false_alarms"], hosts="AG2", mode="FM-1.5", rule="warn")
    assert (clean["runs"], clean["flagged"], clean["per_100"]) == (4, 1, 25.0)
    assert clean["per_1000_messages"] == pytest.approx(1000 / 9)
    every = "AG2, every success (turn-cap positives included)"
    assert row(found["false_alarms"], hosts=every, mode="FM-1.5", rule="warn")["flagged"] == 2
    failed = row(
        found["false_alarms"], hosts="AG2, failed (no negatives)", mode="FM-1.5", rule="warn"
    )
    assert (failed["runs"], failed["healthy"]) == (1, False)


def test_restarts_are_found_between_one_and_the_next():
    begin = {"agent": "harness", "role": "system", "content": "Started"}
    texts = [begin, "a", begin, "anew", begin, "b", begin, "c", "anew"]
    found = score(record("log", *texts), record("calm", begin, "a", "anew"))
    first, second = found["restarts"]
    assert (first["restarts"], first["found_warn"], first["false_warn"]) == (3, 2, 0)
    assert (second["restarts"], second["false_warn"]) == (0, 1)


def test_runs_that_differ_when_duplicated_are_counted_by_mode():
    found = score(record("r", *"abcdef"), record("short", "a"), detectors=(Counts,))
    doubled = row(found["duplicated"])
    assert (doubled["runs"], doubled["differ"], doubled["FM-1.3"]) == (2, 1, 1)
    assert doubled["times_2"] == 1


def test_the_tables_hold_the_figures_and_json_holds_the_report():
    found = score(*pairs(), planted("p", "a", "b", "c", "overrun"), record("h", "a", success=True))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    brief = "\n".join(tables.text(views.tables(found, full=False)))
    assert "FM-1.5, mine, all, first half of the turns" in brief
    assert "NOT MET" in brief
    full = tables.markdown(views.tables(found, full=True), "Detectors")
    assert full.startswith("# Detectors\n")
    assert "## Planted faults, by variant" in full
    assert "| warn | 6 | 0 | 6 | 12 | 1.00 | 0.50 |" in full
