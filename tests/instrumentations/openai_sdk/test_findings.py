"""What is found, and what is not, in programs over the bare SDK."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import prometheus_client
import pytest

import mastwatch
from apps.openai_models import Model
from mastwatch.events import Event, MessageSent, RunFinished, RunStarted, ToolCalled
from mastwatch.sink import Sink

ANSWER = "The customer is content with the goods but would have liked them to arrive earlier."


def _by_prompt(asked: dict[str, Any]) -> str:
    """Says the same to the same system prompt."""
    prompt = next((m["content"] for m in asked["messages"] if m["role"] == "system"), "")
    return {
        "You translate.": "Der Kunde ist zufrieden, aber die Lieferung kam ihm zu spaet an.",
        "You grade.": "Four points of five, because the argument is sound but a source is missing.",
    }.get(prompt, ANSWER)


class Heard(Sink):
    name = "heard"

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.findings: list[Any] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)

    def on_finding(self, finding: Any) -> None:
        self.findings.append(finding)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def heard() -> Iterator[Heard]:
    registry = prometheus_client.CollectorRegistry()
    handle, heard = mastwatch.instrument(frameworks=["openai"], registry=registry), Heard()
    handle.add_sink(heard)
    yield heard
    handle.uninstrument()
    assert len(heard.of(RunStarted)) == len(heard.of(RunFinished))


def _ask(client: Any, *messages: tuple[str, str]) -> str:
    said = [{"role": role, "content": text} for role, text in messages]
    completion = client.chat.completions.create(model="gpt", messages=said)
    return completion.choices[0].message.content


def _equal(client: Any, number: int) -> None:
    _ask(client, ("system", "You summarise reviews."), ("user", "Summarise: fine, but late."))


def _different(client: Any, number: int) -> None:
    _ask(client, ("system", "You summarise reviews."), ("user", f"Summarise number {number}."))


def _with_examples(client: Any, number: int) -> None:
    example = ("user", "Summarise: broken."), ("assistant", "The customer is very angry indeed.")
    _ask(client, *example, ("user", "Summarise: fine, but late."))


def _pipeline(client: Any, number: int) -> None:
    summary = _ask(client, ("system", "You summarise."), ("user", "Summarise: fine, but late."))
    _ask(client, ("system", "You translate."), ("user", f"To German: {summary}"))


@pytest.mark.parametrize("job", [_equal, _different, _with_examples, _pipeline])
def test_a_batch_job_is_many_small_runs(heard: Heard, job: Callable[[Any, int], None]) -> None:
    client = Model(_by_prompt).client()
    for number in range(300):
        job(client, number)
    mastwatch.uninstrument()
    assert [f.explanation for f in heard.findings] == []
    assert len(heard.of(RunStarted)) == 300
    assert {event.outcome for event in heard.of(RunFinished)} == {"completed"}


def test_one_answer_in_many_prompts(heard: Heard) -> None:
    client = Model(_by_prompt).client()
    rubric = _ask(client, ("user", "Make a rubric."))
    for number in range(100):
        _ask(client, ("system", "You grade."), ("user", f"{rubric}\nGrade essay {number}."))
    assert [f.explanation for f in heard.findings] == []
    assert len(heard.of(RunStarted)) == 1 + 99  # one run, and a branch for all but the first


def test_a_question_asked_again_and_again_of_one_history(heard: Heard) -> None:
    client = Model(lambda asked: ANSWER if len(asked["messages"]) > 1 else "It is fine.").client()
    history = [("user", "Summarise."), ("assistant", _ask(client, ("user", "Summarise.")))]
    for _ in range(50):
        _ask(client, *history, ("user", "Is that all?"))
    assert [f.explanation for f in heard.findings] == []


def test_an_agent_that_repeats_its_tool_call_is_found_while_it_does(heard: Heard) -> None:
    client = Model(itertools.repeat({"search": {"q": "same"}})).client()
    history: list[Any] = [{"role": "system", "content": "You search."}]
    history.append({"role": "user", "content": "Find it."})
    for _ in range(6):
        message = client.chat.completions.create(model="gpt", messages=history).choices[0].message
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Nothing."}
        history += [message, result]
    assert {finding.mode for finding in heard.findings} == {"FM-1.3"}
    assert {finding.agent for finding in heard.findings} == {"assistant"}
    assert heard.of(RunFinished) == []


def test_a_run_of_the_hosts_own_whose_words_it_says_itself(heard: Heard) -> None:
    client = Model([{"search": {"q": "x"}}, ANSWER, "Good."]).client()
    with mastwatch.run("reviews") as run:
        _ask(client, ("system", "You search."), ("user", "Find it."))
        mastwatch.message("Scout", "")
        with mastwatch.tool("search", {"q": "x"}, agent="Scout") as call:
            call.result = "found"
        text = _ask(client, ("system", "You summarise."), ("user", "found"))
        mastwatch.message("Writer", text)
        mastwatch.message("Judge", _ask(client, ("system", "You judge."), ("user", text)))
    assert [m.text for m in heard.of(MessageSent)] == ["", "", ANSWER, "Good."]
    assert len(heard.of(ToolCalled)) == 1
    assert {event.run_id for event in heard.of(RunStarted)} == {run.id}


def test_the_first_words_said_by_hand_are_not_said_twice(heard: Heard) -> None:
    client = Model([ANSWER, "Good."]).client()
    with mastwatch.run("reviews"):
        for name in ("Writer", "Judge"):
            mastwatch.message(name, _ask(client, ("system", f"You are {name}."), ("user", "Go")))
    assert [m.text for m in heard.of(MessageSent)] == [ANSWER, "Good."]


def test_one_run_of_the_hosts_own_that_starts_over_is_found(heard: Heard) -> None:
    client = Model(lambda asked: f"Here is part {len(asked['messages'])} of the work.").client()
    with mastwatch.run("work"):
        for _ in range(2):
            history = [("system", "You work."), ("user", "Write a long report on the harbour.")]
            for _ in range(5):
                history += [("assistant", _ask(client, *history)), ("user", "Go on, please.")]
    assert "FM-2.1" in {finding.mode for finding in heard.findings}
