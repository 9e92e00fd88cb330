"""The false-alarm traps of termination (numbers of the trap catalogue: 24 to 32)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mastwatch.events import Contract
from mastwatch.findings import Severity
from mastwatch.testing import Script, watched

MODE = "FM-1.5"
WORK = [
    "Let us look at the harbour list from the start and compare every entry with care.",
    "I would like to read the second page of the tide table aloud for everybody here.",
    "There may be another way to count the berths, so I begin with the northern mole.",
    "Now the southern mole comes, whose berths are marked by letters in place of figures.",
    "Some letters have worn away, which is why the pilots keep a drawing of their own.",
    "That drawing hangs in the office behind the crane, where nobody is before noon.",
]
STUCK = [
    "The berths of the northern mole are missing from my list, so somebody has to count them.",
    "Somebody has to count the berths, since those of the northern mole are missing from my list.",
    "On my list the northern mole is missing, and its berths somebody has to count.",
    "As the northern mole is missing from my list, somebody has to count its berths.",
]
NAG = "Please go on until you have an answer to the question."


def run(task: str = "Count the berths of both moles of the harbour and report the sum.") -> Script:
    return Script().start(task).task(task)


def instructed() -> Script:
    """24: the token in the task, a system prompt and an executor's canned reply."""
    script = Script().start(
        "Say TERMINATE when done.", prompts={"solver": "Reply TERMINATE when done."}
    )
    script.task("Count the berths of the harbour. Reply TERMINATE when done.")
    script.say("harness", "Reply TERMINATE when everything is done.", kind="system", role="system")
    script.say("solver", WORK[0])
    script.auto_reply('There is no code here. Reply me only with "TERMINATE"')
    return script.say("solver", WORK[1]).end()


def quoted() -> Script:
    """25: in a fence, in quotes, announced."""
    script = run()
    script.say("solver", "```\nprint('over')\nTERMINATE\n```").say("critic", WORK[0])
    script.say("solver", 'The last word will be "TERMINATE"').say("critic", WORK[1])
    script.say("solver", "I will say TERMINATE once the sum is checked.").say("critic", WORK[2])
    return script.say("solver", "Only with both moles counted say: TERMINATE").say(
        "critic", WORK[3]
    )


def votes() -> Script:
    """26: three agents vote, the contract asks for three votes."""
    script = Script().start(contract=Contract(tokens=("TERMINATE",), votes=3))
    for agent in ("a", "b", "c"):
        script.say(agent, f"As {agent} I have counted and agree with the sum. TERMINATE")
    return script.end()


def echoes(*, again: bool) -> Script:
    """27."""
    script = run().say("solver", "The sum is 31. TERMINATE")
    script.auto_reply("There is no code from the last message for me to execute.")
    if again:
        script.say("solver", "TERMINATE")
    return script.end()


def reopened() -> Script:
    """28."""
    script = run().say("solver", "The sum is 31. TERMINATE")
    script.human("Thank you. Now the same for the fishing harbour, please.")
    return script.say("solver", WORK[0]).call("count", {"mole": 3}, "12").end()


def verified() -> Script:
    """29a: an answer marker, one round of checking, end."""
    script = run().say("solver", r"Both moles together have \boxed{31} berths.")
    script.proxy("Please check it.").say("solver", r"Checked: it is \boxed{31}.")
    return script.end()


def noisy() -> Script:
    """29b: console noise after the claim, in the message and as a line of its own."""
    noise = "\n/opt/lib/client.py:93: UserWarning: Model mismatch found.\n  reply = await call("
    script = run().say("solver", "The sum is 31.\n\nTERMINATE" + noise)
    return script.system("log handler closed, 12 records written to the file").end()


def goodbyes(turns: int) -> Script:
    """30 and the loop."""
    script = run().say("solver", "There are 31 berths.")
    words = [
        "Thank you for the work.",
        "You're welcome, goodbye!",
        "Thanks, take care.",
        "Have a great day!",
        "Goodbye and thanks again.",
        "Thank you, and farewell.",
    ]
    for n in range(turns):
        script.say("ab"[n % 2], words[n])
    return script.end()


