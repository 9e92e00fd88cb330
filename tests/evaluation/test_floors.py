"""The naive detectors, one by one, and against the published floors on the recorded runs."""

from __future__ import annotations

import gzip
import json

import pytest

from mastwatch.evaluation import datasets, scoring
from mastwatch.evaluation.floors import floors, spoken

LONG = "First we add the two numbers in the list and then divide the sum by seven of them."


def row(index, content, agent="A", role="assistant", **more):
    return {"index": index, "agent": agent, "role": role, "content": content, **more}


def fired(*rows):
    return floors(rows)


def test_exact_repeat_is_by_agent_and_not_of_short_texts():
    assert "exact repeat" not in fired(row(0, LONG, "A"), row(1, LONG, "B"))
    assert "exact repeat" not in fired(row(0, "Yes, do."), row(1, "Yes, do."))
    assert fired(row(0, LONG), row(1, "x"), row(2, LONG))["exact repeat"] == 2


def test_near_repeat_ignores_digits_and_sees_scripts_without_spaces():
    assert fired(row(0, f"{LONG} 12"), row(1, f"{LONG} 95"))["near repeat"] == 1
    chinese = "请先把清单里的两个数字加起来然后再除以七得到结果"
    assert fired(row(0, chinese), row(1, chinese + "。"))["near repeat"] == 1
    assert "near repeat" not in fired(row(0, LONG), row(1, LONG[::-1]))


def test_same_calls_count_by_arguments_whatever_their_order():
    def call(index, **arguments):
        return row(index, "", tool_calls=[{"name": "get", "arguments": arguments}])

    found = fired(call(0, a=1, b=2), call(1, a=1, b=3), call(2, b=2, a=1), call(3, a=1, b=2))
    assert (found["same call x2"], found["same call x3"]) == (2, 3)


def test_messages_after_the_first_marker():
    rows = [row(0, "so \\boxed{4}"), *(row(n, f"good {n}") for n in range(1, 5))]
    found = fired(*rows)
    assert (found["after marker 1"], found["after marker 3"]) == (1, 3)
    assert "after marker 5" not in found
    assert "after marker 1" not in fired(row(0, "say \\boxed{}", role="user"), row(1, "x"))


def test_nudge_is_the_same_user_text_three_times():
    nag = row(0, "Continue until you are done.", role="user")
    assert fired(nag, {**nag, "index": 2}, {**nag, "index": 4})["nudge x3"] == 4


def test_opening_said_again_is_the_first_agents_own():
    other = "What is the sum of all these numbers, and by how much is it to be divided now?"
    rows = [row(0, LONG, "A"), row(1, other, "B"), row(2, other, "B")]
    assert "opening said again" not in fired(*rows)
    assert fired(*rows, row(3, f"{LONG} Or is it?", "A"))["opening said again"] == 3


def test_thoughts_are_no_messages():
    assert spoken([row(0, LONG), row(1, LONG, kind="thought")]) == [row(0, LONG)]


@pytest.fixture(scope="module")
def load(traces):
    def read(name):
        with gzip.open(traces / "dev" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    return read


def _hits(runs, rule, half=False):
    found = []
    for run in runs:
        at = floors(spoken(run["messages"])).get(rule)
        cut = run["labels"]["turn_cap"] // 2 if half else None
        found.append(at is not None and (cut is None or at < cut))
    return sum(found)


@pytest.mark.parametrize(
    ("rule", "half", "positives", "negatives"),
    [
        ("after marker 1", False, 30, 7),
        ("after marker 3", False, 28, 2),
        ("near repeat", False, 14, 0),
        ("nudge x3", False, 19, 0),
        ("after marker 3, nudge x3 or near repeat", True, 35, 2),
    ],
)
def test_the_published_floors_of_the_turn_cap_set(load, rule, half, positives, negatives):
    runs = load("ag2_turncap_silver")
    yes = [run for run in runs if run["labels"]["fm"]["1.5"]]
    no = [run for run in runs if not run["labels"]["fm"]["1.5"]]
    assert (_hits(yes, rule, half), _hits(no, rule, half)) == (positives, negatives)


def test_the_published_floor_of_the_restart_label(load):
    runs = [run for run in load("mast_gt_human") if run["framework"] == "HyperAgent"]
    found = [run for run in runs if "opening said again" in floors(run["messages"])]
    assert [run["labels"]["fm"]["2.1"] for run in found] == [1] * 5


def test_the_published_floors_of_the_ledger_label(load):
    runs = [run for run in load("who_and_when") if "ledger_weak" in run["labels"]]
    label = {run["id"]: datasets.modes(run)["FM-1.3"] for run in runs}
    near = [run for run in runs if "near repeat" in floors(spoken(run["messages"]))]
    assert sorted(label[run["id"]] for run in near) == [True] * 15
    counts = [(len(spoken(run["messages"])), label[run["id"]]) for run in runs]
    assert scoring.best_threshold(counts) == 13
    agreed = scoring.Confusion.of((count >= 13, positive) for count, positive in counts)
    assert (agreed.tp, agreed.fp) == (18, 1)
