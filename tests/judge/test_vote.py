"""From opinions to one verdict per mode."""

from __future__ import annotations

from typing import Any

import pytest

from judge.runs import finding, trace
from mastwatch.findings import Severity
from mastwatch.judge import vote
from mastwatch.judge.evidence import Rows
from mastwatch.judge.modes import mast
from mastwatch.judge.replies import Quote
from mastwatch.judge.schema import Opinion
from mastwatch.store import Evidence, Verdict

MODE = mast().mode("task_derailment")
RUN = trace("the first words of the run", "the second words of the run")


def verdict(word: str, confidence: float | None = 0.9, rows: tuple[int, ...] = (), **more: Any):
    evidence = tuple(Evidence(message_index=n, quote=f"words of row {n}") for n in rows)
    return Verdict(
        slug=MODE.slug, mode=MODE.code, verdict=word, confidence=confidence, evidence=evidence,
        **more,
    )  # fmt: skip


def checked(opinion: Opinion) -> tuple[Verdict, vote.Counts]:
    counts = vote.Counts()
    return vote.checked(MODE, opinion, Rows(RUN), RUN, counts), counts


def test_present_with_a_quote_that_stands_there_is_present() -> None:
    found, counts = checked(Opinion(word="present", quotes=(Quote(0, "first words of the"),)))
    assert (found.verdict, found.reason) == ("present", "")
    assert counts.as_dict() == {"verified": 1, "repaired": 0, "rejected": 0}


def test_present_with_invented_quotes_is_unsure() -> None:
    found, counts = checked(Opinion(word="present", quotes=(Quote(0, "never said in this run"),)))
    assert (found.verdict, found.reason, found.evidence) == ("unsure", "no_evidence", ())
    assert counts.rejected == 1


def test_a_reply_that_says_both_is_unsure_and_says_so() -> None:
    found, _ = checked(Opinion(word="unsure", conflict=True))
    assert (found.verdict, found.reason) == ("unsure", "conflict")


def test_what_one_window_shows_the_run_shows() -> None:
    parts = [verdict("absent"), verdict("present", 0.6, (1,)), verdict("present", 0.8, (4,))]
    found = vote.merged(MODE, parts, "timeout")
    assert (found.verdict, found.confidence) == ("present", 0.8)
    assert [item.message_index for item in found.evidence] == [1, 4]


def test_absent_takes_all_windows() -> None:
    assert vote.merged(MODE, [verdict("absent")], "").verdict == "absent"
    found = vote.merged(MODE, [verdict("absent")], "timeout")
    assert (found.verdict, found.reason) == ("not_evaluated", "timeout")
    assert vote.merged(MODE, [], "").reason == "missing"


def test_of_windows_that_show_nothing_the_least_sure_one_speaks() -> None:
    assert vote.merged(MODE, [verdict("absent", 0.9), verdict("absent", 0.3)], "").confidence == 0.3
    assert (
        vote.merged(MODE, [verdict("absent", 0.1), verdict("unsure", 0.9)], "").verdict == "unsure"
    )


@pytest.mark.parametrize(
    ("words", "expected", "votes"),
    [
        (("present", "present", "absent"), "present", "2/3"),
        (("absent", "present", "present"), "present", "2/3"),
        (("absent", "absent", "absent"), "absent", "3/3"),
        (("present", "absent", "unsure"), "unsure", "1/3"),
        (("present", "absent"), "unsure", "1/2"),
        (("unsure", "not_evaluated", "not_evaluated"), "unsure", ""),
        (("present", "not_evaluated", "present"), "present", "2/2"),
    ],
)
def test_more_than_half_decide(words: tuple[str, ...], expected: str, votes: str) -> None:
    rows = {"present": (1,)}
    found = vote.majority([verdict(word, rows=rows.get(word, ())) for word in words])
    assert (found.verdict, found.votes) == (expected, votes)
    assert (found.reason == "split_vote") == (expected == "unsure" and votes != "")


def test_where_nothing_was_evaluated_nothing_is_decided() -> None:
    lost = vote.not_evaluated(MODE, "budget")
    assert vote.majority([lost, lost]).reason == "budget"


@pytest.mark.parametrize(
    ("found", "warned", "doubt"),
    [
        (verdict("unsure"), None, True),
        (verdict("present", 0.5), None, True),
        (verdict("present", None), None, True),
        (verdict("absent", 0.9), None, False),
        (verdict("absent", 0.9), Severity.WARN, True),
        (verdict("absent", 0.9), Severity.SUSPECT, False),
        (verdict("present", 0.9), Severity.ALERT, False),
        (vote.not_evaluated(MODE, "budget"), Severity.ALERT, False),
    ],
)
def test_what_is_asked_again(found: Verdict, warned: Severity | None, doubt: bool) -> None:
    detected = {} if warned is None else {MODE.slug: warned}
    assert vote.in_doubt(found, 0.6, detected) is doubt


def test_the_worst_finding_of_a_detector_counts() -> None:
    run = trace(
        "a",
        findings=(
            finding("step_repetition", Severity.ALERT),
            finding("step_repetition", Severity.SUSPECT),
        ),
    )
    assert vote.detected(run) == {"step_repetition": Severity.ALERT}
