"""Logs of ChatDev, MetaGPT, HyperAgent and AppWorld."""

from __future__ import annotations

import io
import tracemalloc

import pytest

from mastwatch.events import MessageSent, RunStarted
from mastwatch.formats import RecordedRun, line_log, read_runs

from .telling import LOGS, calls, ended, read_log, results, said, speakers, task


def test_chatdev_phases_answers_and_tests():
    [run], problems = read_log("chatdev.log")
    assert problems == []
    assert (run.format, task(run)) == ("chatdev", "Write a clock for the terminal.")
    assert said(run) == [
        (
            0,
            "Chief Technology Officer",
            "system",
            "Write the clock in Python.\n\nAnswer with files only.",
        ),
        (1, "Programmer", "reply", "main.py\n```python\nprint('tick')\n```"),
        (2, "Code Reviewer", "reply", "<INFO> Finished"),
        (3, "test_runner", "code", "The software run successfully without errors."),
        (4, "Chief Executive Officer", "reply", "PyYAML"),
    ]
    to = [e.recipients for e in run.events if isinstance(e, MessageSent)]
    assert to == [(), ("Chief Technology Officer",), ("Programmer",), (), ("Counselor",)]
    assert ended(run) == ("completed", "ChatDev Ends")
    started = run.events[0]
    assert isinstance(started, RunStarted)
    assert list(started.prompts) == ["Programmer", "Chief Technology Officer", "Counselor"]


def test_chatdev_writes_the_day_before_the_month():
    [run], _ = read_log("chatdev.log")
    assert run.events[1].at == 1928826001.0  # 14 February 2031, 09:00:01


def test_a_chatdev_log_without_its_end_has_no_outcome(read):
    text = (LOGS / "chatdev.log").read_text().partition("**[Post Info]**")[0]
    [run] = read(text.encode(), name="c.log").runs
    assert ended(run) == ("unknown", "")


def test_metagpt_talk():
    [run], problems = read_log("metagpt_talk.txt")
    assert problems == []
    assert (run.format, task(run)) == ("metagpt", "Write a clock.\nNote: in Python.")
    assert speakers(run) == [
        "Human:opener",
        "SimpleCoder:reply",
        "SimpleTester:reply",
        "SimpleReviewer:reply",
        "SimpleCoder:reply",
    ]
    assert said(run)[3][3] == "One remark.\nCaution: it does not tock."
    assert ended(run) == ("completed", "")


def test_metagpt_actions_in_its_own_log_and_kept_in_an_object():
    [bare], _ = read_log("metagpt.log")
    [kept], _ = read_log("metagpt_run.json")
    names = ["Alice(SimpleCoder):reply", "Bob(SimpleTester):reply", "Charlie(SimpleReviewer):reply"]
    assert speakers(bare) == names
    assert speakers(kept) == ["Human:opener", *names]
    assert [text for *_, text in said(kept)] == [
        "write a clock",
        "```python\nprint('tick')\n```",
        "assert True",
        None,  # what this role said is not in the log
    ]
    assert (kept.id, task(kept)) == ("3", "write a clock")


@pytest.mark.parametrize("name", ["hyperagent.log", "hyperagent_study.json"])
def test_hyperagent_tools_reports_and_entries_written_twice(name):
    [run], problems = read_log(name)
    assert problems == []
    assert (run.format, run.id, run.messages) == ("hyperagent", "shop__tea-12", 8)
    assert speakers(run) == [
        "hyperagent:system",
        "hyperagent:system",
        "Planner:reply",
        "Inner-Navigator-Assistant:reply",
        "Inner-Navigator-Assistant:reply",
        "Inner-Editor-Assistant:reply",
        "Navigator:reply",
        "Planner:reply",
    ]
    assert calls(run) == [
        (3, "code_search", {"names": ["price"]}),
        (3, "open_file", {"relative_file_path": "shop.py", "start_line": 1, "end_line": "LAST"}),
    ]
    assert said(run)[6][3] == "It stands in shop.py.\nA second line."


def test_hyperagent_study_has_task_and_labels():
    [run], _ = read_log("hyperagent_study.json")
    assert task(run) == "The price is wrong\nIt should be 5."
    labels = run.extra["labels"]
    assert isinstance(labels, dict)
    assert labels["fm"] == {"1.2": 0, "1.4": 1}


def test_appworld_code_its_output_and_the_talk_inside_a_call():
    [run, other], problems = read_log("appworld.txt")
    assert (run.format, run.id, run.messages) == ("appworld", "tea_2", 13)
    assert [index for index, *_ in said(run)] == [0, 1, 3, 4, 5, 6, 7, 10, 11]
    assert calls(run) == [
        (1, "send_message", {"app_name": "shop", "message": "Order two boxes of tea"}),
        (4, "apis.shop.order", {"item": "tea", "token": "token"}),
        (10, "apis.supervisor.complete_task", {"status": "fail"}),
    ]
    assert results(run) == [(8, "Supervisor Agent", "send_message", "I need a token.")]
    inside = {e.index for e in run.events if e.branch and isinstance(e, MessageSent)}
    assert inside == {3, 4, 5, 6, 7}
    assert run.extra["success"] is False
    assert (other.id, "success" in other.extra) == ("tea_3", False)
    assert problems == ["appworld.txt:84: the evaluation is no valid JSON; left out"]


@pytest.mark.parametrize("name", sorted(path.name for path in LOGS.iterdir()))
def test_a_log_cut_off_anywhere_gives_its_readable_part(name):
    data = (LOGS / name).read_bytes()
    for end in range(0, len(data), max(1, len(data) // 23)):
        items = list(read_runs(io.BytesIO(data[:end]), name=name))
        assert items
        assert all("\n" not in str(item) for item in items if not isinstance(item, RecordedRun))


@pytest.mark.parametrize("name", ["ag2_chat.log", "chatdev.log", "hyperagent.log", "appworld.txt"])
def test_a_long_log_is_held_one_run_at_a_time(name):
    data = (LOGS / name).read_bytes() * 3_000

    def peak(copies: int) -> int:
        stream = io.BytesIO(data[: len(data) // 3_000 * copies])
        tracemalloc.start()
        runs = sum(isinstance(item, RecordedRun) for item in read_runs(stream, name=name))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert runs >= copies // 2
        return size

    few, many = peak(10), peak(120)
    assert many < few + 500_000


def test_lines_before_a_log_are_told_and_a_block_without_end_is_cut(read, monkeypatch):
    monkeypatch.setattr(line_log, "MAX_BLOCK", 100)
    text = "$ python run.py\n\nwarning\n" + (LOGS / "hyperagent.log").read_text()
    found = read(text.encode() + b"noise\n" * 100, name="h.log")
    assert len(found.runs) == 1
    assert "h.log:1: lines 1, 3 belong to no message; left out" in found.problems
    assert sum("without a heading; left out from here" in text for text in found.problems) >= 1
