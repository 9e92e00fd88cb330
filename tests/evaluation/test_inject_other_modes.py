"""Faults of meaning: where they say, in the host's language, and nothing else touched."""

from __future__ import annotations

import json
import random
import re
from importlib import resources
from pathlib import Path

import pytest

from mastwatch import taxonomy
from mastwatch.evaluation.hosts import LANGUAGES, hosts
from mastwatch.evaluation.inject import INJECTORS, SEMANTIC, generate, inject
from mastwatch.evaluation.inject.language import language
from mastwatch.evaluation.inject.records import Host
from mastwatch.evaluation.inject.semantic import colleague, lines

EN = {run["id"]: run for run in hosts("en")}
SERVICE = EN["own:en:refund:0"]
TEAM = EN["own:en:offsite:0"]


def said(record):
    return [(row["agent"], row["content"]) for row in record["messages"]]


def planted(name, host=TEAM, seed=0):
    record = inject(host, SEMANTIC[name], seed=seed)
    told = record["injection"]
    return record, record["messages"][told["onset"]], told


def test_every_mode_has_an_injector():
    covered = {i.mode for i in (*INJECTORS.values(), *SEMANTIC.values())}
    assert covered == {mode.code for mode in taxonomy.MODES}


def test_they_take_no_part_in_the_evaluation_of_detectors_unless_named():
    assert not set(SEMANTIC) & set(INJECTORS)
    assert {run["injection"]["injector"] for run in generate([TEAM])} <= set(INJECTORS)


@pytest.mark.parametrize("name", SEMANTIC)
def test_the_fault_is_told_placed_and_the_same_every_time(name):
    one, row, told = planted(name)
    again, _, _ = planted(name)
    assert one == again
    assert said(inject(TEAM, SEMANTIC[name], seed=1)) != said(TEAM)
    assert told["mode"] == SEMANTIC[name].mode
    assert told["onset"] <= told["earliest"] < len(one["messages"])
    assert one["labels"]["planted"]
    assert row["role"] == "assistant"
    assert not told["target"]
    assert SEMANTIC[name].description.endswith(".")
    assert one["messages"] == sorted(one["messages"], key=lambda r: r["index"])


@pytest.mark.parametrize("name", SEMANTIC)
def test_the_host_is_not_changed_and_stays_recognisable(name):
    before = said(TEAM)
    record, _, _ = planted(name)
    assert said(TEAM) == before
    kept = [row for row in said(record)[1:] if row in before]
    # The opening may have got a sentence more; a cut run has lost its second half.
    least = len(before) // 3 if name == "cut_short" else len(before) - 1
    assert len(kept) >= least
    assert record["messages"][0]["content"].startswith(before[0][1])


@pytest.mark.parametrize("tongue", LANGUAGES)
@pytest.mark.parametrize("name", SEMANTIC)
def test_the_words_are_in_the_hosts_language_and_filled_in(name, tongue):
    fit = [run for run in hosts(tongue) if inject(run, SEMANTIC[name])]
    assert fit
    for host in fit[:4]:
        record = inject(host, SEMANTIC[name])
        new = [text for _, text in said(record) if text and text not in dict(said(host)).values()]
        added = " ".join(t for t in new if t not in [c for _, c in said(host)])
        # A row in a host may hold braces of its own (JSON, code): only ours must be filled in.
        for left in ("{code}", "{tool}", "{agent}", "{number}", "{wrong}", "{right}", "{a}"):
            assert left not in added
        if tongue in ("zh", "ja") and name not in ("missing_mark", "forbidden_tool"):
            assert language(added) in (tongue, "mixed", "zh")


def test_no_two_wordings_of_a_fault_are_alike_in_a_language():
    file = resources.files("mastwatch.evaluation.inject") / "phrases" / "semantic.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    assert set(told) == set(LANGUAGES)
    for key, versions in told["en"].items():
        for tongue in LANGUAGES:
            mine = told[tongue][key]
            assert [len(v) for v in mine] == [len(v) for v in versions], (key, tongue)
            assert len({tuple(v) for v in mine}) == len(mine)


def test_what_happens_between_agents_needs_two_that_are_no_persons():
    for name in ("kept_back", "correction_ignored"):
        assert inject(SERVICE, SEMANTIC[name]) is None
        _, row, _ = planted(name)
        assert row["agent"] in Host(TEAM).agents
    assert colleague(Host(SERVICE)) == ""


def test_a_forbidden_tool_is_called_and_named_in_the_opening():
    record, row, _ = planted("forbidden_tool", SERVICE)
    tool = row["tool_calls"][0]["name"]
    assert tool in record["messages"][0]["content"]
    assert row == next(r for r in record["messages"] if r.get("tool_calls") and tool in
                       [c["name"] for c in r["tool_calls"]])  # fmt: skip


def test_a_mark_that_is_asked_for_never_comes():
    record, row, told = planted("missing_mark")
    assert row is record["messages"][told["onset"]]
    (mark,) = re.findall(r"[KQXZ][BHVW]-\d{4}", record["messages"][0]["content"])
    assert mark in record["labels"]["planted"]
    assert not any(mark in (text or "") for _, text in said(record)[1:])


def test_a_cut_run_ends_in_its_middle_with_the_fault():
    record, row, told = planted("cut_short")
    assert told["onset"] == len(record["messages"]) - 1
    assert len(record["messages"]) < len(TEAM["messages"])
    assert row["agent"] == Host(TEAM).lead


def test_a_wrong_sum_is_wrong():
    for seed in range(20):
        record, row, _ = planted("wrong_sum", seed=seed)
        right, wrong = (int(word) for word in record["labels"]["planted"].replace(",", "").split()
                        if word.isdigit())  # fmt: skip
        assert right != wrong
        assert str(wrong) in row["content"]


def test_a_fact_is_noted_before_it_is_forgotten():
    for seed in range(10):
        record, row, told = planted("reference_forgotten", seed=seed)
        before = record["messages"][: told["onset"]]
        new = [r for r in before if r["content"] not in [c for _, c in said(TEAM)]]
        assert [r["agent"] for r in new] == [TEAM["messages"][0]["agent"], row["agent"]]


def test_an_unknown_language_is_told_in_english():
    host = Host({"id": "x", "language": "fi", "messages": SERVICE["messages"]})
    assert lines(host, "cut_short", random.Random(1))[0].isascii()


def test_the_page_describes_all_of_them():
    page = (Path(__file__).parents[2] / "docs" / "fault-injection.md").read_text(encoding="utf-8")
    assert [name for name in SEMANTIC if f"`{name}`" not in page] == []
