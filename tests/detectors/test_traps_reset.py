"""The traps of conversation reset (numbers of the trap catalogue: 12 and 33 to 38), and R1."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mastwatch.events import ModelCalled, Role, ToolRequest
from mastwatch.findings import Severity
from mastwatch.testing import Script, watched

MODE = "FM-2.1"
TASK = (
    "Plan a voyage from the northern harbour to the southern harbour that passes both "
    "lighthouses, needs no pilot and ends before the evening tide turns."
)
OPENING = (
    "The voyage has to pass both lighthouses, so we first need the chart of the coast and the "
    "tide table of the day; the navigator shall fetch the chart of the northern waters."
)
SECOND = (
    "The chart names the lights, so the navigator now shall fetch the tide table of the southern "
    "harbour and read from it when the evening tide turns there."
)
LATER = [
    "Both the chart and the table are here; the mate shall compute how long the first leg takes.",
    "The first leg takes three hours, so the mate now computes the leg between the lighthouses.",
    "What is left is the entry of the harbour, for which the depth over the bar must be known.",
]
History = list[tuple[Role, str | None]]


def history(length: int) -> History:
    lines: History = [("system", "You navigate."), ("user", TASK)]
    for n in range(length):
        lines.append(("assistant", f"Leg {n} runs {n * 3} miles along the coast."))
    return lines


def requests(*steps: History, agent: str = "navigator") -> Script:
    script = Script().start(TASK)
    for n, step in enumerate(steps):
        script.asks(agent, *step)
        script.say(agent, f"Leg {n} runs {n * 3} miles along the coast from light {n * 5}.")
    return script


def replanned(*, old_actions: bool) -> Script:
    """33 and 34."""
    script = Script().start(TASK).task(TASK)
    for n in range(3):
        script.say("mate", LATER[n])
        script.call("open_chart", {"number": n}, f"chart {n} with {n * 9} soundings", agent="mate")
    script.say("orchestrator", f"New plan: we are working to address the following. {TASK}")
    for n in range(3):
        number = n if old_actions else n + 10
        script.call("open_chart", {"number": number}, f"chart {number}", agent="mate")
    return script


def cleared_early() -> Script:
    """35a: before the first turn."""
    script = Script().start(TASK).task(TASK).clears("mate")
    script.say("mate", LATER[0]).end()
    return script


def cleared_between() -> Script:
    """35d: one run is over, the next begins with the same task and a fresh history."""
    script = Script().start(TASK).task(TASK).say("mate", LATER[0]).say("mate", LATER[1]).end()
    again = Script("next").clears("mate").start(TASK).task(TASK)
    script.events += again.say("mate", LATER[0]).say("mate", LATER[1]).end().events
    return script


def announced(*, cleared: bool = False, requests: bool = False) -> Script:
    """35e: a second conversation with the same task, within one run id."""
    script = Script()
    for n in range(2):
        if n and cleared:
            script.clears("planner")
        script.start(TASK).task(TASK)
        for k, text in enumerate((OPENING, SECOND, LATER[0])):
            if requests:
                script.asks("planner", *history(k))
            script.say("planner", text).call("open_chart", {"n": k}, f"chart {k}", agent="mate")
    return script.end()


def nested() -> Script:
    """35b: a nested chat with a fresh history is a branch of its own."""
    script = requests(history(0), history(2), history(4))
    part = Script(branch="nested")
    part.task(TASK).asks("navigator", *history(0)).say("navigator", LATER[1])
    script.events += part.events
    script.asks("navigator", *history(6)).say("navigator", LATER[2])
    return script


def summariser() -> Script:
    """36: other system prompts, short histories, same agent."""
    script = requests(history(0), history(2), history(4))
    script.asks("navigator", ("system", "You give titles."), ("user", TASK))
    script.asks("navigator", ("system", "You judge."), *history(4)[1:])
    script.asks("navigator", ("system", "You give titles."), ("user", TASK))
    return script.asks("navigator", *history(6))


def narrator() -> Script:
    """37: an agent that does not lead opens all its messages alike."""
    script = Script().start(TASK).task(TASK)
    for n, text in enumerate([OPENING, SECOND, *LATER]):
        script.say("planner", text)
        same = "Here is the screen of the chart viewer with its tools on the left and the chart on "
        script.say("viewer", f"{same} the right: {' '.join(f'rock{n}{k}' for k in range(30))}")
    return script


def resumed() -> Script:
    """38: interrupt and resume; the history goes on where it was."""
    script = requests(history(0), history(2)).end("paused")
    script.approves().start(resumed=True)
    return script.asks("navigator", *history(4)).say("navigator", LATER[0]).end()


def compacted() -> Script:
    """12: earlier results become a summary, then the same file is read again."""
    script = Script().start(TASK)
    script.call("read_file", {"path": "lights.txt"}, "two lights, one white and one red")
    for length in (0, 2, 4, 8):
        script.asks("navigator", *history(length))
        script.say("navigator", f"Leg {length} runs {length * 3} miles along the coast.")
    summary = "Summary of the conversation so far: " + "the legs are known and their lights. " * 20
    script.asks("navigator", *history(0), ("assistant", summary))
    return script.call("read_file", {"path": "lights.txt"}, "two lights, one white and one red")


CASES: list[tuple[str, Callable[[], Script], str]] = [
    ("12 compaction", compacted, "silent"),
    ("33 replan, new actions", lambda: replanned(old_actions=False), "silent"),
    ("34 replan, old actions", lambda: replanned(old_actions=True), "warn"),
    ("35a cleared before the first turn", cleared_early, "silent"),
    ("35b nested chat", nested, "silent"),
    ("35d cleared between two runs", cleared_between, "silent"),
    ("35e announced anew", announced, "silent"),
    ("35f announced anew, cleared before", lambda: announced(cleared=True), "silent"),
    ("35g announced anew, requests visible", lambda: announced(requests=True), "silent"),
    ("36 summariser, title, judge", summariser, "silent"),
    ("37 narrator", narrator, "silent"),
    ("38 interrupt and resume", resumed, "silent"),
]


@pytest.mark.parametrize(("build", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_trap(build: Callable[[], Script], expected: str) -> None:
    seen = watched(build().events)
    assert seen.worst(MODE) == expected, seen.findings
    assert seen.worst("FM-1.3") == "silent", seen.findings


def test_replan_and_compaction_are_notices() -> None:
    assert watched(replanned(old_actions=False).events).named("replan") == 1
    assert watched(compacted().events).named("compaction") == 1


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        (history(0), "alert"),
        (history(6)[1:], "alert"),
        ([("system", "You navigate."), *history(6)[4:]], "silent"),
        (history(6), "silent"),
    ],
    ids=["started over", "no system prompt", "trimmed", "grown"],
)
def test_request_chain(then: History, expected: str) -> None:
    seen = watched(requests(history(0), history(2), history(4), then).events)
    assert seen.worst(MODE) == expected, seen.findings
    if expected != "silent":
        assert seen.findings[0].agent == "navigator"
        assert seen.findings[0].message_index == 2  # before row 3 is spoken


@pytest.mark.parametrize("drop", [slice(0, 1), slice(1, 2)], ids=["system prompt", "task"])
def test_a_loss_is_said_once(drop: slice) -> None:
    steps = [history(n) for n in (0, 2, 4, 6, 8, 10)]
    for step in steps[3:]:
        del step[drop]
    assert watched(requests(*steps).events).episodes(MODE) == 1


def without_task(length: int) -> History:
    return [*history(0)[:1], *history(length)[2:]]


def test_lost_task_is_told_from_a_sliding_window_by_the_request_after() -> None:
    steps = [history(0), history(2), history(4), without_task(6), without_task(8)]
    seen = watched(requests(*steps).events)
    assert seen.at(MODE, Severity.WARN) == 3
    assert watched(requests(*steps[:-1]).events).findings == ()


@pytest.mark.parametrize("width", [3, 4, 5, 8])
def test_window_that_slides_by_exactly_one_message_is_a_notice(width: int) -> None:
    steps = [[*history(0)[:1], *history(n)[1:][-width:]] for n in range(14)]
    seen = watched(requests(*steps).events)
    assert seen.findings == ()
    assert seen.named("compaction") == 1


def test_sliding_window_is_a_notice_once() -> None:
    steps = [[*history(0)[:1], *history(2 * n)[1:][-5:]] for n in range(8)]
    seen = watched(requests(*steps).events)
    assert seen.findings == ()
    assert seen.named("compaction") == 1


def test_request_chain_with_content_withheld_is_suspect_at_most() -> None:
    steps = [[(role, None) for role, _ in history(n)] for n in (0, 2, 4, 0)]
    assert watched(requests(*steps).events).worst(MODE) == "suspect"


def test_agents_that_always_ask_afresh_are_silent() -> None:
    assert watched(requests(*[history(0)] * 6).events).worst(MODE) == "silent"


def test_opening_replayed_is_suspect_and_alert_once_the_next_message_follows_suit() -> None:
    script = Script().start(TASK).task(TASK)
    for text in (OPENING, SECOND, *LATER, OPENING, SECOND):
        script.say("planner", text)
    seen = watched(script.events)
    assert (seen.at(MODE, Severity.SUSPECT), seen.at(MODE, Severity.ALERT)) == (6, 7)
    assert seen.episodes(MODE) == 1


def test_harness_that_starts_itself_anew_makes_a_replay_sure() -> None:
    script = Script().start(TASK).system("Initialised the harness for voyage 12")
    for text in (OPENING, SECOND, LATER[0]):
        script.say("planner", text)
    script.system("Initialised the harness for voyage 12").say("planner", OPENING)
    seen = watched(script.events)
    assert (seen.at(MODE, Severity.SUSPECT), seen.at(MODE, Severity.ALERT)) == (4, 5)


def test_history_cleared_in_mid_run_is_suspect() -> None:
    script = Script().start(TASK).say("mate", LATER[0]).clears("mate").say("mate", LATER[1])
    assert watched(script.events).worst(MODE) == "suspect"


def test_restart_in_a_second_conversation_is_found_there() -> None:
    script = announced()
    script.events.pop()
    row = script.row
    script.say("planner", OPENING).say("planner", SECOND)
    seen = watched(script.events)
    assert (seen.at(MODE, Severity.SUSPECT), seen.at(MODE, Severity.ALERT)) == (row, row + 1)


def test_resumed_run_is_no_second_conversation() -> None:
    script = Script().start(TASK).task(TASK)
    for text in (OPENING, SECOND, LATER[0]):
        script.say("planner", text)
    script.start(TASK, resumed=True).say("planner", OPENING).say("planner", SECOND)
    assert watched(script.events).worst(MODE) == "alert"


def test_two_replans_are_a_reset() -> None:
    script = replanned(old_actions=False)
    script.say("orchestrator", f"New plan: we begin with the following request. {TASK}")
    assert watched(script.events).worst(MODE) == "warn"


def in_turns(*turns: tuple[History, ...]) -> Script:
    """A run of one agent whose turns each make these requests."""
    script = Script().start(TASK)
    for n, steps in enumerate(turns):
        for length, step in enumerate(steps):
            script.asks("navigator", *step, turn=f"turn {n}")
            script.call("sound", {"turn": n, "step": length}, f"depth {n * 9 + length}")
        script.say("navigator", f"Leg {n} runs {n * 3} miles along the coast from light {n * 5}.")
    return script


def test_a_worker_called_anew_each_turn_has_lost_nothing() -> None:
    """35c: each invocation is a thread of its own, which starts with its order."""
    thread = (history(0), history(2), history(4))
    assert watched(in_turns(thread, thread, thread).events).findings == ()


def test_a_lead_whose_turns_build_on_one_another_is_found_when_they_do_not() -> None:
    first, second, third = (history(0), history(2)), (history(4), history(6)), (history(8),)
    found = watched(in_turns(first, second, third, first).events).findings
    assert [(f.mode, f.severity) for f in found] == [(MODE, Severity.ALERT)]


def test_a_history_lost_within_a_turn_is_found() -> None:
    turn = (history(0), history(2), history(4), history(0))
    found = watched(in_turns((history(0), history(2)), turn).events).findings
    assert [(f.mode, f.severity) for f in found] == [(MODE, Severity.ALERT)]


def test_what_several_rules_see_of_one_restart_is_one_episode() -> None:
    script = Script().start(TASK).task(TASK)
    for n, text in enumerate((OPENING, SECOND, *LATER)):
        script.asks("navigator", *history(2 * n)).say("navigator", text)
        script.call("open_chart", {"number": n}, f"chart {n} with {n * 9} soundings")
    script.asks("navigator", *history(0)).say("navigator", OPENING)
    found = [f for f in watched(script.events).findings if f.mode == MODE]
    assert [f.severity for f in found] == [Severity.ALERT]
    assert found[0].agent == "navigator"


@pytest.mark.parametrize("same", [True, False])
def test_lead_that_works_by_calls_restarts_with_its_call(same: bool) -> None:
    """Most of an agent's messages may be bare tool calls; they count as its steps, too."""
    script = Script().start(TASK).task(TASK).say("captain", OPENING)
    for n in range(4):
        call = ToolRequest(name="open_chart", arguments={"number": n})
        script.say("captain", "", calls=[call])
        script.call("open_chart", {"number": n}, f"chart {n}, {n * 9} soundings", agent="captain")
    row = script.row
    number = 0 if same else 7
    script.say("captain", OPENING)
    script.say("captain", "", calls=[ToolRequest(name="open_chart", arguments={"number": number})])
    seen = watched(script.events)
    assert seen.at(MODE, Severity.SUSPECT) == row
    assert seen.at(MODE, Severity.ALERT) == (row + 1 if same else None)


