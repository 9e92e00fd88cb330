"""Long arrays of runs are read one element at a time."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc

import pytest

from mastwatch.formats import Problem, RecordedRun, arrays, read_runs


def records(count: int, size: int = 4_000) -> list[dict[str, object]]:
    text = 'He said "{[\\ü\n' * (size // 15)
    rows = [{"index": 0, "agent": "a", "role": "assistant", "content": text}]
    return [{"id": f"r{n}", "framework": "x", "messages": rows} for n in range(count)]


def read(data: bytes) -> tuple[list[RecordedRun], list[str]]:
    items = list(read_runs(io.BytesIO(data), name="runs.json"))
    return (
        [item for item in items if isinstance(item, RecordedRun)],
        [str(item) for item in items if isinstance(item, Problem)],
    )


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("chunk", [1_000, 256 * 1024])
def test_all_elements_come(monkeypatch, indent, chunk):
    monkeypatch.setattr(arrays, "_CHUNK", chunk)
    data = json.dumps(records(60), indent=indent).encode()
    runs, problems = read(data)
    assert [run.id for run in runs] == [f"r{n}" for n in range(60)]
    assert (problems, runs[3].where.record) == ([], 4)
    assert runs[0].events[1].text == records(1)[0]["messages"][0]["content"]  # type: ignore[index]
    assert [run.id for run in read(gzip.compress(data))[0]] == [run.id for run in runs]


def test_a_broken_element_costs_only_itself():
    texts = [json.dumps(record) for record in records(60)]
    texts[40] = '{"id": "x",, "messages": []}'
    runs, problems = read(f"[{', '.join(texts)}]".encode())
    assert len(runs) == 59
    assert problems == [
        "runs.json: record 41: not valid JSON at line 1, column 12 "
        "(Expecting property name enclosed in double quotes); skipped"
    ]


def test_an_array_that_is_cut_off_gives_what_came_before():
    data = json.dumps(records(60)).encode()
    runs, problems = read(data[:-3_000])
    assert len(runs) == 59
    assert problems == ["runs.json: record 60: the JSON is cut off in the middle; skipped"]


def test_an_element_that_is_too_long_is_passed_over(monkeypatch):
    monkeypatch.setattr(arrays, "MAX_RECORD_BYTES", 50_000)
    monkeypatch.setattr(arrays, "_CHUNK", 10_000)
    listed = [*records(30), *records(1, 200_000), *records(2)]
    runs, problems = read(json.dumps(listed).encode())
    assert len(runs) == 32
    assert problems[0].startswith("runs.json: record 31: longer than")


def test_messages_are_one_run_however_long():
    messages = [{"role": "user", "content": "x" * 100}] * 2_000
    runs, problems = read(json.dumps(messages).encode())
    assert ([run.messages for run in runs], problems) == ([2_000], [])


def test_a_run_in_each_line_is_no_array():
    line = json.dumps([{"role": "user", "content": "x" * 5_000}])
    runs, _ = read("\n".join([line] * 30).encode())
    assert len(runs) == 30


def test_memory_does_not_grow_with_the_file():
    data = json.dumps(records(1_500)).encode()
    tracemalloc.start()
    for item in read_runs(io.BytesIO(data), name="runs.json"):
        assert isinstance(item, RecordedRun)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 2**20 < len(data)
