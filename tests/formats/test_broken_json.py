"""Of JSON that is broken or cut off the beginning is read, and it is told how far."""

from __future__ import annotations

import json

import pytest

from mastwatch.formats.broken_json import beginning

ROWS = [{"role": "assistant", "name": f"agent-{n}", "content": f"I say {n}."} for n in range(9)]


def test_a_log_cut_in_the_middle_gives_its_first_messages(read):
    log = json.dumps({"id": "r", "history": ROWS}, indent=1)
    found = read(log[: log.index("I say 6")].encode())
    assert [run.messages for run in found.runs] == [6]
    (told,) = found.problems
    assert told == "log.jsonl: the JSON is cut off in the middle; read up to line 33"
    assert log.splitlines()[32].strip() == "},"


def test_so_does_one_on_a_single_line(read):
    log = json.dumps(ROWS)
    cut = log.index(', {"role": "assistant", "name": "agent-6"')
    found = read(log[: cut + 30].encode())
    assert [run.messages for run in found.runs] == [6]
    (told,) = found.problems
    assert told == f"log.jsonl:1: the JSON is cut off in the middle; read up to column {cut}"


def test_a_garbled_line_ends_what_is_read_and_is_told(read):
    lines = json.dumps(ROWS, indent=1).splitlines()
    lines[23] = "  @@@ ~~~"
    found = read("\n".join(lines).encode())
    assert [run.messages for run in found.runs] == [4]
    (told,) = found.problems
    assert told.startswith("log.jsonl: not valid JSON at line 24, column 3")
    assert told.endswith("; read up to line 21")


def test_the_beginning_of_an_unknown_thing_is_told_as_broken_and_unknown(read):
    found = read(b'{\n "numbers": [1, 2,\n 3, oops')
    assert found.runs == []
    assert "not valid JSON at line 3" in found.problems[0]
    assert "holds an object with numbers, which is in no format" in found.problems[1]


def test_an_escape_that_is_none_costs_its_message_and_what_follows(read):
    log = json.dumps(ROWS).replace("I say 4", r"[1, 2, 3, 4, 5, 6, 7] C:\work")
    found = read(log.encode())
    assert [run.messages for run in found.runs] == [4]
    assert "Invalid \\escape" in found.problems[0]


@pytest.mark.parametrize("tail", ["", "\\", "\\u00e", "\\n"])
def test_a_log_that_is_one_text_is_read_as_far_as_it_goes(read, tail):
    talk = "".join(f"Alice: I say {n}.\n\nBob: So do I.\n\n" for n in range(9))
    record = {"mas_name": "X", "trace_id": 1, "trace": {"trajectory": talk}}
    log = json.dumps(record, indent=1)
    found = read((log[: log.index("I say 6")] + tail).encode())
    assert [run.messages for run in found.runs] == [13]
    assert found.problems[0].startswith("log.jsonl: the JSON is cut off in the middle; read up to")


def test_documents_one_after_the_other_are_runs_of_one_file(read):
    logs = [json.dumps({"id": name, "history": ROWS}, indent=1) for name in ("a", "b", "c")]
    found = read("\n".join(logs).encode())
    assert [run.id for run in found.runs] == ["a", "b", "c"]
    assert found.problems == []
    found = read("\n".join(logs)[:-30].encode())
    assert [run.messages for run in found.runs] == [9, 9, 8]
    assert found.problems[0].startswith("log.jsonl: record 3: the JSON is cut off")


def test_a_raw_line_break_in_a_text_costs_nothing(read):
    found = read(json.dumps(ROWS, indent=1).replace("I say 3", "I\nsay\x003").encode())
    assert [run.messages for run in found.runs] == [9]
    assert found.problems == []


def test_lines_that_are_no_json_are_told_in_a_few_lines(read, jsonl, record):
    broken = [b"nothing here"] * 40
    found = read(jsonl(record("a"), *broken, record("b"), *broken[:6]))
    assert [run.id for run in found.runs] == ["a", "b"]
    assert len(found.problems) == 12
    assert found.problems[5] == (
        "log.jsonl:41: 35 more lines up to here without valid JSON; skipped"
    )
    assert found.problems[-1] == "log.jsonl:48: 1 more line without valid JSON; skipped"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{"m": [{"a": 1}, {"a": [1, 2, 3',
            {"m": [{"a": 1}, {"a": [1, 2]}]},
        ),  # the longer list wins
        ('{"m": [{"a": 1}, {"a": 2}, {"b": ["x", ', {"m": [{"a": 1}, {"a": 2}]}),
        ('{"m": ["one", "two", "thr', {"m": ["one", "two"]}),
        ('["a ] , [ b", "c", ', ["a ] , [ b", "c"]),
        ("[[1, 2], [3", [[1, 2]]),
        ('[{"a": 1}', [{"a": 1}]),
        ('[{"a": 1}, {"a": "said [1, 2, 3, 4, ', [{"a": 1}]),  # brackets in a text are none
        ('[{"a": 1}, {"a": "said \\\\', [{"a": 1}]),
        ('[{"a": 1}, {"a": "said \\', [{"a": 1}]),
    ],
)
def test_the_longest_open_list_is_cut_at_its_last_whole_element(text, value):
    found = beginning(text, len(text))
    assert found is not None
    assert found[0] == value


@pytest.mark.parametrize(
    "text", ["", "{", "[", '{"a": 1, "b": ', "]]]", '[{"a": 1', "[1", "[" * 99]
)
def test_without_a_whole_element_there_is_nothing(text):
    assert beginning(text, len(text)) is None