def test_request_cut_below_its_first_length_is_a_reset() -> None:
    script = requests(history(3), history(4), history(0))
    assert watched(script.events).worst(MODE) == "alert"


def window(*lines: str, width: int) -> Script:
    """A request per reply, cut to its last messages as AG2's MessageHistoryLimiter cuts it."""
    said: History = [("user", TASK)]
    script = Script().start(TASK).task(TASK)
    for line in lines:
        script.asks("navigator", ("system", "You navigate."), *said[-width:])
        script.say("navigator", line).say("mate", "go on", kind="auto_reply")
        said += [("assistant", line), ("user", "go on")]
    return script


@pytest.mark.parametrize("width", [3, 5])
def test_window_that_slides_over_words_said_again_has_not_lost_the_task(width: int) -> None:
    lines = [f"Leg {n} runs {n * 3} miles along the coast." for n in range(9)]
    seen = watched(window(*lines, width=width).events)
    assert seen.worst(MODE) == "silent", seen.findings
    assert seen.named("compaction") == 1


def test_task_alone_is_lost_from_a_long_history() -> None:
    steps = [history(38), history(40), without_task(40), without_task(42)]
    assert watched(requests(*steps).events).worst(MODE) == "warn"


def test_request_shorter_than_the_last_without_the_task_is_no_window() -> None:
    assert watched(requests(history(8), history(40), without_task(40)).events).worst(MODE) == "warn"


