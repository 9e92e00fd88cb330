"""Group chats, patterns with hand-offs, resumed and nested chats."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from autogen import ConversableAgent, GroupChat, GroupChatManager, agentchat

from apps import autogen_apps as apps
from mastwatch.events import HandedOff, HistoryCleared

ROUND_ROBIN = [
    ("planner", "Write a page"),
    ("coder", "coder on point 1"),
    ("tester", "tester on point 1"),
    ("writer", "writer on point 1"),
    ("planner", "planner on point 1"),
    ("coder", "coder on point 2"),
]


def check_round_robin(seen: Any) -> None:
    assert seen.said == ROUND_ROBIN
    assert [message.index for message in seen.messages] == list(range(6))
    assert {message.recipients for message in seen.messages} == {("chat_manager",)}
    assert seen.ends == [("limit", "Maximum rounds (6) reached")]
    assert seen.started[0].contract.max_messages == 6
    assert set(seen.started[0].prompts) >= {"planner", "coder", "tester", "writer"}
    assert sorted(seen.names()) == sorted(
        ["invoke_workflow chat_manager", "agent_message planner"]
        + [f"invoke_agent {name}" for name, _ in ROUND_ROBIN[1:]]
    )
    seen.check()


@pytest.mark.parametrize("introductions", [False, True])
def test_four_agents_in_turn(seen: Any, introductions: bool) -> None:
    members, manager = apps.group(send_introductions=introductions)
    members[0].initiate_chat(manager, message="Write a page")
    check_round_robin(seen)


@pytest.mark.parametrize("introductions", [False, True])
async def test_its_async_form(seen: Any, introductions: bool) -> None:
    members, manager = apps.group(send_introductions=introductions)
    await members[0].a_initiate_chat(manager, message="Write a page")
    check_round_robin(seen)


def test_speakers_chosen_at_random(seen: Any) -> None:
    members, manager = apps.group(method="random")
    members[0].initiate_chat(manager, message="Write a page")
    assert len(seen.messages) == 6
    seen.check()


def test_speakers_chosen_by_a_person(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: "3")
    members, manager = apps.group(method="manual", rounds=3)
    members[0].initiate_chat(manager, message="Write a page")
    assert [sender for sender, _ in seen.said] == ["planner", "tester", "tester"]
    seen.check()


def auto_group(rounds: int = 4) -> tuple[list[ConversableAgent], GroupChatManager]:
    members, _ = apps.group()
    chat = GroupChat(
        members,
        messages=[],
        max_round=rounds,
        speaker_selection_method="auto",
        select_speaker_auto_model_client_cls=apps.PickingClient,
        select_speaker_auto_llm_config={
            "config_list": [{"model": "picker", "model_client_cls": "PickingClient"}]
        },
    )
    return members, GroupChatManager(chat, llm_config=False)


def check_auto(seen: Any) -> None:
    assert [sender for sender, _ in seen.said] == ["planner", "tester", "tester", "tester"]
    assert seen.models == []
    assert len(seen.started) == 1
    picks = [span for span in seen.spans if span.name == "chat picker"]
    assert {span.attributes["gen_ai.agent.name"] for span in picks} == {"speaker_selection_agent"}
    assert "speaker_selection_agent" not in " ".join(seen.names())
    assert seen.ends == [("limit", "Maximum rounds (4) reached")]
    seen.check(hushed=len(picks))


def test_a_model_picks_the_speakers_unheard(seen: Any) -> None:
    members, manager = auto_group()
    members[0].initiate_chat(manager, message="Write a page")
    check_auto(seen)


async def test_a_model_picks_the_speakers_unheard_in_an_async_chat(seen: Any) -> None:
    members, manager = auto_group()
    await members[0].a_initiate_chat(manager, message="Write a page")
    check_auto(seen)


def test_a_group_stops_at_the_word(seen: Any) -> None:
    members, manager = apps.group()
    members[1].register_reply(
        [ConversableAgent, None], lambda *_, **__: (True, "TERMINATE"), position=0
    )
    members[0].initiate_chat(manager, message="Write a page")
    assert seen.said[-1] == ("coder", "TERMINATE")
    assert seen.ends == [
        (
            "completed",
            "Termination message condition on the GroupChatManager 'chat_manager' met",
        )
    ]
    seen.check()


def test_a_silent_member_ends_the_group_chat(seen: Any) -> None:
    members, manager = apps.group()
    members[1].register_reply([ConversableAgent, None], lambda *_, **__: (True, None), position=0)
    members[0].initiate_chat(manager, message="Write a page")
    assert seen.ends == [("completed", "No reply generated")]
    seen.check()


def test_tools_in_a_group_chat_belong_to_who_asked(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    chat = GroupChat(
        [proxy, helper, apps.canned("writer", "noted")],
        messages=[],
        max_round=6,
        speaker_selection_method="round_robin",
    )
    manager = GroupChatManager(chat, llm_config=False)
    proxy.initiate_chat(manager, message="Weather?")
    assert seen.tools[0] == ("assistant", "weather", "call_1_0")
    assert ("user", "Sunny in Bonn") not in seen.said
    seen.check()


def test_a_manager_asked_directly_runs_its_chat_as_one_run(seen: Any) -> None:
    members, manager = apps.group(rounds=4)
    manager.generate_reply(
        messages=[{"role": "user", "content": "Write a page", "name": "planner"}],
        sender=members[0],
    )
    assert seen.said == [
        ("coder", "coder on point 1"),
        ("tester", "tester on point 1"),
        ("writer", "writer on point 1"),
    ]
    assert len(seen.started) == 1
    seen.check()


def _history(count: int) -> list[dict[str, Any]]:
    names = ["planner", "coder", "tester", "writer"]
    return [
        {"role": "user", "content": f"old point {n}", "name": names[n % 4]} for n in range(count)
    ]


def test_resume_plays_old_messages_back_unheard(seen: Any) -> None:
    _, manager = apps.group(rounds=3)
    last, message = manager.resume(messages=_history(5))
    assert seen.events == []
    last.initiate_chat(manager, message=message, clear_history=False)
    assert seen.said == [
        ("planner", "old point 4"),
        ("coder", "coder on point 1"),
        ("tester", "tester on point 1"),
    ]
    seen.check()


async def test_resume_plays_old_messages_back_unheard_within_a_run(seen: Any) -> None:
    _, manager = apps.group(rounds=2)
    run = seen.emitter.start_run("outer", framework="custom")
    with run.attached():
        last, message = await manager.a_resume(messages=_history(3))
        assert seen.messages == []
        await last.a_initiate_chat(manager, message=message, clear_history=False)
    run.finish("completed")
    assert seen.said == [("tester", "old point 2"), ("writer", "writer on point 1")]
    seen.check()


# Nested chats


def nest(message: Any = None, **options: Any) -> tuple[Any, Any]:
    """A writer that asks its critic before it answers."""
    proxy = apps.user(default_auto_reply="again")
    writer = apps.canned("writer", "draft")
    critic = apps.assistant("critic", ["too long"])
    chat = {"recipient": critic, "max_turns": 1, "summary_method": "last_msg", **options}
    if message is not None:
        chat["message"] = message
    writer.register_nested_chats([chat], trigger=lambda sender: sender is proxy)
    return proxy, writer


def test_a_nested_chat_is_a_branch_and_its_opener_no_utterance(seen: Any) -> None:
    proxy, writer = nest()
    proxy.initiate_chat(writer, message="Write!", max_turns=1)
    assert [(m.sender, m.text, m.branch) for m in seen.messages] == [
        ("user", "Write!", ""),
        ("critic", "too long", "1"),
        ("writer", "too long", ""),
    ]
    assert len({event.run_id for event in seen.events}) == 1
    names = {span.context.span_id: span.name for span in seen.spans}
    critic = next(span for span in seen.spans if span.name == "invoke_agent critic")
    assert names[critic.parent.span_id] == "invoke_agent writer"
    assert seen.ends == [("limit", "Maximum turns (1) reached")] * 2
    seen.check()


def test_a_nested_chat_with_words_of_its_own_has_an_opener(seen: Any) -> None:
    proxy, writer = nest("Review the draft")
    proxy.initiate_chat(writer, message="Write!", max_turns=1)
    assert [(m.sender, m.text, m.branch) for m in seen.messages] == [
        ("user", "Write!", ""),
        ("writer", "Review the draft", "1"),
        ("critic", "too long", "1"),
        ("writer", "too long", ""),
    ]
    seen.check()


async def test_an_async_nested_chat(seen: Any) -> None:
    proxy = apps.user()
    writer = apps.canned("writer", "draft")
    chat = {"recipient": apps.assistant("critic", ["too long"]), "max_turns": 1, "chat_id": 1}
    writer.register_nested_chats([chat], trigger=lambda sender: sender is proxy, use_async=True)
    await proxy.a_initiate_chat(writer, message="Write!", max_turns=1)
    assert [(m.sender, m.text, m.branch) for m in seen.messages] == [
        ("user", "Write!", ""),
        ("critic", "too long", "1"),
        ("writer", "too long", ""),
    ]
    assert [model.agent for model in seen.models] == ["critic"]
    seen.check()


def test_a_tool_that_runs_a_chat_of_its_own(seen: Any) -> None:
    def weather(city: str) -> str:
        expert = apps.assistant("expert", [f"Rain in {city} TERMINATE"])
        return str(apps.user("asker").initiate_chat(expert, message=f"{city}?").summary)

    proxy, helper = apps.weather_pair(weather)
    proxy.initiate_chat(helper, message="Weather?")
    assert [m.sender for m in seen.messages if m.branch] == ["asker", "expert"] * 2
    assert len({event.run_id for event in seen.events}) == 1
    seen.check()


# Direct replies


def test_a_reply_outside_any_chat_is_a_small_run(seen: Any) -> None:
    helper = apps.assistant("helper", ["Paris"])
    reply = helper.generate_reply(messages=[{"role": "user", "content": "Capital?"}])
    assert reply == "Paris"
    assert seen.said == [("helper", "Paris")]
    assert seen.started[0].task == "Capital?"
    assert [outcome for outcome, _ in seen.ends] == ["completed"]
    seen.check()


def test_replies_in_a_run_of_the_users_are_its_messages(seen: Any) -> None:
    one, two = apps.assistant("one", ["uno"]), apps.assistant("two", ["dos"])
    run = seen.emitter.start_run("by hand", framework="custom")
    with run.attached():
        for agent in (one, two, one):
            agent.generate_reply(messages=[{"role": "user", "content": "Count"}])
    run.finish("completed")
    assert [(m.sender, m.branch) for m in seen.messages] == [("one", ""), ("two", ""), ("one", "")]
    assert len(seen.started) == 1
    seen.check()


def test_a_failing_reply_outside_any_chat(seen: Any) -> None:
    helper = apps.assistant("helper", [ValueError("quota")])
    with pytest.raises(ValueError, match="quota"):
        helper.generate_reply(messages=[{"role": "user", "content": "Capital?"}])
    assert seen.finished[0].outcome == "error"
    seen.check()


def test_an_agent_that_asks_its_other_reply_functions_takes_one_turn(seen: Any) -> None:
    helper = apps.assistant("helper", ["Paris TERMINATE"])

    def outer(recipient: Any, messages: Any = None, sender: Any = None, config: Any = None) -> Any:
        return True, recipient.generate_reply(messages, sender, exclude=[outer])

    helper.register_reply([ConversableAgent, None], outer, position=0)
    apps.user().initiate_chat(helper, message="Capital?")
    assert seen.said == [("user", "Capital?"), ("helper", "Paris TERMINATE")]
    assert seen.names().count("invoke_agent helper") == 1
    seen.check()


# Patterns


def swarm(lines: dict[str, list[Any]], tool: Callable[..., Any]) -> Any:
    pattern = pytest.importorskip("autogen.agentchat.group.patterns").DefaultPattern
    agents = {}
    for name, script in lines.items():
        options = {"functions": [tool]} if name == "triage" else {}
        agent = ConversableAgent(
            name, llm_config=dict(apps.CONFIG), human_input_mode="NEVER", **options
        )
        agents[name] = apps.with_lines(agent, script)
    return pattern(initial_agent=agents["triage"], agents=list(agents.values()))


def test_a_hand_off_by_a_tool_of_a_pattern(seen: Any) -> None:
    group = pytest.importorskip("autogen.agentchat.group")
    from autogen.agentchat import initiate_group_chat

    def to_billing() -> Any:
        """Hand over to billing."""
        return group.ReplyResult(message="passed on", target=group.AgentNameTarget("billing"))

    pattern = swarm({"triage": [[("to_billing", "{}")]], "billing": ["Refunded."]}, to_billing)
    initiate_group_chat(pattern=pattern, messages="I want my money", max_rounds=6)
    assert [(e.source, e.target) for e in seen.of(HandedOff)] == [("triage", "billing")]
    assert [sender for sender, _ in seen.said][1:] == ["triage", "billing"]
    assert seen.tools == [("triage", "to_billing", "call_1_0")]
    assert "_Group_Tool_Executor" not in " ".join(seen.names())
    seen.check()


def test_what_ag2_writes_at_a_conditional_hand_off_is_no_utterance(seen: Any) -> None:
    group = pytest.importorskip("autogen.agentchat.group")
    patterns = pytest.importorskip("autogen.agentchat.group.patterns")
    from autogen.agentchat import initiate_group_chat

    triage = apps.assistant("triage", ["never asked"])
    billing = apps.assistant("billing", ["Refunded."])
    triage.handoffs.add_context_condition(
        group.OnContextCondition(
            target=group.AgentTarget(billing),
            condition=group.StringContextCondition(variable_name="urgent"),
        )
    )
    pattern = patterns.DefaultPattern(
        initial_agent=triage,
        agents=[triage, billing],
        context_variables=group.ContextVariables(data={"urgent": True}),
    )
    initiate_group_chat(pattern=pattern, messages="I want my money", max_rounds=6)
    assert seen.said[1:] == [("billing", "Refunded.")]
    assert [(e.source, e.target) for e in seen.of(HandedOff)] == [("triage", "billing")]
    seen.check()


def test_the_helpers_an_agent_keeps_may_forget(seen: Any) -> None:
    """SocietyOfMindAgent clears its inner agents on every turn; the chat itself loses nothing."""
    module = pytest.importorskip("autogen.agentchat.contrib.society_of_mind_agent")
    _, manager = apps.group(3, rounds=3)
    society = module.SocietyOfMindAgent(
        "society", chat_manager=manager, llm_config=dict(apps.CONFIG)
    )
    apps.with_lines(society, ["so be it"])
    apps.user(default_auto_reply="more").initiate_chat(society, message="go", max_turns=2)
    assert seen.of(HistoryCleared) == []
    assert [(m.sender, m.text) for m in seen.messages if not m.branch] == [
        ("user", "go"),
        ("society", "so be it"),
        ("user", "more"),
        ("society", "so be it"),
    ]
    assert {m.sender for m in seen.messages if m.branch} == {"planner", "coder"}
    seen.check()


def test_what_an_agent_and_its_private_helper_say_is_no_part_of_the_chat(seen: Any) -> None:
    """As Teachability does it: in the middle of a turn, with an agent that is not in the chat."""
    helper = apps.assistant("helper", ["first", "TERMINATE"])
    analyzer = apps.assistant("analyzer", ["no advice"])

    def look(messages: Any) -> Any:
        helper.send("Is there advice in this?", analyzer, request_reply=True, silent=True)
        return messages

    helper.register_hook("process_all_messages_before_reply", look)
    apps.user(default_auto_reply="go on").initiate_chat(helper, message="go")
    assert [(m.sender, m.text) for m in seen.messages if not m.branch] == [
        ("user", "go"),
        ("helper", "first"),
        ("user", "go on"),
        ("helper", "TERMINATE"),
    ]
    assert [m.sender for m in seen.messages if m.branch] == ["analyzer"] * 2
    seen.check()


def test_what_an_agent_tells_itself_in_a_turn_is_no_part_of_the_chat(seen: Any) -> None:
    """As ReasoningAgent does it to write down what came of its thinking."""
    thinker = apps.assistant("thinker", ["so it must be seven"])

    def think(recipient: Any, sender: Any = None, **_: Any) -> tuple[bool, Any]:
        if sender is recipient:
            return False, None
        recipient.send("sum your thoughts up", recipient, request_reply=True, silent=True)
        return True, recipient.last_message(recipient)["content"]

    thinker.register_reply([ConversableAgent, None], think, position=0)
    apps.user().initiate_chat(thinker, message="3 + 4?", max_turns=1)
    assert seen.said == [("user", "3 + 4?"), ("thinker", "so it must be seven")]
    assert [model.agent for model in seen.models] == ["thinker"]
    seen.check()


def test_an_agent_that_chats_with_itself_is_heard(seen: Any) -> None:
    mirror = apps.canned("mirror", "and who are you?")
    mirror.initiate_chat(mirror, message="who are you?", max_turns=1)
    assert seen.said[0] == ("mirror", "who are you?")
    assert ("mirror", "and who are you?") in seen.said
    seen.check()


def test_a_member_that_joins_later_is_heard(seen: Any) -> None:
    def pick(last: Any, group: Any) -> Any:
        return group.agents[(group.agents.index(last) + 1) % len(group.agents)]

    members, manager = apps.group(2, rounds=4, method=pick)
    late = apps.canned("late", "here I am")

    def invite(recipient: Any, **_: Any) -> tuple[bool, str]:
        if late not in manager.groupchat.agents:
            manager.groupchat.agents.append(late)
        return True, "come in"

    members[1].register_reply([ConversableAgent, None], invite, position=0)
    members[0].initiate_chat(manager, message="go")
    assert ("late", "here I am") in seen.said
    seen.check()


async def test_replies_at_once_in_a_run_of_the_users(seen: Any) -> None:
    agents = [apps.assistant(name, [f"I am {name}"]) for name in ("one", "two", "three")]
    run = seen.emitter.start_run("by hand", framework="custom")
    with run.attached():
        asked = [{"role": "user", "content": "Who?"}]
        await asyncio.gather(*(agent.a_generate_reply(messages=asked) for agent in agents))
    run.finish("completed")
    assert sorted(seen.said) == [("one", "I am one"), ("three", "I am three"), ("two", "I am two")]
    seen.check()


def test_a_pattern_in_a_thread_of_its_own_is_one_run(seen: Any) -> None:
    patterns = pytest.importorskip("autogen.agentchat.group.patterns")
    if not hasattr(agentchat, "run_group_chat"):
        pytest.skip("this AG2 has no run_group_chat")
    one, two = apps.assistant("one", ["uno", "tres"]), apps.assistant("two", ["dos"])
    pattern = patterns.RoundRobinPattern(initial_agent=one, agents=[one, two])
    outer = seen.emitter.start_run("outer", framework="custom")
    with outer.attached():
        response = agentchat.run_group_chat(pattern=pattern, messages="Count", max_rounds=4)
    response.process()
    for _ in range(200):
        if seen.finished:
            break
        threading.Event().wait(0.01)
    outer.finish("completed")
    assert [text for _, text in seen.said] == ["Count", "uno", "dos", "tres"]
    assert {event.run_id for event in seen.events} == {outer.id}
    seen.check()


def test_an_interrupt_in_a_tool_passes(seen: Any) -> None:
    def weather(city: str) -> str:
        raise KeyboardInterrupt

    proxy, helper = apps.weather_pair(weather)
    with pytest.raises(KeyboardInterrupt):
        proxy.initiate_chat(helper, message="Weather?")
    assert seen.results[0].error == "KeyboardInterrupt"
    assert seen.finished[0].outcome == "cancelled"
    seen.check()
