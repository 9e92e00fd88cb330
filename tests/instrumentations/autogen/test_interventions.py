"""Chats that the host lets mastwatch end, or speak in: real AG2, all of mastwatch, no mock."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from autogen import ConversableAgent, GroupChat, GroupChatManager
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

import mastwatch
from apps.autogen_apps import CONFIG, assistant, canned, group, with_lines
from mastwatch import guard
from mastwatch.events import Event, MessageSent, ModelCalled, RunFinished
from mastwatch.findings import Finding
from mastwatch.sink import Sink

THANKS = "Thank you so much, it was a great pleasure to work with you!"
PLEASURE = "The pleasure was all mine, thank you for the kind words!"
HALT = {"mode": ["FM-1.3", "FM-1.5"], "action": "halt"}


class Watched(Sink):
    """What became of the runs."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.findings: list[Finding] = []
        self.events: list[Event] = []

    def on_event(self, event: Event, framework: str) -> None:
        self.events.append(event)

    def on_finding(self, finding: Finding) -> None:
        self.findings.append(finding)

    @property
    def ends(self) -> list[tuple[str, str, str]]:
        found = [event for event in self.events if isinstance(event, RunFinished)]
        return [(event.branch, event.outcome, event.reason) for event in found]

    def alert(self) -> Finding:
        return next(f for f in self.findings if f.severity is mastwatch.Severity.ALERT)

    def count(self, action: str, result: str) -> float:
        return sum(
            sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == "mastwatch_actions_total"
            and (sample.labels["action"], sample.labels["result"]) == (action, result)
        )


@contextlib.contextmanager
def acting(*actions: dict[str, Any]) -> Iterator[Watched]:
    seen = Watched()
    with mastwatch.instrument(
        frameworks=["autogen"], registry=seen.registry, actions=list(actions)
    ) as handle:
        handle.add_sink(seen)
        yield seen


def farewell() -> tuple[ConversableAgent, ConversableAgent]:
    return canned("host", THANKS), canned("guest", PLEASURE)


def turns(**more: Any) -> Callable[[], Any]:
    def chat() -> Any:
        host, guest = farewell()
        return host.initiate_chat(guest, message=THANKS, silent=True, **more)

    return chat


def async_pair() -> Any:
    host, guest = farewell()
    return asyncio.run(host.a_initiate_chat(guest, message=THANKS, silent=True))


def round_robin(asynchronous: bool = False) -> Any:
    host, guest = farewell()
    chat = GroupChat([host, guest], speaker_selection_method="round_robin", max_round=60)
    manager = GroupChatManager(chat, llm_config=False, silent=True)
    if asynchronous:
        return asyncio.run(host.a_initiate_chat(manager, message=THANKS, silent=True))
    return host.initiate_chat(manager, message=THANKS, silent=True)


def in_background() -> Any:
    host, guest = farewell()
    response = host.run(guest, message=THANKS, max_turns=40)
    list(response.events)
    return SimpleNamespace(chat_history=list(response.messages))


def step_by_step() -> Any:
    host, guest = farewell()
    list(host.run_iter(guest, message=THANKS, max_turns=40))
    return SimpleNamespace(chat_history=host.chat_messages[guest])


@pytest.mark.parametrize(
    "chat",
    [
        turns(max_turns=40),
        turns(),
        async_pair,
        round_robin,
        lambda: round_robin(asynchronous=True),
        in_background,
        step_by_step,
    ],
    ids=["turns", "recursive", "async", "group", "async group", "run", "run_iter"],
)
def test_a_halted_chat_returns_its_transcript_within_one_message_of_the_alert(
    chat: Callable[[], Any],
) -> None:
    with acting(HALT) as seen:
        history = chat().chat_history
        alert = seen.alert()
        assert alert.message_index + 1 <= len(history) <= alert.message_index + 2
        assert [m["content"] for m in history[:3]] == [THANKS, PLEASURE, THANKS]
        assert seen.ends[-1] == ("", "cancelled", f"halted by mastwatch: {alert.mode}")
        assert seen.count("halt", "done") == 1


def test_a_healthy_chat_is_left_alone() -> None:
    with acting({"mode": "*", "action": "halt", "severity": "suspect"}) as seen:
        members, manager = group(rounds=12)
        result = members[0].initiate_chat(manager, message="Plan it.", silent=True)
        assert len(result.chat_history) == 12
        assert seen.ends == [("", "limit", "Maximum rounds (12) reached")]
        assert seen.count("halt", "done") == 0


