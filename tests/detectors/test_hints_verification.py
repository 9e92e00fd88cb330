"""FM-3.2: work is called finished that nobody has checked."""

from __future__ import annotations

import pytest

from mastwatch.events import Outcome
from mastwatch.testing import Script, findings
from mastwatch_detectors.no_or_incomplete_verification import NoOrIncompleteVerification

DONE = "All of it works now. TERMINATE"
CODE = "Here it is:\n```python\ndef pump(): return {}\n```"


def work(*tools: str, said: str = DONE, error: str | None = None) -> Script:
    script = Script().start()
    for n, tool in enumerate(tools):
        failed = error if n == len(tools) - 1 else None
        script.call(tool, {"n": n}, "ok", agent="coder", error=failed)
    return script.say("coder", said)


@pytest.mark.parametrize("said", [DONE, "全部完成。TERMINATE"])
def test_a_change_after_the_last_check_is_suspect(said: str) -> None:
    (found,) = findings(
        work("edit_file", "run_tests", "edit_file", said=said), NoOrIncompleteVerification
    )
    assert (found.severity.label, found.agent, found.tool) == ("suspect", "coder", "edit_file")
    assert (found.message_index, found.evidence) == (3, (0, 1, 3))


def test_changed_files_that_nobody_ran_are_suspect() -> None:
    (found,) = findings(work("read_file", "write_file"), NoOrIncompleteVerification)
    assert (found.tool, found.message_index) == ("write_file", 2)


@pytest.mark.parametrize(
    "run",
    [
        work("edit_file", "run_tests"),
        work("edit_file", "bash"),
        work("run_tests"),
        work("get_order", "cancel_order"),  # no checks are to be expected here
        work("run_tests", "edit_file", error="FileNotFoundError"),
        work("edit_file", "run_tests", "read_file"),
    ],
)
def test_checked_work_and_work_without_checks_to_expect_are_silent(run: Script) -> None:
    assert findings(run.end(), NoOrIncompleteVerification) == []


@pytest.mark.parametrize(
    ("outcome", "count"), [("completed", 1), ("unknown", 1), ("limit", 0), ("error", 0)]
)
def test_the_end_of_the_run_is_a_claim_unless_something_else_ended_it(
    outcome: Outcome, count: int
) -> None:
    run = work("run_tests", "edit_file", said="Here you are.").end(outcome)
    assert len(findings(run, NoOrIncompleteVerification)) == count


@pytest.mark.parametrize("checker", ["Code_Reviewer", "审核员", "QA"])
def test_new_code_after_the_last_word_of_the_checker_is_suspect(checker: str) -> None:
    script = Script().start().say("Coder", CODE.format(1)).say(checker, "Handle None as well.")
    script.say("Coder", CODE.format(2)).say("Lead", DONE)
    (found,) = findings(script, NoOrIncompleteVerification)
    assert (found.agent, found.message_index, found.evidence) == ("Coder", 3, (1, 2, 3))


def test_code_the_checker_or_a_runner_saw_and_manuals_are_silent() -> None:
    base = [("Coder", CODE.format(1)), ("Reviewer", "Handle None as well.")]
    for last in (
        [("Coder", CODE.format(2)), ("Reviewer", "Fine now.")],
        [("Coder", CODE.format(2)), ("Executor", "It prints 2.")],
        [("Writer", "Install it:\n```bash\npip install pump\n```")],
        [("Writer", CODE.format(1))],  # never wrote code before: a manual quotes it
    ):
        script = Script().start()
        for agent, text in [*base, *last, ("Lead", DONE)]:
            script.say(agent, text)
        assert findings(script, NoOrIncompleteVerification) == []


def test_withheld_text_says_nothing() -> None:
    script = Script().start().say("Coder", None).say("Reviewer", None).say("Coder", None)
    assert findings(script.end(), NoOrIncompleteVerification) == []
