"""AG2's logs: who spoke, what opened a chat, what code and tools gave back."""

from __future__ import annotations

import json

import pytest

from .telling import calls, ended, read_log, results, said, speakers, task


def test_a_printed_chat_has_tools_code_a_chat_inside_and_an_end():
    runs, problems = read_log("ag2_chat.log")
    first, second = runs
    assert [run.format for run in runs] == ["ag2-chat"] * 2
    assert speakers(first) == [
        "user_proxy:opener",
        "clerk:reply",
        "clerk:reply",
        "user_proxy:code",
        "clerk:opener",
        "auditor:reply",
        "clerk:reply",
    ]
    assert calls(first) == [
        (1, "stock", {"item": "tea"}),
        (3, "execute_code", {"language": "python", "code": "print(3 * 4.5)\n"}),
    ]
    assert results(first) == [(2, "clerk", "stock", "12")]
    assert {e.branch for e in first.events if getattr(e, "index", -1) in (5, 6)} == {"chat 1"}
    assert ended(first) == ("completed", "Termination message condition on agent 'user_proxy' met")
    assert said(second) == [(0, "user_proxy", "opener", "And coffee?")]
    assert problems == ["ag2_chat.log:76: line 76 belongs to no message; left out"]


def test_a_rule_and_a_name_inside_a_message_do_not_end_it():
    first, _ = read_log("ag2_chat.log")[0]
    [text] = [text for index, _, _, text in said(first) if index == 3]
    assert text is not None
    assert text.endswith("That rule is mine.")
    assert "He wrote (to me): as above." in text


def test_colours_of_a_terminal_do_not_matter(read):
    data = (
        f"\x1b[33ma\x1b[0m (to b):\n\nHi\n\n{'-' * 80}\n\x1b[33mb\x1b[0m (to a):\n\nHo\n".encode()
    )
    [run] = read(data, name="chat.log").runs
    assert said(run) == [(0, "a", "opener", "Hi"), (1, "b", "reply", "Ho")]


def test_what_a_person_typed_is_told_from_what_a_program_answered(read):
    lines = ["a (to me):", "", "Go on?", "", "-" * 80]
    asked = "Replying as me. Provide feedback to a. Press enter to skip, type 'exit' to end: yes"
    mine = ["me (to a):", "", "yes", "", "-" * 80]
    silent = [asked, ">>>>>>>> NO HUMAN INPUT RECEIVED.", "me (to a):", "", "", "", "-" * 80]
    [run] = read("\n".join([*lines, asked, *mine, *lines, *silent]).encode()).runs
    assert speakers(run) == ["a:opener", "me:human", "a:reply", "me:reply"]


def test_older_printed_function_calls_are_read(read):
    call, result = (
        "***** Suggested function Call: add *****",
        '***** Response from calling function "add" *****',
    )
    rule = "-" * 80
    lines = [
        *("me (to bot):", "", "Add.", "", rule),
        *("bot (to me):", "", call, "Arguments: ", '{"a": 1}', "*" * len(call), "", rule),
        *("me (to bot):", "", result, "1", "*" * len(result), "", rule),
    ]
    [run] = read("\n".join(lines).encode(), name="chat.log").runs
    assert calls(run) == [(1, "add", {"a": 1})]
    assert results(run) == [(2, "bot", "add", "1")]


def test_a_dump_is_read_with_the_annotators_form_as_labels():
    [run], problems = read_log("ag2_dump.json")
    assert problems == []
    assert (run.format, run.id, run.messages) == ("ag2", "tea-1", 6)
    assert task(run) == "How much do 3 boxes\nof tea cost?"
    assert speakers(run)[:3] == ["mathproxyagent:opener", "assistant:reply", "mathproxyagent:code"]
    assert calls(run) == [
        (1, "execute_code", {"language": "python", "code": "price = 4.5\nprint(3 * price)\n"})
    ]
    assert speakers(run)[4] == "mathproxyagent:reply"  # "Continue ...", not the output of code
    assert run.extra["success"] is False
    assert run.extra["labels"] == {
        "scheme": "masft-gt (1 annotator, pre-taxonomy)",
        "options_yes": ["Step repetition", "Fail to detect ambiguities/contradictions"],
        "options_all": [
            "Fail to detect ambiguities/contradictions",
            "Fail to elicit clarification",
            "No attempt to verify outcome",
            "Step repetition",
            "Tendency to overachieve",
        ],
        "fm": {"1.3": 1, "2.2": 1, "3.2": 0},
        "note": "It ignores what\nthe code says.",
    }


def test_printed_objects_are_read_one_after_the_other():
    [run], problems = read_log("ag2_reprs.txt")
    assert problems == []
    assert speakers(run) == [
        "Checker:opener",
        "chat_manager:reply",
        "Coder:reply",
        "Checker:code",
        "Checker:reply",
    ]
    assert calls(run)[0][2] == {"language": "python", "code": "print('it\\'s \"coffee\"')\n"}


@pytest.mark.parametrize(
    "broken", ["{'content': ['cut off", "{'content': " + "[" * 200, "{'content': a + b}", "between"]
)
def test_a_broken_object_costs_only_itself(read, broken):
    whole = "{'content': 'a', 'role': 'u', 'name': 'A'}"
    found = read(f"{whole} {broken} {whole}\n".encode(), name="r.txt")
    [run] = found.runs
    assert [sender for _, sender, _, _ in said(run)] == ["A", "A"]
    assert found.problems == ["r.txt:1: column 44: no whole message stands here; left out"]


def test_a_message_without_content_costs_only_itself(read):
    rows = [{"content": "a", "name": "A"}, 7, {"content": {}, "name": "A"}, {"name": "B"}]
    found = read(json.dumps({"trajectory": rows}).encode(), name="d.json")
    [run] = found.runs
    assert [(index, sender) for index, sender, _, _ in said(run)] == [(0, "A"), (3, "B")]
    assert found.problems == [
        "d.json:1: message 1: is a number, not an object; skipped",
        "d.json:1: message 2: 'content' is an object, not text; skipped",
    ]
