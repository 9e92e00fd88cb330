"""One run through the detectors: what is noted, where, and what duplication changes."""

from __future__ import annotations

import pytest

from evaluation.runs import STUBS, Counts, Loop, Word, record
from mastwatch.evaluation import datasets
from mastwatch.evaluation.datasets import Case
from mastwatch.evaluation.examine import examine
from mastwatch.evaluation.streaming import differing, listen, read
from mastwatch.findings import Severity

WARN = Severity.WARN


def seen(run, *detectors):
    return examine(Case("s", run), detectors or STUBS)


def test_findings_keep_their_row_and_severity():
    run = seen(record("r", "begin", "hint here", "overrun here", "LOUD"))
    assert [(s.mode, s.severity, s.row) for s in run.said] == [
        ("FM-1.5", Severity.SUSPECT, 1),
        ("FM-1.5", Severity.WARN, 2),
        ("FM-1.5", Severity.ALERT, 3),
    ]
    assert run.first("FM-1.5", WARN) == 2
    assert run.first("FM-1.5", WARN, start=3) == 3
    assert run.first("FM-1.3", WARN) is None


def test_what_was_said_before_a_row_is_what_the_run_cut_there_says():
    whole = record("r", "begin", "overrun", "again", "LOUD", "overrun")
    said = listen(read(whole).events, STUBS)
    for cut in range(1, 5):
        short = {**whole, "messages": whole["messages"][:cut]}
        assert listen(read(short).events, STUBS) == tuple(s for s in said if s.row < cut)


def test_a_finding_that_comes_with_the_end_is_not_one_of_a_cut_run():
    class AtTheEnd(Word):
        def observe(self, event, signals):
            ended = type(event).__name__ == "RunFinished"
            return self._say(WARN, signals, "end") if ended else None

    run = seen(record("r", "a", "b", "c"), AtTheEnd)
    assert run.flagged("FM-1.5", WARN)
    assert not run.flagged("FM-1.5", WARN, before=2)
    assert run.flagged("FM-1.5", WARN, before=3)


def test_a_log_written_several_times_over_says_the_same():
    run = record("r", "begin", "hint", "overrun", "again", "again", "LOUD")
    said = listen(read(run).events, STUBS)
    assert said
    assert differing(run, said, 2, STUBS) == differing(run, said, 3, STUBS) == ()


def test_a_detector_misled_by_copies_is_named():
    run = record("r", "a", "b", "c", "d", "e", "f")
    said = listen(read(run).events, (Counts,))
    assert differing(run, said, 2, (Counts,)) == ("FM-1.3",)


def test_copies_do_not_make_a_run_end_at_its_cap():
    class AtTheCap(Word):
        def observe(self, event, signals):
            capped = getattr(event, "outcome", "") == "limit"
            return self._say(WARN, signals, "cap") if capped else None

    run = record("r", "a", "b", "c", labels={"turn_cap": 4})
    assert differing(run, (), 2, (AtTheCap,)) == ()


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"injection": {"mode": "FM-1.3"}, "success": True}, "injected"),
        ({"labels": {"fm": {"1.5": 1}}}, "labelled"),
        ({"labels": {"ledger_weak": {"in_loop_at": []}}, "success": False}, "labelled"),
        ({"labels": {"fm": {"1.5": 1}, "scheme": "x; KNOWN DEFECT: y"}}, "unusable"),
        ({"labels": {"usable_per_trace": False}}, "unusable"),
        ({"success": True}, "healthy"),
        ({"success": False}, "failed"),
        ({"labels": "none"}, "unlabelled"),
    ],
)
def test_what_a_run_is_good_for(more, kind):
    assert datasets.kind(record("r", "a", **more)) == kind


def test_restarts_are_read_from_the_rows_of_the_harness():
    """Blocks of rows count once, and only with work after them."""
    begin = {"agent": "harness", "role": "system", "content": "Started"}
    tools = {"agent": "harness", "role": "system", "content": "Tools ready"}
    rows = record("r", begin, tools, "a", tools, "b", begin, begin, tools, "c", begin)["messages"]
    assert datasets.restart_rows(rows) == [5]
    run = seen({**record("r"), "messages": rows})
    assert run.restarts == (5,)
    assert seen(record("r", "a")).restarts is None


def test_a_record_without_a_readable_message_is_left_out():
    assert seen({"id": "r", "messages": [{"role": "nobody"}]}) is None


def test_no_text_of_the_run_is_kept():
    run = seen(record("r", "a secret sentence", task="secret task", labels={"config": "c"}), Loop)
    assert "secret" not in repr(run)


def test_a_sample_keeps_kin_together():
    cases = [
        Case("s", record(f"{n}-{seed}", "a", task=f"t{n}", labels={"config": "c"}))
        for n in range(9)
        for seed in range(2)
    ]
    drawn = datasets.sample(cases, 4, seed=1)
    assert len(drawn) == 4
    assert len({case.record["task"] for case in drawn}) == 2
    assert drawn == datasets.sample(cases, 4, seed=1)
    assert drawn != datasets.sample(cases, 4, seed=2)
    assert datasets.sample(cases, None, seed=1) == cases