def opened_by(agent: str, opener: str, *, cleared: bool, again: str = "") -> Script:
    """AG2: ``initiate_chat(message=...)`` says the lead's first words for it, without its model.

    The worker has no model and speaks before the lead's is called.
    """
    script = Script().start(opener).say(agent, opener, kind="opener", role="user")
    for n, line in enumerate((*LATER, again or opener, LATER[0])):
        script.say("worker", f"Part {n} is ready: it holds {n * 7 + 2} entries of the pilot book.")
        if cleared and n == 3:
            script.clears("lead")
        script.asks("lead", ("user", f"request {n}")).say("lead", line)
    return script


@pytest.mark.parametrize(
    ("opener", "cleared", "expected"),
    [(OPENING, True, "alert"), ("Gather the figures.", True, "alert"), (OPENING, False, "alert")],
)
def test_opener_is_the_leads_opening(opener: str, cleared: bool, expected: str) -> None:
    seen = watched(opened_by("lead", opener, cleared=cleared).events)
    assert seen.worst(MODE) == expected, seen.findings
    assert seen.episodes(MODE) == 1


def test_opener_of_another_agent_is_not_the_leads_opening() -> None:
    seen = watched(opened_by("owner", OPENING, cleared=True, again=SECOND).events)
    assert seen.worst(MODE) == "suspect", seen.findings