def test_a_dry_run_counts_what_a_real_one_does_and_ends_nothing() -> None:
    with acting(HALT) as real:
        turns(max_turns=30)()
        assert (real.count("halt", "done"), real.count("halt", "dry_run")) == (1, 0)
    with acting({**HALT, "dry_run": True}) as dry:
        history = turns(max_turns=30)().chat_history
        assert len(history) == 60
        assert dry.ends[-1][1] == "limit"
        assert (dry.count("halt", "dry_run"), dry.count("halt", "done")) == (1, 0)


def test_a_nested_chat_that_loops_ends_with_the_one_around_it() -> None:
    with acting(HALT) as seen:
        outer, lead = canned("outer", "Go on."), canned("lead", "Working.")
        inner = canned("inner", PLEASURE)
        helper = canned("helper", THANKS)
        lead.register_nested_chats(
            [{"recipient": inner, "sender": helper, "message": THANKS, "max_turns": 40}],
            trigger=outer,
        )
        result = outer.initiate_chat(lead, message="Thank the guests.", max_turns=9, silent=True)
        assert len(result.chat_history) == 2  # the task, and what the inner chat came to
        branches = [end for end in seen.ends if end[0]]
        assert {end[1] for end in seen.ends} == {"cancelled"}
        assert len(branches) == 1


def tool_loop(lines: list[Any]) -> tuple[ConversableAgent, ConversableAgent]:
    runner = ConversableAgent(
        "runner",
        llm_config=False,
        human_input_mode="NEVER",
        default_auto_reply="",
        is_termination_msg=lambda m: "TERMINATE" in str(m.get("content")),
    )
    seeker = ConversableAgent("seeker", llm_config=dict(CONFIG), human_input_mode="NEVER")

    def search(query: str) -> str:
        return "nothing found"

    seeker.register_for_llm(name="search", description="Search")(search)
    runner.register_for_execution(name="search")(search)
    return runner, with_lines(seeker, lines)


def listens(messages: list[dict[str, Any]]) -> Any:
    """A model that repeats its call until it is told to stop."""
    if any(message.get("name") == "mastwatch" for message in messages):
        return "Nothing is known of it, I end here. TERMINATE"
    return [("search", '{"query": "the lost log"}')]


def test_a_loop_of_tool_calls_ends_before_the_tool_runs_again() -> None:
    with acting({**HALT, "severity": "warn"}) as seen:
        runner, seeker = tool_loop([[("search", '{"query": "the lost log"}')]])
        result = runner.initiate_chat(seeker, message="Find it.", max_turns=30, silent=True)
        found = next(f for f in seen.findings if f.severity >= mastwatch.Severity.WARN)
        later = [e for e in seen.events if isinstance(e, MessageSent)]
        assert len([e for e in later if e.index > found.message_index]) <= 1
        assert result.chat_history == runner.chat_messages[seeker]
        assert seen.ends == [("", "cancelled", "halted by mastwatch: FM-1.3")]


def test_a_nudge_breaks_a_loop_and_stays_out_of_the_histories() -> None:
    with acting({"mode": "FM-1.3", "action": "nudge", "severity": "warn"}) as seen:
        runner, seeker = tool_loop([listens])
        result = runner.initiate_chat(seeker, message="Find it.", max_turns=30, silent=True)
        assert result.chat_history[-1]["content"].endswith("TERMINATE")
        assert len(result.chat_history) < 20
        assert not any(m.get("name") == "mastwatch" for m in result.chat_history)
        assert seen.count("nudge", "done") == 1
        assert seen.ends[-1][1] == "completed"
        requests = [e.request for e in seen.events if isinstance(e, ModelCalled) and e.request]
        assert not any(m.name == "mastwatch" for request in requests for m in request)
        assert {f.mode for f in seen.findings} == {"FM-1.3"}  # no history is missed afterwards


def test_nudges_that_do_not_help_are_used_up_and_the_run_is_halted() -> None:
    heard: list[str] = []

    def deaf(messages: list[dict[str, Any]]) -> Any:
        heard.extend(m["content"] for m in messages if m.get("name") == "mastwatch")
        return [("search", '{"query": "the lost log"}')]

    rule = {
        "mode": "FM-1.3",
        "action": "nudge",
        "severity": "warn",
        "message": "Stop, {agent}: {task}",
        "at_most": 2,
        "then": "halt",
    }
    with acting(rule) as seen:
        runner, seeker = tool_loop([deaf])
        runner.initiate_chat(seeker, message="Find it.", max_turns=30, silent=True)
        assert heard == ["Stop, seeker: Find it."] * 2
        assert (seen.count("nudge", "done"), seen.count("halt", "done")) == (2, 1)
        assert seen.ends[-1][1] == "cancelled"


