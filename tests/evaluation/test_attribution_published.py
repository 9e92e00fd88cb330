"""The full public set of Who&When, where somebody has it: the published figures to the digit.

Opt-in: ``MASTWATCH_WHO_AND_WHEN`` names the folder of the 184 published files, which holds
``Algorithm-Generated`` and ``Hand-Crafted``.
"""

from __future__ import annotations

import os
import re
from collections import Counter

import pytest

from mastwatch.attribution.steps import normal_name
from mastwatch.evaluation.attribution.baselines import SURFER, TERMINAL, by_chance
from mastwatch.evaluation.attribution.cases import CRAFTED, GENERATED, gather
from mastwatch.evaluation.attribution.report import report

VARIABLE = "MASTWATCH_WHO_AND_WHEN"
DIGITS = 'the string "1234567890"'
FIGURES = {
    (GENERATED, "by chance"): {"agent": 29.1, "step": 12.0},
    (GENERATED, "most frequent speaker"): {"agent": 54.0},
    (GENERATED, "constant step 1"): {
        "step": 27.0,
        "agent": 42.9,
        "joint": 26.2,
        "within_1": 51.6,
        "top_3": 61.9,
    },
    (GENERATED, DIGITS): {"substring_step": 100.0, "step": 0.0},
    (CRAFTED, "by chance, names as logged"): {"agent": 19.1},
    (CRAFTED, "WebSurfer, else Orchestrator"): {"agent": 58.6},
    (CRAFTED, "first WebSurfer row"): {
        "step": 17.2,
        "agent": 56.9,
        "joint": 15.5,
        "within_1": 22.4,
        "top_3": 44.8,
    },
    (CRAFTED, "constant step 4"): {"step": 15.5, "within_1": 24.1},
    (CRAFTED, "constant step 8"): {"step": 15.5},
}


@pytest.fixture(scope="module")
def runs():
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"the 184 published files of Who&When: {VARIABLE} is not set")
    found, problems = gather([folder])
    assert problems == []
    return found


@pytest.fixture(scope="module")
def rows(runs):
    result = report(runs, (), {})
    return {(part["subset"], row["who"]): row for part in result["subsets"] for row in part["rows"]}


def part(runs, subset):
    return [case for case in runs if case.subset == subset]


def test_the_set_is_whole(runs):
    assert Counter(case.subset for case in runs) == {GENERATED: 126, CRAFTED: 58}


@pytest.mark.parametrize(("subset", "who"), FIGURES)
def test_every_published_figure(rows, subset, who):
    expected = FIGURES[subset, who]
    found = {metric: round(100 * rows[subset, who][metric]["share"], 1) for metric in expected}
    assert expected == found


def test_hits_behind_the_figures(rows):
    assert rows[GENERATED, "constant step 1"]["step"]["hits"] == 34
    assert rows[CRAFTED, "first WebSurfer row"]["step"]["hits"] == 10


def test_the_published_metric_gives_points_away(rows):
    digits = rows[CRAFTED, DIGITS]
    assert round(100 * digits["substring_step"]["share"], 2) == 62.07
    assert digits["step"]["hits"] == 0
    chance = rows[CRAFTED, "by chance"]
    assert round(100 * chance["step"]["share"], 2) == 4.16
    assert round(100 * chance["substring_step"]["share"], 2) == 8.89


def test_who_speaks_in_the_labelled_step(runs):
    spoken = [next((r.agent for r in c.trace.rows if r.index == c.step), "") for c in runs]
    right = sum(normal_name(c.agent) == who for c, who in zip(runs, spoken, strict=True))
    assert right == 178
    assert sum(c.agent not in c.speakers for c in part(runs, CRAFTED)) == 18


def test_variants_of_the_baselines(runs):
    def as_measured(name):  # the termination condition of the orchestrator stays a name of its own
        return re.sub(r"\s+\((?:thought|->[^()]*)\)$", "", name)

    crafted, generated = part(runs, CRAFTED), part(runs, GENERATED)
    assert round(100 * by_chance(crafted, as_measured)["agent"]["share"], 1) == 25.8
    assert round(100 * sum(c.agent == SURFER for c in crafted) / 58, 1) == 56.9
    most = [Counter(c.speakers).most_common(1)[0][0] == c.agent for c in generated]
    assert round(100 * sum(most) / 126, 1) == 42.9
    assert round(100 * sum(map(_tied, generated)) / 126, 1) == 52.4


def _tied(case):
    """The odds of the labelled agent among those who speak most often."""
    counts = Counter(name for name in case.speakers if name != TERMINAL)
    most = [name for name, count in counts.items() if count == max(counts.values())]
    return (case.agent in most) / len(most)