def long_run() -> Script:
    """31: 17 of 20 messages, then a claim."""
    script = Script().start(contract=Contract(tokens=("TERMINATE",), max_messages=20))
    for n in range(16):
        script.say("ab"[n % 2], f"Mole {n} has {n * 7 + 1} berths and {n * 3 + 2} lamps on it.")
    return script.say("a", "That was all of them. TERMINATE").end()


def mangled(*, restated: int) -> Script:
    """32: a backspace ate the backslash and the b."""
    script = Script().start("Count the berths.")
    script.task("Count the berths of the harbour and put the sum in \x08oxed{}.")
    for n in range(max(1, restated)):
        script.say("solver", f"{WORK[n]} In the end it is \x08oxed{{31}}.")
        if restated:
            script.proxy(NAG)
    return script.end("limit" if restated else "completed")


CASES: list[tuple[str, Callable[[], Script], str]] = [
    ("24 token in instructions", instructed, "silent"),
    ("25 token quoted", quoted, "silent"),
    ("26 consensus vote", votes, "silent"),
    ("27a one echo", lambda: echoes(again=False), "info"),
    ("27b two echoes", lambda: echoes(again=True), "warn"),
    ("28 reopened by a person", reopened, "silent"),
    ("29a verification round", verified, "silent"),
    ("29b console noise", noisy, "silent"),
    ("30a two goodbyes", lambda: goodbyes(2), "silent"),
    ("30b three goodbyes", lambda: goodbyes(3), "info"),
    ("30c four goodbyes", lambda: goodbyes(4), "warn"),
    ("30d six goodbyes", lambda: goodbyes(6), "alert"),
    ("31 long run", long_run, "suspect"),
    ("32a mangled, ends", lambda: mangled(restated=0), "silent"),
    ("32b mangled, restated", lambda: mangled(restated=6), "alert"),
]


