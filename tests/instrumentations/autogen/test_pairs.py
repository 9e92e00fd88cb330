"""Two agents: sync, async, tools, threads, ends."""

from __future__ import annotations

import asyncio
import copy
import threading
from typing import Any

import pytest
from autogen import ConversableAgent

from apps import autogen_apps as apps
from mastwatch import guard
from mastwatch_instrumentations.autogen import AutoGenInstrumentor

WEATHER = [
    ("user", "Weather?"),
    ("assistant", ""),
    ("assistant", ""),
    ("assistant", "Sunny in both. TERMINATE"),
]
CALLS = [("assistant", "weather", "call_1_0"), ("assistant", "weather", "call_2_0")]
STOPPED = ("completed", "Termination message condition on agent 'user' met")


def check_weather(seen: Any) -> None:
    assert seen.said == WEATHER
    assert [message.index for message in seen.messages] == [0, 1, 3, 5]
    assert [message.kind for message in seen.messages] == ["opener", "reply", "reply", "reply"]
    assert [m.recipients for m in seen.messages] == [("assistant",)] + [("user",)] * 3
    assert seen.tools == CALLS
    assert [(r.index, r.result, r.error) for r in seen.results] == [
        (2, "Sunny in Bonn", None),
        (4, "Sunny in Kiel", None),
    ]
    assert [(m.agent, m.model, m.input_tokens, m.output_tokens) for m in seen.models] == [
        ("assistant", "scripted", 3, 2)
    ] * 3
    assert seen.ends == [STOPPED]
    assert seen.started[0].task == "Weather?"
    seen.check()