def test_task_given_again_after_a_history_was_dropped_is_a_reset() -> None:
    script = Script().start(TASK).task(TASK)
    script.say("navigator", OPENING).say("mate", LATER[0]).clears("navigator").task(TASK)
    seen = watched(script.events)
    assert (seen.worst(MODE), seen.episodes(MODE)) == ("alert", 1)


def test_system_prompt_that_tells_the_time_is_one_prompt() -> None:
    steps = [history(n) for n in (0, 2, 4, 0)]
    for n, step in enumerate(steps):
        step[0] = ("system", f"You navigate. It is 10:{n + 12}.")
    assert watched(requests(*steps).events).worst(MODE) == "alert"


def side_by_side(*, reset: bool) -> Script:
    """23: several of one name, with one order and one opening, work at the same time."""
    script = Script().start(TASK)
    for length in (0, 2, 4, 6):
        for turn in "abc":
            lost = reset and (length, turn) == (6, "b")
            own = history(0 if lost else length)
            own[2:] = [(role, f"{turn}: {text}") for role, text in own[2:]]
            script.asks("navigator", *own, turn=turn)
            script.call("sound", {"turn": turn, "step": length}, f"depth {turn} {length * 9}")
    return script


def test_agents_of_one_name_side_by_side_have_lost_nothing() -> None:
    assert watched(side_by_side(reset=False).events).findings == ()


def test_one_of_several_side_by_side_that_starts_over_is_found() -> None:
    found = watched(side_by_side(reset=True).events).findings
    assert [(f.mode, f.severity) for f in found] == [(MODE, Severity.ALERT)]