def test_the_host_halts_a_run_in_a_callback_of_its_own() -> None:
    with acting() as seen:
        mastwatch.on_finding(lambda f: f.severity >= 3 and mastwatch.halt(f.run_id, reason="mine"))
        result = turns(max_turns=40)()
        assert len(result.chat_history) < 8
        assert seen.ends[-1][1:] == ("cancelled", "halted by the host: mine")


def test_no_model_is_asked_for_the_next_speaker_of_a_halted_group() -> None:
    with acting(HALT) as seen:
        host, guest = farewell()
        picks: list[int] = []

        def pick(last: Any, chat: GroupChat) -> Any:
            picks.append(len(chat.messages))
            return guest if last is host else host

        chat = GroupChat([host, guest], speaker_selection_method=pick, max_round=60)
        host.initiate_chat(GroupChatManager(chat, llm_config=False), message=THANKS, silent=True)
        assert max(picks) <= seen.alert().message_index


def test_without_actions_the_hooks_ask_for_nothing() -> None:
    with acting():
        pass
    with mastwatch.instrument(frameworks=["autogen"], metrics="none") as handle:
        turns(max_turns=3)()
        assert handle.emitter.interventions is None


def test_an_agent_with_a_model_and_no_loop_is_not_spoken_to() -> None:
    with acting({"mode": "*", "action": "nudge", "severity": "suspect"}) as seen:
        asker, answerer = canned("asker", "And then?"), assistant("answerer", ["One.", "Two."])
        asker.initiate_chat(answerer, message="Count.", max_turns=2, silent=True)
        assert seen.count("nudge", "done") == 0


def play_the_demo(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[str]]:
    """The demo's planted loop, whose models say that they end when they are told to."""
    from mastwatch.demo import ag2_model
    from mastwatch.demo.apps import ag2_loop
    from mastwatch.demo.models import set_pace

    heard: list[str] = []
    as_scripted = ag2_model.ScriptedClient.create

    def create(self: Any, params: dict[str, Any]) -> Any:
        told = [m["content"] for m in params["messages"] if m.get("name") == "mastwatch"]
        heard.extend(told)
        response = as_scripted(self, params)
        if told:
            response.choices[0].message = "TERMINATE"
        return response

    monkeypatch.setattr(ag2_model.ScriptedClient, "create", create)
    set_pace(0)
    user, manager = ag2_loop.build_team()
    return user.initiate_chat(manager, message=ag2_loop.TASK, silent=True), heard


def test_a_nudge_breaks_the_loop_of_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"mode": "FM-1.3", "action": "nudge", "severity": "warn"}
    with acting() as alone:
        untouched, _ = play_the_demo(monkeypatch)
        assert len(untouched.chat_history) == 34
        found = next(f for f in alone.findings if f.severity >= mastwatch.Severity.WARN)
    with acting({**rule, "dry_run": True}) as dry:
        same, heard = play_the_demo(monkeypatch)
        assert (len(same.chat_history), heard) == (34, [])
        assert dry.count("nudge", "dry_run") == 1
    with acting(rule) as seen:
        result, heard = play_the_demo(monkeypatch)
        assert len(heard) == 1
        assert seen.count("nudge", "done") == 1
        assert result.chat_history[-1]["content"] == "TERMINATE"
        assert len(result.chat_history) <= found.message_index + 3
        assert seen.ends[-1][1] == "completed"


def test_the_run_says_on_its_span_that_it_was_halted(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with acting(HALT):
        turns(max_turns=40)()
    spans = exporter.get_finished_spans()
    (root,) = [span for span in spans if span.name.startswith("invoke_workflow")]
    assert root.attributes is not None
    assert root.attributes["mastwatch.termination.reason"] == "halted by mastwatch: FM-1.5"
    assert root.attributes["mastwatch.run.outcome"] == "cancelled"
    assert root.attributes["mastwatch.run.max_severity"] == "alert"
    assert all(span.status.status_code.name != "ERROR" for span in spans)


def messages_until_the_stack_ends() -> int:
    first, second = canned("first"), canned("second")
    for agent in (first, second):
        agent._max_consecutive_auto_reply = 10_000
    with contextlib.suppress(RecursionError):
        first.initiate_chat(second, message="go", silent=True)
    return len(first.chat_messages[second])


def test_actions_do_not_lengthen_the_recursion_of_a_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")  # at the end of the stack our hooks fail first
    without = messages_until_the_stack_ends()
    with acting({"mode": "FM-2.1", "action": "halt"}, {"mode": "FM-2.1", "action": "nudge"}):
        assert messages_until_the_stack_ends() >= without * 0.99
    guard.reset()
