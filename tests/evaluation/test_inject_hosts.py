"""Hosts of our own making are healthy, and each language tells the same."""

from collections import Counter
from itertools import combinations

import pytest

from mastwatch.evaluation.hosts import LANGUAGES, hosts
from mastwatch.evaluation.inject import is_host
from mastwatch.evaluation.inject.edit import jaccard
from mastwatch.evaluation.inject.language import language
from mastwatch.findings import Finding, Severity
from mastwatch.formats import RecordedRun
from mastwatch.replay import replay
from mastwatch_detectors.conversation_reset import ConversationReset
from mastwatch_detectors.step_repetition import StepRepetition
from mastwatch_detectors.termination_unawareness import TerminationUnawareness

SHIPPED = (StepRepetition, TerminationUnawareness, ConversationReset)


@pytest.fixture(scope="module")
def every():
    return list(hosts())


def test_there_are_enough_of_them(every):
    assert Counter(run["language"] for run in every) == {"en": 24, "zh": 24, "mixed": 24, "ja": 12}
    assert {run["framework"] for run in every} == {"AG2", "custom"}
    assert all(10 <= len(run["messages"]) <= 30 for run in every)


def test_all_are_fit_to_be_hosts(every):
    assert [run["id"] for run in every if not is_host(run)] == []


def test_no_value_is_left_open(every):
    texts = [row["content"] for run in every for row in run["messages"] if row["role"] != "tool"]
    assert not any("{" in text or "}" in text for text in texts)


def test_the_letters_tell_the_language(every):
    for run in every:
        said = " ".join(row["content"] for row in run["messages"] if row["role"] != "tool")
        assert language(said) == run["language"], run["id"]


def test_twins_have_the_same_shape(every):
    def shape(run):
        return [(row["agent"], row["role"], bool(row.get("tool_calls"))) for row in run["messages"]]

    english = {run["id"].split(":", 2)[2]: shape(run) for run in every if run["language"] == "en"}
    for run in every:
        assert shape(run) == english[run["id"].split(":", 2)[2]]


def test_messages_of_a_run_do_not_nearly_repeat_each_other(every):
    for run in every:
        texts = [row["content"] for row in run["messages"] if row["role"] != "tool"]
        alike = [pair for pair in combinations(filter(None, texts), 2) if jaccard(*pair) >= 0.5]
        assert alike == [], run["id"]


def test_composition_is_the_same_every_time_and_differs_by_seed(every):
    assert list(hosts()) == every
    assert list(hosts(seed=1)) != every


def test_an_unknown_language_is_told():
    with pytest.raises(ValueError, match=f"known: {', '.join(LANGUAGES)}"):
        next(hosts("eo"))


def test_the_shipped_detectors_are_silent_at_warn(every, read_record):
    for run in every:
        found = [
            verdict
            for verdict in replay(read_record(run).events, SHIPPED)
            if isinstance(verdict, Finding) and verdict.severity >= Severity.WARN
        ]
        assert found == [], run["id"]


@pytest.fixture(scope="module")
def read_record():
    import io
    import json

    from mastwatch.formats import read_runs

    def read(record):
        (run,) = read_runs(io.BytesIO(json.dumps(record).encode()), "record")
        assert isinstance(run, RecordedRun)
        return run

    return read