@pytest.mark.parametrize("withheld", [False, True])
def test_requests_of_agents_come_interleaved(withheld: bool) -> None:
    script = Script().start(TASK)
    for length in (0, 2, 4, 6, 8):
        for agent in ("navigator", "mate", "pilot"):
            lost = (length, agent) == (8, "mate")
            step = [("system", f"You are the {agent}."), *history(0 if lost else length)[1:]]
            script.asks(agent, *((role, None if withheld else text) for role, text in step))
        script.say("navigator", f"Leg {length} runs {length * 3} miles along the coast.")
    found = watched(script.events).findings
    level = Severity.SUSPECT if withheld else Severity.ALERT
    assert [(f.agent, f.severity) for f in found] == [("mate", level)]


def test_history_that_shrinks_is_told_by_tokens_alone() -> None:
    script = Script().start(TASK)
    for n, tokens in enumerate((900, 1500, 2100, 2700, 900)):
        event = ModelCalled(run_id="run", index=-1, agent="navigator", input_tokens=tokens)
        script.events.append(event)
        script.say("navigator", f"Leg {n} runs {n * 3} miles along the coast.")
    assert [(f.mode, f.severity) for f in watched(script.events).findings] == [
        (MODE, Severity.SUSPECT)
    ]


def test_last_own_words_gone_is_a_reset() -> None:
    """The request had grown by what the agent said itself, and holds it no longer."""
    steps = [history(0), history(1), history(0)]
    assert watched(requests(*steps).events).worst(MODE) == "alert"


def test_who_greets_does_not_lead() -> None:
    """A manager that only introduces the team speaks first, but once."""
    script = Script().start(TASK).task(TASK)
    script.say("manager", "Hello everyone, this is our crew: a planner, a mate and a navigator.")
    script.say("planner", OPENING).say("mate", LATER[0]).say("planner", SECOND)
    script.say("mate", LATER[1]).say("planner", LATER[2]).say("planner", OPENING)
    row = script.row
    script.say("planner", SECOND)
    assert watched(script.events).at(MODE, Severity.ALERT) == row


def test_one_old_action_that_is_stuck_is_no_old_plan() -> None:
    script = replanned(old_actions=False)
    for _ in range(2):
        script.call("open_chart", {"number": 1}, "chart 1", agent="mate")
    assert watched(script.events).worst(MODE) == "silent"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The pilot of the northern harbour wants a berth for two nights.", "warn"),
        ("This time make it the eastern harbour, and three nights instead of two.", "suspect"),
    ],
)
def test_question_asked_again(answer: str, expected: str) -> None:
    question = "Which harbour do you want, and for how many nights shall the berth be booked?"
    script = Script().start(TASK).task(TASK)
    script.say("clerk", question)
    script.human("The pilot of the northern harbour wants a berth for two nights.")
    for text in LATER:
        script.say("clerk", text).human(f"Good: {text[:20]}")
    script.say("clerk", question).human(answer)
    assert watched(script.events).worst(MODE) == expected


def test_courtesy_asked_again_is_silent() -> None:
    script = Script().start(TASK).task(TASK)
    for text in LATER:
        script.say("clerk", f"{text[:30]} Is there anything else I can help you with today?")
        script.human("No, that is all for now. Thank you!")
    assert watched(script.events).worst(MODE) == "silent"


def test_log_written_three_times_has_the_same_findings() -> None:
    """14: every record three times, without ids; only the indices differ."""

    def found(times: int) -> list[tuple[str, str, int]]:
        script = Script(ids=False).start(TASK)
        for text in (OPENING, SECOND, *LATER, OPENING, SECOND, LATER[0]):
            for _ in range(times):
                script.say("planner", text)
            for _ in range(times):
                script.system("Initialised the harness for voyage 12")
        findings = watched(script.events).findings
        return [(f.mode, f.fingerprint, f.message_index // times) for f in findings]

    assert found(1) == found(2) == found(3) != []


@pytest.mark.parametrize("times", [1, 2, 3])
def test_requests_made_several_times_have_the_same_findings(times: int) -> None:
    """14: a retried request, or a log written twice, is no further one."""
    steps = [history(0), history(2), history(4), without_task(6), without_task(8), history(0)]
    script = Script().start(TASK)
    for n, step in enumerate(steps):
        for _ in range(times):
            script.asks("navigator", *step)
        script.say("navigator", f"Leg {n} runs {n * 3} miles along the coast from light {n * 5}.")
    found = [(f.severity, f.message_index) for f in watched(script.events).findings]
    assert found == [(Severity.WARN, 3), (Severity.ALERT, 4)]
