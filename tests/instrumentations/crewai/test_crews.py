"""What is seen of crews: who speaks, which tools run, how it ends."""

from __future__ import annotations

from typing import Any

import pytest
from crewai import Crew, Process
from crewai.tools import tool

from apps.crewai_crews import (
    Scripted,
    act,
    agent,
    broken,
    final,
    healthy,
    native,
    pair,
    population,
    task,
)
from mastwatch.events import (
    HandedOff,
    HumanAsked,
    HumanReplied,
    MessageSent,
    RunFinished,
    RunStarted,
    ToolReturned,
)
from mastwatch.testing.recording import Recording
from mastwatch_instrumentations.crewai.library import executors


def test_a_crew_is_a_run_and_each_agent_speaks_by_its_own_name(recording: Recording) -> None:
    assert str(healthy().kickoff({"city": "Bonn"})) == "Bonn has 330000 inhabitants."

    recording.check()
    (start,) = recording.of(RunStarted)
    assert start.task == "Find out how many people live in Bonn.\nWrite a sentence about it."
    assert start.prompts["Writer"].startswith("You are Writer. Old hand.")
    assert recording.said == [
        ("Researcher", "I look it up."),
        ("Researcher", "330000 people live in Bonn."),
        ("Writer", "Bonn has 330000 inhabitants."),
    ]
    assert recording.tools == [("Researcher", "population", {"city": "Bonn"})]
    assert recording.results == [("population", "Bonn: 330000", None)]
    assert recording.ends == [("completed", "crew_kickoff_completed")]
    names = [span.name for span in recording.spans]
    assert names == [
        "invoke_workflow crew",
        "invoke_agent Researcher",
        "chat scripted",
        "execute_tool population",
        "chat scripted",
        "invoke_agent Writer",
        "chat scripted",
    ]


def test_a_model_call_tells_what_it_was_sent(recording: Recording) -> None:
    healthy().kickoff({"city": "Bonn"})

    first, second, third = recording.models
    assert [model.agent for model in recording.models] == ["Researcher", "Researcher", "Writer"]
    assert first.turn == second.turn != third.turn
    assert first.request is not None
    assert second.request is not None
    assert [message.role for message in first.request] == ["system", "user"]
    assert second.request[: len(first.request)] == first.request
    assert "330000" in (second.request[2].content or "")


def test_a_model_that_knows_tools_names_its_calls(recording: Recording) -> None:
    research = Scripted(
        native(("c1", "population", {"city": "Bonn"}), ("c2", "population", {"city": "Köln"})),
        "330000 and a million.",
        functions=True,
    )
    pair(research, Scripted(final("done at last"))).kickoff({"city": "Bonn"})

    recording.check()
    first = recording.of(MessageSent)[0]
    assert [(call.name, call.call_id) for call in first.tool_calls] == [
        ("population", "c1"),
        ("population", "c2"),
    ]
    assert sorted(recording.tools, key=str) == [
        ("Researcher", "population", {"city": "Bonn"}),
        ("Researcher", "population", {"city": "Köln"}),
    ]
    assert {r.call_id: r.result for r in recording.of(ToolReturned)} == {
        "c1": "Bonn: 330000",
        "c2": "Köln: 330000",
    }


def test_a_call_that_crewai_swallows_is_seen(recording: Recording) -> None:
    again = act("Once more.", "population", city="Bonn")
    pair(Scripted(again, again, again, final("enough")), Scripted(final("fine"))).kickoff(
        {"city": "Bonn"}
    )

    recording.check()
    assert recording.tools == [("Researcher", "population", {"city": "Bonn"})] * 3
    assert [error for _, _, error in recording.results] == [
        None,
        "repeated_usage",
        "repeated_usage",
    ]


@pytest.mark.parametrize("functions", [False, True])
def test_a_tool_that_fails(recording: Recording, functions: bool) -> None:
    ask: Any = native(("c1", "broken", {"city": "Bonn"})) if functions else None
    research = Scripted(
        ask or act("I try.", "broken", city="Bonn"), final("no idea"), functions=functions
    )
    pair(research, Scripted(final("fine")), broken).kickoff({"city": "Bonn"})

    recording.check()
    ((name, result, error),) = recording.results
    assert name == "broken"
    assert "no such city" in (result or "")
    assert error == "LookupError"


def test_an_answer_in_no_known_form_is_said_all_the_same(recording: Recording) -> None:
    research = Scripted("Thought: hm.\nAction: population", final("at last"))
    pair(research, Scripted(final("fine"))).kickoff({"city": "Bonn"})

    recording.check()
    assert recording.said[0] == ("Researcher", "Thought: hm.\nAction: population")


def test_a_manager_hands_work_to_coworkers(recording: Recording) -> None:
    manager = Scripted(
        act(
            "The researcher knows.",
            "delegate_work_to_coworker",
            task="Count the people of Bonn.",
            context="a city",
            coworker="Researcher",
        ),
        final("Bonn has 330000 inhabitants."),
    )
    researcher = agent(
        "Researcher",
        Scripted(act("I look it up.", "population", city="Bonn"), final("330000 people.")),
        population,
    )
    crew = Crew(
        agents=[researcher],
        tasks=[task("How many people live in Bonn?", None)],
        process=Process.hierarchical,
        manager_llm=manager,
    )
    crew.kickoff()

    recording.check()
    boss = "Crew Manager"
    assert recording.said == [
        (boss, "The researcher knows."),
        ("Researcher", "I look it up."),
        ("Researcher", "330000 people."),
        (boss, "Bonn has 330000 inhabitants."),
    ]
    (handed,) = recording.of(HandedOff)
    assert (handed.source, handed.target) == (boss, "Researcher")
    assert [event.branch for event in recording.of(MessageSent)] == ["", "1", "1", ""]
    assert recording.of(RunStarted)[1].task is not None
    assert "Count the people" in (recording.of(RunStarted)[1].task or "")
    assert recording.tools[0][1] == "delegate_work_to_coworker"
    assert ("delegate_work_to_coworker", "330000 people.", None) in recording.results


