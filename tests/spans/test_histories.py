"""Which run a bare model call joins, and what its request tells."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

import pytest

from mastwatch.events import MessageSent, ModelCalled, RequestMessage, RunStarted, ToolRequest
from mastwatch.spans.emit import Emitter, HistoryMessage
from mastwatch.testing.recording import Recording

PLAN = "First we count the apples, then we weigh the pears."
DRAFT = "There are seven apples and they weigh one pound."


@pytest.fixture
def seen() -> Iterator[Recording]:
    recording = Recording()
    yield recording
    recording.emitter.histories.close()
    recording.check()


def system(text: str, name: str = "") -> RequestMessage:
    return RequestMessage(role="system", content=text, name=name)


def user(text: str, name: str = "") -> RequestMessage:
    return RequestMessage(role="user", content=text, name=name)


def said(text: str, *calls: tuple[str, str]) -> HistoryMessage:
    asked = tuple(ToolRequest(name=name, arguments={"n": 1}, call_id=id) for name, id in calls)
    return HistoryMessage(role="assistant", content=text, tool_calls=asked)


def result(text: str, id: str) -> HistoryMessage:
    return HistoryMessage(role="tool", content=text, call_id=id)


def ask(
    seen: Recording, *request: RequestMessage, answer: str | HistoryMessage = "", **more
) -> str:
    """Make a call; returns the id of the run it joined."""
    emitter = seen.emitter if isinstance(seen, Recording) else seen
    exchange = emitter.histories.begin(request, framework="openai", model="m", **more)
    message = answer if isinstance(answer, HistoryMessage) else said(answer)
    exchange.answered(message.content, tool_calls=message.tool_calls)
    return exchange.run.id


def test_a_request_that_extends_a_history_goes_on_with_its_run(seen):
    first = ask(seen, user("Hello"), answer="Hi")
    assert ask(seen, user("Hello"), said("Hi"), user("How are you?"), answer="Fine") == first
    assert ask(seen, user("Hello"), answer="Hi") != first
    assert seen.said == [
        ("assistant", "Hi"),
        ("user", "How are you?"),
        ("assistant", "Fine"),
        ("assistant", "Hi"),
    ]
    (human,) = seen.of(MessageSent, sender="user")
    assert (human.kind, human.role, human.recipients) == ("human", "user", ("assistant",))


def test_two_equal_conversations_side_by_side_stay_two_runs(seen):
    runs = [ask(seen, user("Hello"), answer="Hi") for _ in range(2)]
    history = [user("Hello"), said("Hi"), user("Bye")]
    assert sorted(ask(seen, *history, answer="Bye") for _ in range(2)) == sorted(runs)


def test_tools_are_told_when_their_results_are_sent_back(seen):
    asks = said("", ("count", "c1"), ("weigh", "c2"))
    ask(seen, user("Count"), answer=asks)
    assert seen.tools == []
    ask(seen, user("Count"), asks, result("7", "c1"), result("1 lb", "c2"), answer="Done.")
    assert seen.tools == [("assistant", "count", {"n": 1}), ("assistant", "weigh", {"n": 1})]
    assert seen.results == [("count", "7", None), ("weigh", "1 lb", None)]
    assert [m.index for m in seen.of(MessageSent)] == [0, 3]


def test_a_trimmed_history_is_found_by_its_tool_results(seen):
    asks = said("", ("count", "c1"))
    run = ask(seen, user("A long preface"), user("Count"), answer=asks)
    assert ask(seen, asks, result("7", "c1"), answer="Done.") == run
    assert seen.results == [("count", "7", None)]


def test_a_trimmed_history_is_found_by_its_latest_answer(seen):
    run = ask(seen, user("Hello"), answer=PLAN)
    assert ask(seen, said(PLAN), user("Go on"), answer=DRAFT) == run
    assert seen.said == [("assistant", PLAN), ("user", "Go on"), ("assistant", DRAFT)]


def test_agents_of_a_team_that_share_a_transcript(seen):
    planner, writer = system("You plan."), system("You write.")
    task = user("Report on fruit")
    run = ask(seen, planner, task, answer="Ok: plan.")
    assert ask(seen, writer, task, user("Ok: plan."), answer="Text.") == run
    history = [task, said("Ok: plan."), user("Text.")]
    assert ask(seen, planner, *history, answer="Good.") == run
    assert seen.said == [
        ("assistant", "Ok: plan."),
        ("assistant-2", "Text."),
        ("assistant", "Good."),
    ]


def test_agents_of_a_team_that_hand_texts_to_each_other(seen):
    planner, writer, critic = (system(f"You are the {who}.", who) for who in ("p", "w", "c"))
    run = ask(seen, planner, user("Plan a report"), answer=PLAN)
    assert ask(seen, writer, user(f"Follow this plan:\n{PLAN}"), answer=DRAFT) == run
    assert ask(seen, critic, user(f"Plan: {PLAN}\nDraft: {DRAFT}"), answer="Too short.") == run
    assert seen.said == [("p", PLAN), ("w", DRAFT), ("c", "Too short.")]


def test_one_agent_that_is_fed_its_own_texts(seen):
    run = ask(seen, user("Plan a report"), answer=PLAN)
    assert ask(seen, user(f"Write it:\n{PLAN}"), answer=DRAFT) == run
    assert ask(seen, user(f"{PLAN}\n{DRAFT}\nImprove it."), answer="Better now.") == run
    assert {m.branch for m in seen.of(MessageSent)} == {""}
    assert {m.sender for m in seen.of(MessageSent)} == {"assistant"}


def test_a_text_of_several_runs_ties_nothing_together(seen):
    runs = {ask(seen, user(f"Plan {which}"), answer=PLAN) for which in ("a", "b", "c")}
    assert ask(seen, system("You write."), user(f"Do: {PLAN}"), answer=DRAFT) not in runs


def test_equal_pipelines_at_the_same_time_stay_apart(seen):
    runs = [ask(seen, user("Plan"), answer=PLAN) for _ in range(3)]
    written = [ask(seen, system("You write."), user(f"Do: {PLAN}"), answer=DRAFT) for _ in runs]
    assert sorted(written) == sorted(runs)
    assert {m.branch for m in seen.of(MessageSent)} == {""}


def test_short_answers_tie_nothing_together(seen):
    run = ask(seen, user("Is it?"), answer="Yes.")
    assert ask(seen, system("You write."), user("Yes."), answer="Ok") != run


def test_an_answer_in_a_form_that_was_given_ties_nothing_together(seen):
    form = 'Answer {"sentiment": "positive"} or {"sentiment": "negative"}:'
    examples = [user("Good!"), said('{"sentiment": "positive"}')]
    for shown in ([], examples):
        runs = [
            ask(seen, *shown, user(f"{form} review {n}"), answer='{"sentiment": "positive"}')
            for n in range(4)
        ]
        assert len(set(runs)) == 4


def test_many_users_who_begin_alike_stay_apart(seen):
    hello = [user("Hello"), said("Hello, how can I help you today?"), user("Where is it?")]
    for known in (1, 3):
        for _ in range(50):
            ask(seen, *hello[:known], answer="Hello, how can I help you today?")
    for number in range(50):
        history = [*hello, said("Hello, how can I help you today?"), user(f"Order {number}")]
        ask(seen, *history, answer="On its way.")
    assert {m.branch for m in seen.of(MessageSent)} == {""}
    orders = [m for m in seen.of(MessageSent) if (m.text or "").startswith("Order")]
    assert len({m.run_id for m in orders}) == len(seen.of(RunStarted)) == 50


def test_many_uses_of_one_answer_stand_side_by_side(seen):
    run = ask(seen, user("Make a rubric"), answer=PLAN)
    grade = system("You grade.")
    for number in range(4):
        assert ask(seen, grade, user(f"{PLAN}\nEssay {number}"), answer="A fine essay.") == run
    branches = [m.branch for m in seen.of(MessageSent, text="A fine essay.")]
    assert len(set(branches)) == 4


def test_the_same_history_again_is_a_branch(seen):
    history = [user("Hello"), said("Hi"), user("A joke?")]
    ask(seen, *history[:1], answer="Hi")
    runs = {ask(seen, *history, answer=f"Joke {n}") for n in range(3)}
    assert len(runs) == 1
    assert len({m.branch for m in seen.of(MessageSent) if (m.text or "").startswith("J")}) == 3
    assert len(seen.models) == 4
    assert len(seen.of(MessageSent, sender="user")) == 1


def test_what_a_program_says_again_and_again_is_no_utterance(seen):
    history: list[RequestMessage] = [user("Write")]
    for part in ("One.", "Two.", "Three."):
        ask(seen, *history, answer=part)
        history += [said(part), user("Go on.")]
    assert [text for _, text in seen.said] == ["One.", "Go on.", "Two.", "Three."]


def test_what_failed_and_is_asked_again_goes_on(seen):
    exchange = seen.emitter.histories.begin([user("Hello")], framework="openai")
    exchange.failed(ValueError("x"))
    assert ask(seen, user("Hello"), answer="Hi") == exchange.run.id
    assert ask(seen, user("Hello"), said("Hi"), user("So?"), answer="Fine.") == exchange.run.id
    assert [m.error for m in seen.models] == ["ValueError", None, None]


def test_a_provider_that_keeps_the_history(seen):
    begin = seen.emitter.histories.begin
    first = begin([user("Hello")], framework="openai", follows="conv_1")
    first.answered("Hi", id="resp_1")
    second = begin([user("More")], framework="openai", follows="resp_1")
    second.answered("Here", id="resp_2")
    third = begin([user("More")], framework="openai", follows="conv_1")
    third.answered("There", id="resp_3")
    again = begin([user("Else")], framework="openai", follows="resp_1")
    again.answered("Other", id="resp_4")
    assert {x.run.id for x in (first, second, third, again)} == {first.run.id}
    assert [x.run.branch for x in (first, second, third)] == ["", "", ""]
    assert again.run.branch
    assert [m.request for m in seen.models] == [None] * 4


def test_a_prompt_that_tells_the_time_names_the_same_agent(seen):
    ask(seen, system("It is 12:01."), user("Hello"), answer="Hi")
    ask(seen, system("It is 12:02."), user("Hello"), said("Hi"), user("So?"), answer="So.")
    assert {m.agent for m in seen.of(ModelCalled)} == {"assistant"}


def test_withheld_texts_join_nothing(seen):
    hidden = RequestMessage(role="user", content=None)
    assert ask(seen, hidden, answer="") != ask(seen, hidden, answer="")


def test_examples_are_not_the_task(seen):
    ask(seen, user("2+2"), said("4"), user("3+3"), answer="6")
    assert [start.task for start in seen.of(RunStarted)] == ["3+3"]


def test_in_a_run_of_the_hosts_own(seen):
    run = seen.emitter.start_run("mine", framework="custom")
    with run.attached():
        asks = said("", ("count", "c1"))
        assert ask(seen, system("You count."), user("Count"), answer=asks) == run.id
        ask(seen, system("You count."), user("Count"), asks, result("7", "c1"), answer="7")
        ask(seen, system("You write."), user("Write"), answer="Seven.")
    run.finish("completed")
    assert seen.said == [("assistant", ""), ("assistant", "7"), ("assistant-2", "Seven.")]
    assert seen.results == [("count", "7", None)]


def test_the_runs_at_once_are_bounded(seen, monkeypatch):
    monkeypatch.setattr("mastwatch.spans.histories.desk.MAX_OPEN", 10)
    for number in range(50):
        ask(seen, user(f"Number {number}"), answer="Ok")
    assert len(seen.ends) == 39 + 1
    assert set(seen.ends) == {("completed", "no further call")}


def test_an_idle_run_ends_at_the_next_start():
    recording = Recording()
    emitter = Emitter(recording, recording.provider.get_tracer("t"), idle_timeout=0.0)
    ask(emitter, user("One"), answer="Ok")
    ask(emitter, user("One"), said("Ok"), user("Two"), answer="Ok")
    assert recording.ends == []
    ask(emitter, user("Else"), answer="Ok")
    assert recording.ends == [("completed", "no further call")]


def test_threads_keep_their_conversations_apart(seen):
    def converse(number: int) -> None:
        history: list[RequestMessage] = [user(f"Topic {number}")]
        for turn in range(10):
            ask(seen, *history, answer=f"Answer {turn} on {number}")
            history += [said(f"Answer {turn} on {number}"), user(f"Question {turn} on {number}")]

    threads = [threading.Thread(target=converse, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for started in seen.of(RunStarted):
        topic = (started.task or "").removeprefix("Topic ")
        texts = [m.text or "" for m in seen.of(MessageSent, run_id=started.run_id)]
        assert len(texts) == 19
        assert all(text.endswith(f"on {topic}") for text in texts)


def test_requests_that_begin_a_conversation_at_once_begin_one_run(seen, monkeypatch):
    both, start_run = threading.Barrier(2, timeout=5), seen.emitter.start_run

    def slowly(*args, **kwargs):
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)
        return start_run(*args, **kwargs)

    monkeypatch.setattr(seen.emitter, "start_run", slowly)
    threads = [
        threading.Thread(target=ask, args=(seen, user(f"Part {n}")), kwargs={"follows": "conv_1"})
        for n in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({started.run_id for started in seen.of(RunStarted)}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_parents_runs_alone(seen):
    run = ask(seen, user("Hello"), answer="Hi")
    child = os.fork()
    if child == 0:
        seen.emitter.histories.close()
        other = ask(seen, user("Hello"), said("Hi"), user("So?"), answer="Fine")
        os._exit(0 if other != run and not seen.ends else 1)
    assert os.waitpid(child, 0)[1] == 0