def test_a_sync_chat_with_tools(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    proxy.initiate_chat(helper, message="Weather?")
    check_weather(seen)


async def test_its_async_form(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    await proxy.a_initiate_chat(helper, message="Weather?")
    check_weather(seen)
    request = seen.models[-1].request
    assert [(m.role, m.content) for m in request][-1] == ("tool", "Sunny in Kiel")


def test_async_tools_of_a_sync_chat_stay_in_its_run(seen: Any) -> None:
    async def weather(city: str) -> str:
        await asyncio.sleep(0)
        return f"Sunny in {city}"

    proxy, helper = apps.weather_pair(weather)
    proxy.initiate_chat(helper, message="Weather?")
    check_weather(seen)


async def test_async_tools_of_an_async_chat(seen: Any) -> None:
    async def weather(city: str) -> str:
        await asyncio.sleep(0)
        return f"Sunny in {city}"

    proxy, helper = apps.weather_pair(weather)
    await proxy.a_initiate_chat(helper, message="Weather?")
    check_weather(seen)


def test_a_chat_in_a_background_thread(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    thread = threading.Thread(
        target=proxy.initiate_chat, args=(helper,), kwargs={"message": "Weather?"}
    )
    thread.start()
    thread.join()
    check_weather(seen)


def test_run_gives_one_run_although_it_starts_a_thread(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    proxy.run(helper, message="Weather?").process()
    _wait_for_end(seen)
    check_weather(seen)


def test_run_stays_in_the_run_around_it(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    outer = seen.emitter.start_run("outer", framework="custom")
    with outer.attached():
        response = proxy.run(helper, message="Weather?")
    response.process()
    _wait_for_end(seen)
    outer.finish("completed")
    assert {event.run_id for event in seen.events} == {outer.id}
    assert seen.said == WEATHER
    seen.check()


def _wait_for_end(seen: Any) -> None:
    for _ in range(200):
        if seen.finished:
            return
        threading.Event().wait(0.01)
    raise AssertionError("the run did not end")


def test_run_iter_seen_to_the_end(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    if not hasattr(proxy, "run_iter"):
        pytest.skip("this AG2 has no run_iter")
    for _ in proxy.run_iter(helper, message="Weather?"):
        pass
    check_weather(seen)


def test_leaving_run_iter_early_abandons_the_run(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    if not hasattr(proxy, "run_iter"):
        pytest.skip("this AG2 has no run_iter")
    response = proxy.run_iter(helper, message="Weather?")
    for _ in response:
        break
    response._thread.join(5)
    assert [outcome for outcome, _ in seen.ends] == ["abandoned"]
    seen.check()


def test_the_spans_hang_together_as_they_happened(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    proxy.initiate_chat(helper, message="Weather?")
    names = {span.context.span_id: span.name for span in seen.spans}
    assert [(span.name, names.get(span.parent and span.parent.span_id)) for span in seen.spans] == [
        ("invoke_workflow user/assistant", None),
        ("agent_message user", "invoke_workflow user/assistant"),
        ("invoke_agent assistant", "invoke_workflow user/assistant"),
        ("chat scripted", "invoke_agent assistant"),
        ("invoke_agent user", "invoke_workflow user/assistant"),
        ("execute_tool weather", "invoke_agent user"),
        ("invoke_agent assistant", "invoke_workflow user/assistant"),
        ("chat scripted", "invoke_agent assistant"),
        ("invoke_agent user", "invoke_workflow user/assistant"),
        ("execute_tool weather", "invoke_agent user"),
        ("invoke_agent assistant", "invoke_workflow user/assistant"),
        ("chat scripted", "invoke_agent assistant"),
        ("invoke_agent user", "invoke_workflow user/assistant"),
    ]
    assert seen.spans[0].attributes["mastwatch.termination.reason"] == STOPPED[1]


def test_an_event_goes_out_before_the_next_agent_answers(seen: Any) -> None:
    seen_then = []

    def look(messages: Any) -> str:
        seen_then.append(list(seen.said))
        return "TERMINATE"

    apps.user().initiate_chat(apps.assistant("helper", [look]), message="Now?")
    assert seen_then == [[("user", "Now?")]]


def test_the_text_after_the_send_hooks_is_what_was_said(seen: Any) -> None:
    helper = apps.assistant("helper", ["secret TERMINATE"])

    def redact(sender: Any, message: Any, recipient: Any, silent: Any) -> Any:
        return "redacted TERMINATE"

    helper.register_hook("process_message_before_send", redact)
    apps.user().initiate_chat(helper, message="Tell me")
    assert seen.said == [("user", "Tell me"), ("helper", "redacted TERMINATE")]
    seen.check()


def test_max_turns_is_a_limit(seen: Any) -> None:
    apps.canned("a", "tick").initiate_chat(apps.canned("b", "tock"), message="go", max_turns=2)
    assert seen.said == [("a", "go"), ("b", "tock"), ("a", "tick"), ("b", "tock")]
    assert [message.kind for message in seen.messages] == ["opener"] + ["auto_reply"] * 3
    assert seen.ends == [("limit", "Maximum turns (2) reached")]
    assert seen.started[0].contract.max_messages == 4
    assert seen.started[0].contract.source == "initiate_chat.max_turns"
    seen.check()


def test_a_stop_word_within_max_turns_is_no_limit(seen: Any) -> None:
    """AG2 sends no TerminationEvent here; the reason is inferred."""
    helper = apps.assistant("helper", ["working", "TERMINATE"])
    # The recipient's own condition ends such a chat.
    apps.user().initiate_chat(helper, message="go", max_turns=9)
    assert seen.ends[0][0] == "completed"
    assert "Termination message condition" in seen.ends[0][1]
    seen.check()


def test_the_reply_limit_is_a_limit(seen: Any) -> None:
    helper = apps.canned("helper", "again", max_consecutive_auto_reply=3)
    apps.canned("user", "more").initiate_chat(helper, message="go")
    assert seen.ends == [("limit", "Maximum number of consecutive auto-replies reached")]
    assert len(seen.messages) == 7 == seen.started[0].contract.max_messages
    seen.check()


def test_no_reply_ends_a_chat(seen: Any) -> None:
    def nothing(recipient: Any, **_: Any) -> tuple[bool, None]:
        return True, None

    helper = apps.canned("helper")
    helper.register_reply([type(helper), None], nothing, position=0)
    apps.canned("user").initiate_chat(helper, message="go")
    assert seen.ends == [("completed", "No reply generated")]
    seen.check()


def test_the_stop_words_and_prompts_are_known_from_the_start(seen: Any) -> None:
    proxy = apps.user(is_termination_msg=lambda m: "ALL DONE" in (m.get("content") or ""))
    proxy.initiate_chat(
        apps.assistant("helper", ["ALL DONE"], system_message="Help!"), message="go"
    )
    start = seen.started[0]
    assert "ALL DONE" in start.contract.tokens
    assert start.prompts["helper"] == "Help!"
    assert start.framework == "autogen"
    assert seen.ends == [STOPPED]


def test_a_tool_that_raises_is_a_failed_call_and_the_chat_goes_on(seen: Any) -> None:
    def weather(city: str) -> str:
        raise OSError("no network")

    proxy, helper = apps.weather_pair(weather)
    proxy.initiate_chat(helper, message="Weather?")
    assert [(r.result, r.error) for r in seen.results] == [("Error: no network", "ToolError")] * 2
    assert seen.ends == [STOPPED]
    assert [s.attributes["error.type"] for s in seen.spans if s.name == "execute_tool weather"] == [
        "ToolError"
    ] * 2
    seen.check()


def test_calls_of_unknown_tools_and_broken_arguments_say_so(seen: Any) -> None:
    script = [[("wether", "{}")], [("weather", "{oops")], "TERMINATE"]
    proxy, helper = apps.weather_pair(lines=script)
    proxy.initiate_chat(helper, message="Weather?")
    assert [r.error for r in seen.results] == ["ToolNotFound", "JSONDecodeError"]
    seen.check()


def _sync(proxy: Any, helper: Any) -> None:
    proxy.initiate_chat(helper, message="go")


def _async(proxy: Any, helper: Any) -> None:
    asyncio.run(proxy.a_initiate_chat(helper, message="go"))


@pytest.mark.parametrize("chat", [_sync, _async])
def test_a_model_error_reaches_the_app_as_the_same_object(seen: Any, chat: Any) -> None:
    error = ValueError("quota")
    proxy, helper = apps.user(), apps.assistant("helper", [error])
    with pytest.raises(ValueError, match="quota") as caught:
        chat(proxy, helper)
    assert caught.value is error
    assert [model.error for model in seen.models] == ["ValueError"]
    assert seen.finished[0].outcome == "error"
    assert seen.finished[0].error == "ValueError"
    seen.check()


async def test_a_cancelled_chat(seen: Any) -> None:
    started = asyncio.Event()

    async def weather(city: str) -> str:
        started.set()
        await asyncio.sleep(60)
        return city

    proxy, helper = apps.weather_pair(weather)
    task = asyncio.create_task(proxy.a_initiate_chat(helper, message="Weather?"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen.finished[0].outcome == "cancelled"
    assert seen.results[0].error == "asyncio.exceptions.CancelledError"
    seen.check()


def test_an_interrupted_chat(seen: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        apps.user().initiate_chat(apps.assistant("helper", [KeyboardInterrupt()]), message="go")
    assert seen.finished[0].outcome == "cancelled"
    seen.check()


async def test_fifty_chats_at_once_are_kept_apart(seen: Any) -> None:
    """They even share the one assistant, whose model calls run in a pool without context."""
    helper = apps.assistant("helper", [lambda messages: messages[-1]["content"] + " TERMINATE"])
    proxies = [apps.user(f"user{number}") for number in range(50)]
    await asyncio.gather(
        *(p.a_initiate_chat(helper, message=f"I am {p.name}", silent=True) for p in proxies)
    )
    talks: dict[str, list[str]] = {}
    for message in seen.messages:
        talks.setdefault(message.run_id, []).append(message.text)
    assert sorted(talks.values()) == sorted(
        [f"I am {p.name}", f"I am {p.name} TERMINATE"] for p in proxies
    )
    assert all(model.text == talks[model.run_id][1] for model in seen.models)
    assert len(seen.models) == 50
    seen.check()


def test_threads_at_once_are_kept_apart(seen: Any) -> None:
    threads = []
    for number in range(8):
        proxy, helper = apps.weather_pair()
        options = {"message": f"Weather {number}?", "silent": True}
        threads.append(threading.Thread(target=proxy.initiate_chat, args=(helper,), kwargs=options))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(seen.of(type(seen.messages[0]), run_id=e.run_id)) for e in seen.started] == [4] * 8
    seen.check()


def test_agents_that_talk_again_start_a_second_run(seen: Any) -> None:
    proxy, helper = apps.weather_pair(lines=["one TERMINATE", "two TERMINATE"])
    proxy.initiate_chat(helper, message="first")
    proxy.initiate_chat(helper, message="second", clear_history=False)
    assert len({event.run_id for event in seen.started}) == 2
    assert seen.said[2:] == [("user", "second"), ("assistant", "two TERMINATE")]
    seen.check()


def test_initiate_chats_is_one_run_per_chat(seen: Any) -> None:
    proxy = apps.user()
    queue = [
        {"recipient": apps.assistant("one", ["uno TERMINATE"]), "message": "count"},
        {"recipient": apps.assistant("two", ["dos TERMINATE"]), "message": "go on"},
    ]
    proxy.initiate_chats(queue)
    assert [event.name for event in seen.started] == ["user/one", "user/two"]
    assert [message.kind for message in seen.messages] == ["opener", "reply"] * 2
    seen.check()


def test_clearing_a_history_in_mid_run_is_told(seen: Any) -> None:
    from mastwatch.events import HistoryCleared

    helper = apps.assistant("helper", ["first", "second TERMINATE"])

    def forget(recipient: Any, **_: Any) -> tuple[bool, None]:
        if len(seen.messages) == 2:
            helper.clear_history()
        return False, None

    proxy = apps.user(default_auto_reply="go on")
    proxy.register_reply([type(helper), None], forget, position=0)
    proxy.initiate_chat(helper, message="go")
    assert [(e.agent, e.index) for e in seen.of(HistoryCleared)] == [("helper", 1)]
    seen.check()


def test_a_suppressed_chat_is_not_seen(seen: Any) -> None:
    from opentelemetry import context

    proxy, helper = apps.weather_pair()
    token = context.attach(context.set_value("suppress_instrumentation", True))
    try:
        proxy.initiate_chat(helper, message="Weather?")
    finally:
        context.detach(token)
    assert seen.events == []
    assert seen.spans == []


async def test_a_run_in_a_task_stays_in_the_run_around_it(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    outer = seen.emitter.start_run("outer", framework="custom")
    with outer.attached():
        response = await proxy.a_run(helper, message="Weather?")
    await response.process()
    outer.finish("completed")
    assert {event.run_id for event in seen.events} == {outer.id}
    assert seen.said == WEATHER
    seen.check()


class Phone:
    """An agent of another make: no ConversableAgent."""

    name = "phone"
    description = "a phone"
    silent = True
    system_message = ""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def receive(self, message: Any, sender: Any, *_: Any, **__: Any) -> None:
        self.heard.append(message)


def test_what_goes_to_an_agent_of_another_make_is_said_on_return(seen: Any) -> None:
    phone, helper = Phone(), apps.canned("helper", "ring")
    run = seen.emitter.start_run("outer", framework="custom")
    with run.attached():
        helper.receive("call me", phone, request_reply=True)
    run.finish("completed")
    assert phone.heard == ["ring"]
    assert [(m.sender, m.text, m.recipients) for m in seen.messages] == [
        ("helper", "ring", ("phone",))
    ]
    seen.check()


def test_no_context_is_lost_on_the_way(seen: Any, caplog: pytest.LogCaptureFixture) -> None:
    proxy, helper = apps.weather_pair()
    asyncio.run(proxy.a_initiate_chat(helper, message="Weather?"))
    assert "detach" not in caplog.text


def test_a_chat_goes_on_when_we_are_taken_out_in_mid_run(recorder: Any) -> None:
    made = AutoGenInstrumentor()
    made.install(recorder.emitter)

    def weather(city: str) -> str:
        made.uninstall()
        return city

    proxy, helper = apps.weather_pair(weather)
    proxy.initiate_chat(helper, message="Weather?")
    assert len(recorder.finished) == 1
    assert recorder.emitter.current() is None


def test_the_users_span_is_the_parent_of_the_run(seen: Any) -> None:
    tracer = seen.provider.get_tracer("app")
    proxy, helper = apps.weather_pair()
    with tracer.start_as_current_span("request") as request:
        response = proxy.run(helper, message="Weather?")
    response.process()
    _wait_for_end(seen)
    run = next(span for span in seen.spans if span.name == "invoke_workflow user/assistant")
    assert run.parent.span_id == request.get_span_context().span_id
    assert len({span.context.trace_id for span in seen.spans}) == 1


def test_an_agent_that_runs_alone(seen: Any) -> None:
    helper = apps.assistant("helper", ["Paris"])
    helper.run(message="Capital?", max_turns=1).process()
    _wait_for_end(seen)
    assert seen.said == [("user", "Capital?"), ("helper", "Paris")]
    seen.check()


async def test_chats_are_kept_apart_though_a_hook_copies_their_histories(seen: Any) -> None:
    helper = apps.assistant("helper", [lambda messages: messages[-1]["content"] + " TERMINATE"])
    helper.register_hook("process_all_messages_before_reply", copy.deepcopy)
    proxies = [apps.user(f"user{number}") for number in range(10)]
    await asyncio.gather(
        *(p.a_initiate_chat(helper, message=f"I am {p.name}", silent=True) for p in proxies)
    )
    spoken = {m.run_id: m.text for m in seen.messages if m.sender == "helper"}
    assert all(call.text == spoken[call.run_id] for call in seen.models)
    seen.check()


def test_a_mistake_of_the_hosts_is_told_by_ag2(seen: Any) -> None:
    with pytest.raises(AttributeError):
        apps.user().initiate_chat(None, message="hello?")
    assert seen.events == []


def test_a_reader_who_leaves_at_the_end_abandons_nothing(seen: Any) -> None:
    proxy, helper = apps.weather_pair()
    if not hasattr(proxy, "run_iter"):
        pytest.skip("this AG2 has no run_iter")
    response = proxy.run_iter(helper, message="Weather?")
    for event in response:
        if event.type == "termination":
            break
    response._thread.join(5)
    assert seen.ends == [STOPPED]
    seen.check()


def test_a_prompt_that_cannot_be_read_costs_no_run(
    seen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(ConversableAgent):
        @property
        def system_message(self) -> str:
            raise OSError

    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    odd = Odd("odd", llm_config=False, human_input_mode="NEVER", default_auto_reply="TERMINATE")
    apps.user().initiate_chat(odd, message="go")
    assert seen.said == [("user", "go"), ("odd", "TERMINATE")]
    assert guard.counts()["autogen.contract"] == 1
    guard.reset()
    seen.check()
