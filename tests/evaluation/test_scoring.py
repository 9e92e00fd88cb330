"""The arithmetic, against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from mastwatch.evaluation.scoring import (
    Confusion,
    best_threshold,
    kappa_interval,
    quantile,
    wilson,
)


def test_agreement_of_a_table_worked_out_by_hand():
    """20 runs: agreement 14/20 = .7, by chance .5, so kappa (.7 - .5) / .5 = .4."""
    counts = Confusion(tp=7, fp=3, fn=3, tn=7)
    assert counts.precision == counts.recall == counts.f1 == pytest.approx(0.7)
    assert counts.kappa == pytest.approx(0.4)


def test_rates_without_a_denominator_are_none():
    nothing_flagged = Confusion(fn=2, tn=3)
    assert (nothing_flagged.precision, nothing_flagged.recall) == (None, 0.0)
    assert nothing_flagged.kappa == 0.0
    assert Confusion().kappa is None
    assert Confusion(tn=5).kappa is None  # all in one cell: nothing to agree on


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 71, 0.0, 0.0513), (0, 689, 0.0, 0.0055), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0)],
)
def test_wilson(hits, n, low, high):
    found = wilson(hits, n)
    assert found == pytest.approx((low, high), abs=5e-5)


def test_wilson_without_runs_says_nothing():
    assert wilson(0, 0) is None


def test_the_bootstrap_moves_kin_together():
    """Ten copies of two runs in two groups are no more certain than the two groups are."""
    alone = [(n, n % 3 > 0, n % 2 > 0) for n in range(30)]
    kin = [(n % 3, flagged, positive) for n, flagged, positive in alone]
    low, high = kappa_interval(alone, "s")
    low_kin, high_kin = kappa_interval(kin, "s")
    assert (low, high) != (low_kin, high_kin)
    assert kappa_interval(alone, "s") == (low, high)
    assert kappa_interval(alone, "other") != (low, high)


def test_the_bootstrap_of_nothing_is_none():
    assert kappa_interval([], "s") is None
    assert kappa_interval([("a", True, True)], "s") is None


def test_a_median_over_runs_never_found_is_never():
    assert quantile([1, 2, math.inf, math.inf, math.inf], 0.5) == math.inf
    assert quantile([1, 2, 4, math.inf], 0.25) == 1.75


def test_the_best_threshold_is_the_smallest_of_equals():
    assert best_threshold([(2, False), (4, True), (9, True)]) == 4
    assert best_threshold([(2, True), (4, True)]) == 2