@pytest.mark.parametrize(("build", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_trap(build: Callable[[], Script], expected: str) -> None:
    seen = watched(build().events)
    assert seen.worst(MODE) == expected, seen.findings
    assert seen.worst("FM-2.1") == "silent", seen.findings


@pytest.mark.parametrize("restated", [0, 6])
def test_mangled_token_is_a_notice_once(restated: int) -> None:
    assert watched(mangled(restated=restated).events).named("contract_mismatch") == 1


def test_prompt_and_contract_that_disagree_are_a_notice() -> None:
    script = Script().start(
        contract=Contract(tokens=("TERMINATE",)),
        prompts={"solver": "When everything is counted, reply ALL_COUNTED to end."},
    )
    script.say("solver", WORK[0])
    assert watched(script.events).named("contract_mismatch") == 1


def test_cap_without_claim_is_a_notice() -> None:
    assert watched(mangled(restated=6).events).named("budget_exhausted") == 1
    assert watched(run().say("a", "31. TERMINATE").end("limit").events).notices == ()


def test_work_after_claim_fires_on_the_first_message_and_rises() -> None:
    script = run().say("solver", "The sum is 31. TERMINATE")
    script.say("critic", WORK[0]).say("critic", WORK[1])
    seen = watched(script.events)
    assert (seen.at(MODE, Severity.WARN), seen.at(MODE, Severity.ALERT)) == (2, 3)
    assert seen.episodes(MODE) == 1


def test_tool_call_after_claim_alerts_at_once() -> None:
    script = run().say("solver", "The sum is 31. TERMINATE").call("count", {"mole": 3}, "12")
    assert watched(script.events).worst(MODE) == "alert"


def test_finishing_tool_is_a_claim() -> None:
    script = run().call("final_answer", {"answer": 31}, "31").say("critic", WORK[0])
    assert watched(script.events).worst(MODE) == "warn"


@pytest.mark.parametrize("final", [False, True])
def test_nagger_fires_at_the_third_nag_and_is_suspected_at_the_second_after_a_final_answer(
    final: bool,
) -> None:
    script = run()
    for n in range(3):
        script.say("solver", f"{WORK[n]} It cannot be solved." if final else STUCK[n]).proxy(NAG)
    seen = watched(script.events)
    assert (seen.at(MODE, Severity.SUSPECT), seen.at(MODE, Severity.WARN)) == (4 if final else 6, 6)


def test_tool_result_between_nags_starts_the_count_anew() -> None:
    script = run()
    for n in range(4):
        script.say("solver", WORK[n]).call("count", {"mole": n}, f"{n * 3} berths").proxy(NAG)
    assert watched(script.events).worst(MODE) == "silent"


def test_empty_messages_in_a_row() -> None:
    script = run().say("a", "").say("b", "").say("a", "")
    seen = watched(script.events)
    assert (seen.at(MODE, Severity.WARN), seen.at(MODE, Severity.ALERT)) == (2, 3)


def test_withheld_text_is_not_empty() -> None:
    script = run()
    for n in range(12):
        script.say("ab"[n % 2], None)
    assert watched(script.events).findings == ()


def test_answer_restated_after_three_idle_turns() -> None:
    script = run().say("solver", r"It is \boxed{31}.")
    for n in range(3):
        script.say("critic", WORK[n])
    script.say("solver", r"As I said, it is \boxed{31}.")
    assert watched(script.events).at(MODE, Severity.WARN) == 5


def test_answer_checked_with_tools_may_be_restated() -> None:
    script = run().say("solver", r"It is \boxed{31}.")
    for n in range(3):
        script.call("count", {"mole": n}, f"{n * 3} berths")
    script.say("solver", r"As I said, it is \boxed{31}.")
    assert watched(script.events).worst(MODE) == "silent"


def test_talk_without_numbers_before_any_work_is_no_chatter() -> None:
    script = run("There are 12 berths north and 19 south; how many are there in both moles?")
    for n in range(5):
        script.say("abc"[n % 3], WORK[n])
    assert watched(script.events).worst(MODE) == "silent"


@pytest.mark.parametrize(("token", "level"), [("TERMINATE", "suspect"), ("", "info")])
def test_budget_is_nobodys_fault_where_no_word_ends_the_run(token: str, level: str) -> None:
    tokens = (token,) if token else ()
    script = Script().start(contract=Contract(tokens=tokens, max_messages=12))
    for n in range(12):
        script.say("ab"[n % 2], f"{WORK[n % 6]} This was part {n} of the count.")
    assert watched(script.end("limit").events).worst(MODE) == level


def test_claim_in_a_script_without_spaces() -> None:
    script = run().say("solver", "一共有三十一个泊位。TERMINATE")
    script.say("critic", "让我们重新检查一下整个港口的清单，从北边的防波堤开始。")
    assert watched(script.events).worst(MODE) == "warn"


def test_farewells_answered_with_nothing_are_a_loop() -> None:
    script = run().say("solver", "There are 31 berths.")
    for text in ("Thank you and goodbye!", "You're welcome, take care."):
        script.say("solver", text).say("proxy", "", kind="auto_reply")
    assert watched(script.events).at(MODE, Severity.WARN) == 5


def test_program_that_repeats_itself_is_told_from_a_model_by_its_model_calls() -> None:
    """Live chats give proxies the role of assistants; only model calls tell them apart."""
    script = run()
    for n in range(3):
        script.asks("solver", ("user", f"question {n}")).say("solver", STUCK[n]).say("proxy", NAG)
    seen = watched(script.events)
    assert (seen.worst(MODE), seen.worst("FM-1.3")) == ("warn", "silent")


def test_second_conversation_in_a_run_is_not_the_first_going_on() -> None:
    script = run().say("solver", "The sum is 31. TERMINATE")
    script.start("Count the lamps.").task("Count the lamps of both moles.").say("solver", WORK[0])
    assert watched(script.events).worst(MODE) == "silent"


def test_proxy_set_up_to_say_go_on_is_no_nagger_while_the_work_goes_on() -> None:
    """A canned "please go on" every second turn, and each reply brings something new."""
    script = run("Write about the harbour in six parts.")
    for part in WORK:
        script.say("writer", part).say("proxy", NAG, kind="auto_reply", role="user")
    seen = watched(script.say("writer", "That was the last part. TERMINATE").end().events)
    assert seen.worst(MODE) == "suspect", seen.findings


def test_work_that_runs_dry_makes_a_nagger() -> None:
    script = run()
    for text in (*WORK[:3], *STUCK):
        script.say("solver", text).proxy(NAG)
    seen = watched(script.events)
    assert seen.at(MODE, Severity.WARN) in (10, 12, 14), seen.findings


def group_turns(*texts: tuple[str, str]) -> Script:
    script = run()
    for agent, text in texts:
        proxy = agent.startswith("proxy")
        script.say(agent, text, kind="auto_reply" if proxy else "reply")
    return script


def test_silent_proxies_in_a_group_have_their_turn_and_no_loop() -> None:
    rounds = [
        turn
        for n in range(3)
        for turn in (("a", WORK[n]), ("b", WORK[n + 3]), ("proxy1", ""), ("proxy2", ""))
    ]
    assert watched(group_turns(*rounds).end().events).worst(MODE) == "silent"
    # Nor when the proxies come before any model.
    assert watched(group_turns(*rounds[2:]).end().events).worst(MODE) == "silent"


def test_silent_proxies_that_only_have_each_other_are_a_loop() -> None:
    turns = [("a", WORK[0]), ("b", WORK[1]), *[("proxy1", ""), ("proxy2", "")] * 3]
    seen = watched(group_turns(*turns).events)
    assert (seen.at(MODE, Severity.WARN), seen.at(MODE, Severity.ALERT)) == (5, 6)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_short_chat_is_not_said_to_run_out(limit: int) -> None:
    contract = Contract(tokens=("TERMINATE",), max_messages=limit)
    script = Script().start(contract=contract).task("Count the berths of both moles.")
    for n in range(limit):
        script.say("ab"[n % 2], WORK[n])
    assert watched(script.end("limit").events).findings == ()


def stations(*after: str) -> Script:
    """A pipeline whose first station ends its part with an answer marker."""
    script = run("May the mole be built on?").say("lawyer", "FINAL ANSWER: the law allows it.")
    for n, agent in enumerate(after):
        script.say(agent, WORK[n])
    return script.end()


@pytest.mark.parametrize(
    ("after", "level"),
    [
        (("editor",), "suspect"),
        (("editor", "printer", "clerk"), "suspect"),
        (("editor", "editor"), "suspect"),
        (("lawyer",), "warn"),
        (("editor", "lawyer"), "alert"),
        (("editor", "printer", "editor"), "alert"),
        (("user",), "warn"),
    ],
)
def test_stations_after_an_answer_marker_are_a_pipeline_until_one_comes_again(
    after: tuple[str, ...], level: str
) -> None:
    assert watched(stations(*after).events).worst(MODE) == level


def test_experts_side_by_side_may_each_give_a_final_answer() -> None:
    script = run("Shall we build on the mole?")
    for agent, why in (("lawyer", "law"), ("accountant", "budget"), ("engineer", "team")):
        script.say(agent, f"FINAL ANSWER: the {why} allows it.")
    script.say("chief", "We can build it, for law, budget and team have no objection.")
    assert watched(script.end().events).worst(MODE) == "suspect"


def test_marker_that_the_contract_names_ends_the_run() -> None:
    script = Script().start(contract=Contract(tokens=("FINAL ANSWER",)))
    script.say("lawyer", "All is said. FINAL ANSWER").say("editor", WORK[0])
    assert watched(script.events).worst(MODE) == "warn"


@pytest.mark.parametrize(("numbers", "level"), [(False, "warn"), (True, "suspect")])
def test_proxy_that_presses_for_a_number_is_a_nagger_while_none_is_new(
    numbers: bool, level: str
) -> None:
    script = run("There are 12 berths north and 19 south; how many are there in both moles?")
    for n, part in enumerate(WORK[:3]):
        figure = f" It has {n * 7 + 40} bollards." if numbers else ""
        script.say("solver", part + figure).proxy(NAG)
    assert watched(script.events).worst(MODE) == level


def test_partner_that_has_become_brief_is_at_no_work_whatever_the_words() -> None:
    script = run()
    for n in range(3):
        script.say("solver", f"{WORK[n]} {WORK[n + 1]} {WORK[n + 2]}").human("Thank you.")
    for text in (
        "Nothing is left to be done here.",
        "My list above is whole.",
        "It stays at that.",
    ):
        script.proxy(NAG).say("solver", text)
    assert watched(script.events).at(MODE, Severity.WARN) == 11
