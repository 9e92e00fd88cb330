"""What is written is read back as it was."""

from __future__ import annotations

import json

import pytest

from mastwatch.formats import RecordedRun, read_runs
from mastwatch.store import Trace, TraceRow, codec
from mastwatch.store.build import build


def test_a_trace_comes_back_whole(full) -> None:
    text = codec.trace_to_json(full)
    assert codec.trace_from_json(text) == full
    assert "\n" not in text
    assert text.isascii()


def test_defaults_are_not_written() -> None:
    text = codec.trace_to_json(Trace(run_id="r", rows=(TraceRow(index=0, agent="A"),)))
    assert json.loads(text) == {"schema": 1, "run_id": "r", "rows": [{"index": 0, "agent": "A"}]}


def test_a_report_comes_back_whole_and_has_the_form_users_read(report) -> None:
    text = codec.result_to_json(report)
    assert codec.report_from_json(text) == report
    shown = json.loads(text)
    assert (shown["schema"], shown["run"]) == (1, "r1")
    verdict = shown["verdicts"]["step_repetition"]
    assert "slug" not in verdict
    assert verdict["evidence"][0]["message_index"] == 0


def test_what_a_newer_release_wrote_is_refused_with_both_numbers() -> None:
    with pytest.raises(codec.UnknownSchema, match="schema 9 is newer than 1"):
        codec.trace_from_json('{"schema": 9}')


@pytest.mark.parametrize(
    "text", ["[]", "{}", "no", '{"schema": 1}', '{"schema": 1, "run_id": "r", "rows": [3]}']
)
def test_what_is_no_trace_is_a_value_error(text) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - several kinds, all with a sentence
        codec.trace_from_json(text)
    with pytest.raises(ValueError):  # noqa: PT011
        codec.report_from_json(text)


@pytest.mark.slow
def test_every_recorded_run_comes_back_whole(traces) -> None:
    count = 0
    for file in sorted((traces / "dev").glob("*.jsonl.gz")):
        for run in read_runs(str(file)):
            if isinstance(run, RecordedRun):
                trace = build(run.id, run.events)
                assert codec.trace_from_json(codec.trace_to_json(trace)) == trace
                count += 1
    assert count > 100
