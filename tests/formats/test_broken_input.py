"""Broken input: one clear line per problem, and every run that is whole is read."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from random import Random

import pytest

from mastwatch.events import MessageSent, ToolReturned
from mastwatch.formats import RecordedRun, lines, read_runs


def ids(found):
    return [run.id for run in found.runs]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": "x", "mess', "the JSON is cut off in the middle; skipped"),
        (b'{"id": "x",, "messages": []}', "not valid JSON at column 12"),
        (b"42", "is a number, not a run (an object); skipped"),
        (b"null", "is null, not a run (an object); skipped"),
        (b'{"id": "x"}', "'messages' is missing, not a list; the run is skipped"),
        (b'{"id": "x", "messages": "hi"}', "'messages' is text, not a list; the run is skipped"),
        (b'{"id": "x", "messages": []}', "the run has no messages; skipped"),
        (b"[" * 100_000, "JSON nested too deeply; skipped"),
        (b"[" + b"9" * 5_000 + b"]", "JSON that Python cannot hold"),
        (b"\0\0\0", "not valid JSON at column 1"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_broken_line_costs_only_itself(read, jsonl, record, line, problem, place):
    values = [record("a"), record("b")]
    values.insert(place, line)
    if place == 0 and line.startswith(b"\0"):
        pytest.skip("a file that begins with NUL is binary")
    found = read(jsonl(*values))
    assert ids(found) == ["a", "b"]
    (told,) = found.problems
    assert told.startswith(f"log.jsonl:{place + 1}: {problem}")
    assert "\n" not in told


def test_several_broken_lines_at_the_front_are_survived(read, jsonl, record):
    found = read(jsonl(b'{"id', b'{"id": 1, "mess', b"}{", record("a")))
    assert ids(found) == ["a"]
    assert len(found.problems) == 3


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (7, "is a number, not an object; skipped"),
        ({"index": 1, "role": "assistant", "content": "x"}, "'agent' is missing, not text"),
        ({"index": 1, "agent": "a", "content": "x"}, "'role' is missing, not text; skipped"),
        ({"index": 1, "agent": "a", "role": "boss"}, "'role' is none of"),
        ({"index": 1, "agent": "a", "role": "user", "content": {}}, "'content' is an object"),
        ({"index": 1, "agent": [], "role": "user", "content": ""}, "'agent' is a list, not text"),
        (
            {"index": 1, "agent": "a", "role": "assistant", "content": "", "tool_calls": "f"},
            "'tool_calls' is text, not a list; skipped",
        ),
        (
            {"index": 1, "agent": "a", "role": "assistant", "content": "", "tool_calls": [{}]},
            "'name' is missing, not text; skipped",
        ),
    ],
)
def test_a_broken_row_costs_only_itself(read, jsonl, record, row, problem):
    broken = record("r", ("zero", "one", "two"))
    broken["messages"][1] = row
    found = read(jsonl(broken, record("b")))
    assert ids(found) == ["r", "b"]
    assert [e.index for e in found.runs[0].events if isinstance(e, MessageSent)] == [0, 2]
    (told,) = found.problems
    assert told.startswith(f"log.jsonl:1: message 1: {problem}")


def test_a_run_without_a_whole_row_is_no_run(read, jsonl, record):
    broken = record("x", messages=[1] * 9)
    found = read(jsonl(broken, [{"role": 5}], record("b")))
    assert ids(found) == ["b"]
    assert "log.jsonl:1: none of its messages can be read; the run is skipped" in found.problems


def test_a_thousand_broken_rows_are_told_in_a_few_lines(read, jsonl):
    record = {
        "id": "r",
        "framework": "x",
        "messages": [5] * 1_000 + [{"agent": "a", "role": "user"}],
    }
    found = read(jsonl(record))
    assert ids(found) == ["r"]
    assert found.problems[-1] == "log.jsonl:1: 995 more problems in this run"
    assert len(found.problems) == 6


@pytest.mark.parametrize("requests", [5, [5], [{"before": -1, "messages": []}], [{"before": 0}]])
def test_broken_requests_are_left_out(read, jsonl, record, requests):
    found = read(jsonl(record(requests=requests)))
    assert ids(found) == ["r1"]
    assert len(found.problems) == 1


def test_truncated_gzip_keeps_what_came_before(read, jsonl, record):
    runs = [record(f"r{n}", (os.urandom(2_000).hex(),)) for n in range(200)]
    data = gzip.compress(jsonl(*runs))
    found = read(data[: len(data) // 2])
    assert ids(found) == [f"r{n}" for n in range(len(found.runs))]
    assert 90 <= len(found.runs) <= 100
    (told,) = found.problems
    assert told.startswith(f"log.jsonl:{len(found.runs) + 1}: the gzip data is cut off here")


def test_damaged_gzip_keeps_what_came_before(read, jsonl, record):
    runs = [record(f"r{n}", (os.urandom(2_000).hex(),)) for n in range(200)]
    data = bytearray(gzip.compress(jsonl(*runs)))
    data[-6] ^= 0xFF
    found = read(bytes(data))
    assert len(found.runs) >= 190
    assert "the gzip data is damaged here" in found.problems[-1]


@pytest.mark.parametrize("size", [2, 5, 12])
def test_gzip_without_any_data_is_one_problem(read, size):
    found = read(gzip.compress(b"{}")[:size])
    assert found.runs == []
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"\n \r\n\n", "holds no JSON value, only blank lines"),
        (b"\x7fELF\x02\x00\x00", "is binary, not a text log"),
        (gzip.compress(b"\x00\x01\x02"), "is binary, not a text log"),
        (gzip.compress(b""), "is empty"),
        (b"PK\x03\x04...", "is a zip archive; unpack it first (gzip is read as it is)"),
        ("[]".encode("utf-16"), "is UTF-16; convert it to UTF-8 first"),
        (
            b'{"hello": 1}',
            "holds an object with hello, which is in no format known here (ag2-runtime, ",
        ),
        (
            b'{"id": "x", "mess',
            "the JSON is cut off in the middle; formats known here: ag2-runtime, ",
        ),
        (b"plain words\nand more\n", "is text in no format known here (ag2-runtime, "),
        (b'{\n "id": "x",\n "messages": [\n', "the JSON is cut off in the middle; formats"),
        (b"[]", "holds a list, which is in no format known here"),
    ],
)
def test_what_is_no_log_is_one_clear_line(read, data, problem):
    found = read(data)
    assert found.runs == []
    (told,) = found.problems
    assert told.removeprefix("log.jsonl:1").removeprefix("log.jsonl").startswith(f": {problem}")


def test_bom_and_crlf_are_nothing_special(read, jsonl, record):
    data = b"\xef\xbb\xbf" + jsonl(record("a"), record("b")).replace(b"\n", b"\r\n")
    found = read(data)
    assert (ids(found), found.problems) == (["a", "b"], [])


def test_what_is_not_utf8_is_replaced_and_said_once(read, jsonl, record):
    line = json.dumps(record("a", ("caf\u00e9",)), ensure_ascii=False).encode("latin-1")
    found = read(jsonl(line, line.replace(b'"a"', b'"b"', 1), record("c")))
    assert ids(found) == ["a", "b", "c"]
    assert found.runs[0].events[1].text == "caf\ufffd"
    (told,) = found.problems
    assert told.startswith("log.jsonl:1: not UTF-8 at byte")


def test_half_surrogates_are_replaced(read, jsonl, record):
    found = read(jsonl(record("a", ("\ud83d half, \U0001f600 whole",))))
    assert found.runs[0].events[1].text == "\ufffd half, \U0001f600 whole"


def test_nan_is_no_time_and_no_crash(read, jsonl, record):
    broken = record("a")
    broken["messages"][0]["ts"] = float("nan")
    broken["labels"] = {"turn_cap": float("inf")}
    found = read(jsonl(broken))
    assert found.problems == []
    assert found.runs[0].events[1].at is None


def test_deep_arguments_become_text(read, jsonl, record):
    deep = "x"
    for _ in range(200):
        deep = [deep]
    nested = record("a")
    nested["messages"][0]["tool_calls"] = [
        {"name": "f", "arguments": {"x": deep}},
        {"name": "g", "arguments": json.dumps(deep)},
    ]
    found = read(jsonl(nested))
    calls = found.runs[0].events[1].tool_calls
    assert [type(call.arguments) for call in calls] == [str, str]


def test_an_id_used_twice_is_said_and_both_are_read(read, jsonl, record):
    found = read(jsonl(record("a"), record("b"), record("a")))
    assert ids(found) == ["a", "b", "a"]
    assert found.problems == [
        "log.jsonl:3: a run with this id stands at log.jsonl:1 too; both are read"
    ]


def test_a_message_of_50_mb_is_read(read, jsonl, record):
    found = read(jsonl(record("a", ("x" * 50_000_000,)), record("b")))
    assert ids(found) == ["a", "b"]
    assert len(found.runs[0].events[1].text) == 50_000_000


def test_a_line_beyond_the_limit_is_skipped(read, jsonl, record, monkeypatch):
    monkeypatch.setattr(lines, "MAX_RECORD_BYTES", 2**20)
    found = read(jsonl(record("a"), record("x", ("y" * 3_000_000,)), record("b")))
    assert ids(found) == ["a", "b"]
    assert found.problems == ["log.jsonl:2: longer than 1 MiB; skipped"]


@pytest.mark.slow
def test_memory_is_bounded_by_one_run(tmp_path, jsonl, record):
    path = tmp_path / "many.jsonl"
    with path.open("wb") as file:
        for n in range(60):
            file.write(jsonl(record(f"r{n}", ("z" * 1_000_000,))))
    tracemalloc.start()
    assert sum(isinstance(item, RecordedRun) for item in read_runs(path)) == 60
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000


def test_missing_files_and_folders_are_problems(tmp_path):
    missing = tmp_path / "none.jsonl"
    assert [str(item) for item in read_runs(missing)] == [
        f"{missing}: cannot be opened (No such file or directory)"
    ]
    assert [str(item) for item in read_runs(tmp_path)] == [
        f"{tmp_path}: cannot be opened (Is a directory)"
    ]


def test_an_unknown_format_is_an_error_of_the_caller(tmp_path):
    with pytest.raises(ValueError, match="known: auto, ag2-runtime, "):
        read_runs(tmp_path, "yaml")


def test_a_wrong_format_is_a_problem_per_run(read, jsonl, record):
    found = read(jsonl({"foo": 1}, record("a")), "openai")
    assert found.problems[0] == "log.jsonl:1: is an object without a list of messages; skipped"


def test_recorded_sets_are_read_without_a_problem(traces):
    for path in sorted((traces / "dev").glob("*.gz")):
        runs = 0
        for item in read_runs(path):
            assert isinstance(item, RecordedRun), str(item)
            runs += 1
            rows = [e.index for e in item.events if isinstance(e, MessageSent | ToolReturned)]
            assert rows == sorted(set(rows))
        assert runs > 0


def test_a_run_is_given_out_before_the_next_one_is_written(jsonl, record):
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb", 0) as writer:
        writer.write(jsonl(record("a")))
        items = read_runs(stream)
        assert next(items).id == "a"
        writer.write(jsonl(record("b")))
        assert next(items).id == "b"


def _mutated(value, random):
    """The value with one random place replaced by something of another kind."""
    strange = [None, True, -1, 1.5, float("nan"), "", "x", "\ud800", [], {}, [[]], {"a": 1}, [None]]
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        if random.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _mutated(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        return [*value[:at], _mutated(value[at], random), *value[at + 1 :]]
    return random.choice(strange)


RICH = {
    "id": "rich",
    "framework": "custom",
    "task": "t",
    "labels": {"turn_cap": 9},
    "requests": [{"before": 1, "agent": "a", "messages": [{"role": "user", "content": "t"}]}],
    "messages": [
        {"index": 0, "agent": "user", "role": "user", "content": "t", "thread": 1, "ts": 1.0},
        {
            "index": 1,
            "agent": "a",
            "role": "assistant",
            "content": "",
            "to": ["b"],
            "tool_calls": [{"name": "f", "arguments": {"x": 1}, "id": "c"}],
        },
        {"index": 2, "agent": "f", "role": "tool", "content": "r", "tool_call_id": "c", "id": "m"},
    ],
}
CHAT = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "t"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]
}


@pytest.mark.parametrize(("whole", "format"), [(RICH, "record"), (CHAT, "openai")])
def test_nothing_that_json_can_say_raises(read, jsonl, whole, format):
    random = Random(7)
    for _ in range(1_500):
        broken = whole
        for _ in range(random.randint(1, 3)):
            broken = _mutated(broken, random)
        found = read(jsonl(broken, whole), random.choice(["auto", format]))
        assert found.runs[-1].messages == 3
        assert len(found.runs) >= 2 or found.problems


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_no_damage_to_the_bytes_raises(read, jsonl, record, pack):
    random = Random(7)
    whole = pack(jsonl(*[record(f"r{n}") for n in range(5)]))
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        found = read(bytes(data[: random.randrange(1, len(data) + 1)]))
        assert found.runs or found.problems