def test_an_agent_that_may_not_go_on_is_a_limit(recording: Recording) -> None:
    model = Scripted(
        act("One.", "population", city="Bonn"),
        act("Two.", "population", city="Köln"),
        final("I stop here."),
    )
    worker = agent("Researcher", model, population, max_iter=2)
    Crew(agents=[worker], tasks=[task("Count.", worker)]).kickoff()

    recording.check()
    assert recording.ends == [("limit", "max_iter of 2 reached")]
    assert recording.said[-1] == ("Researcher", "I stop here.")


def test_an_answer_in_time_is_no_limit(recording: Recording) -> None:
    model = Scripted(act("One.", "population", city="Bonn"), final("Here it is."))
    worker = agent("Researcher", model, population, max_iter=2)
    Crew(agents=[worker], tasks=[task("Count.", worker)]).kickoff()

    assert recording.ends == [("completed", "crew_kickoff_completed")]


def test_an_answer_that_a_guardrail_rejects_is_a_turn_of_its_own(recording: Recording) -> None:
    writer = agent("Writer", Scripted(final("too long"), final("short")))
    checked = task("Write.", writer, guardrail=lambda out: (out.raw == "short", out.raw))
    Crew(agents=[writer], tasks=[checked]).kickoff()

    recording.check()
    assert recording.said == [("Writer", "too long"), ("Writer", "short")]
    assert [span.name for span in recording.spans].count("invoke_agent Writer") == 2


def test_an_agent_that_checks_for_a_guardrail_speaks_beside(recording: Recording) -> None:
    verdict = '{"valid": true, "feedback": null}'
    model = Scripted(final("short"), final(verdict), *[verdict] * 3)
    writer = agent("Writer", model)
    Crew(agents=[writer], tasks=[task("Write.", writer, guardrail="It is short.")]).kickoff()

    recording.check()
    beside = {event.sender: event.branch for event in recording.of(MessageSent)}
    assert beside["Writer"] == ""
    assert beside["Guardrail Agent"] != ""


def test_a_person_is_asked_for_feedback(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = iter(["shorter please", ""])
    monkeypatch.setattr("builtins.input", lambda *_: next(replies))
    writer = agent("Writer", Scripted(final("long"), final("short")))
    Crew(agents=[writer], tasks=[task("Write.", writer, human_input=True)]).kickoff()

    recording.check()
    assert recording.said == [("Writer", "long"), ("Writer", "short")]
    assert {event.agent for event in recording.of(HumanAsked)} == {"Writer"}
    if all(hasattr(kind, "_format_feedback_message") for kind in executors()):  # not in 1.15.0
        assert [event.text for event in recording.of(HumanReplied)] == ["shorter please"]


def test_a_failed_attempt_is_a_turn_and_the_next_one_another(recording: Recording) -> None:
    writer = agent("Writer", Scripted(ValueError("down"), final("up again")))
    Crew(agents=[writer], tasks=[task("Write.", writer)]).kickoff()

    recording.check()
    assert [model.error for model in recording.models] == ["ValueError", None]
    first, second = [span for span in recording.spans if span.name == "invoke_agent Writer"]
    assert not first.status.is_ok
    assert second.status.is_unset
    assert recording.ends == [("completed", "crew_kickoff_completed")]


def test_an_error_comes_out_as_it_is(recording: Recording) -> None:
    error = ValueError("down")
    writer = agent("Writer", Scripted(error, error, error))
    with pytest.raises(ValueError, match="down") as raised:
        Crew(agents=[writer], tasks=[task("Write.", writer)]).kickoff()

    recording.check()
    assert raised.value is error
    (end,) = recording.of(RunFinished)
    assert (end.outcome, end.reason, end.error) == ("error", "ValueError", "ValueError")


def test_tasks_that_run_beside_each_other_are_branches(recording: Recording) -> None:
    one, two = agent("One", Scripted(final("first"))), agent("Two", Scripted(final("second")))
    last = agent("Last", Scripted(final("both")))
    Crew(
        agents=[one, two, last],
        tasks=[
            task("A.", one, async_execution=True),
            task("B.", two, async_execution=True),
            task("C.", last),
        ],
    ).kickoff()

    recording.check()
    branches = {event.sender: event.branch for event in recording.of(MessageSent)}
    assert branches["Last"] == ""
    assert len({branches["One"], branches["Two"], ""}) == 3


def test_a_tool_whose_result_is_the_answer(recording: Recording) -> None:
    @tool("verdict", result_as_answer=True)
    def verdict(city: str) -> str:
        """Say it."""
        return f"{city} it is"

    writer = agent("Writer", Scripted(act("Go.", "verdict", city="Bonn")), verdict)
    assert str(Crew(agents=[writer], tasks=[task("Say.", writer)]).kickoff()) == "Bonn it is"

    recording.check()
    assert recording.said == [("Writer", "Go.")]
    assert recording.results == [("verdict", "Bonn it is", None)]
