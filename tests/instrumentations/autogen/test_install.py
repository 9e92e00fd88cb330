"""Installing and undoing, other people's wrappers, and what the host must never notice."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import inspect
import io
import subprocess
import sys
from importlib import metadata
from typing import Any

import pytest
from autogen import ConversableAgent

from apps import autogen_apps as apps
from mastwatch import guard
from mastwatch_instrumentations.autogen import AutoGenInstrumentor
from mastwatch_instrumentations.autogen.turns import Quiet, quiet

from .conftest import Recorder, leftovers


@pytest.fixture
def instrumentor() -> Any:
    made = AutoGenInstrumentor()
    yield made
    made.uninstall()
    assert leftovers() == []


def talk(message: str = "Weather?") -> Any:
    proxy, helper = apps.weather_pair()
    return proxy.initiate_chat(helper, message=message)


def test_agents_made_before_are_seen(recorder: Recorder, instrumentor: Any) -> None:
    proxy, helper = apps.weather_pair()
    instrumentor.install(recorder.emitter)
    proxy.initiate_chat(helper, message="Weather?")
    assert len(recorder.messages) == 4
    recorder.check()


def test_nothing_of_ours_is_left(recorder: Recorder) -> None:
    before = dict(vars(ConversableAgent))
    made = AutoGenInstrumentor()
    made.install(recorder.emitter)
    assert leftovers() != []
    made.uninstall()
    assert dict(vars(ConversableAgent)) == before
    made.uninstall()
    talk()
    assert recorder.events == []


def test_twice_is_once(recorder: Recorder, instrumentor: Any) -> None:
    instrumentor.install(recorder.emitter)
    instrumentor.install(recorder.emitter)
    other = AutoGenInstrumentor()
    other.install(recorder.emitter)
    talk()
    assert len(recorder.messages) == 4
    recorder.check()
    other.uninstall()
    assert leftovers() != []


def foreign(method: Any, calls: list[str]) -> Any:
    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        calls.append(method.__name__)
        return method(*args, **kwargs)

    return wrapper


def test_the_wrapper_of_someone_else_is_never_removed(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(
        ConversableAgent, "initiate_chat", foreign(ConversableAgent.initiate_chat, calls)
    )
    made = AutoGenInstrumentor()
    made.install(recorder.emitter)
    monkeypatch.setattr(
        ConversableAgent, "generate_reply", foreign(ConversableAgent.generate_reply, calls)
    )
    made.uninstall()
    talk()
    assert "initiate_chat" in calls
    assert "generate_reply" in calls
    assert recorder.events == []
    made.install(recorder.emitter)  # the wrapper left below theirs comes back to life
    talk()
    assert len(recorder.messages) == 4
    recorder.check()
    made.uninstall()
    monkeypatch.undo()
    # The way pytest undoes it, ours is back on top, but inert; clean up what it left.
    site = vars(ConversableAgent)["generate_reply"].__mastwatch_site__
    ConversableAgent.generate_reply = site.original
    assert leftovers() == []


def test_methods_stay_what_they_are(recorder: Recorder, instrumentor: Any) -> None:
    names = ("initiate_chat", "a_initiate_chat", "generate_reply", "a_generate_reply")
    before = {name: getattr(ConversableAgent, name) for name in names}
    instrumentor.install(recorder.emitter)
    for name, method in before.items():
        now = getattr(ConversableAgent, name)
        assert inspect.iscoroutinefunction(now) == inspect.iscoroutinefunction(method)
        assert inspect.signature(now) == inspect.signature(method)
        assert (now.__name__, now.__doc__) == (method.__name__, method.__doc__)


def test_results_and_output_are_the_same(recorder: Recorder, instrumentor: Any) -> None:
    def observed() -> tuple[Any, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            result = talk()
        text = "\n".join(line for line in out.getvalue().splitlines() if "TERMINATING" not in line)
        return (result.chat_history, result.summary, result.cost, result.human_input), text

    plain = observed()
    instrumentor.install(recorder.emitter)
    assert observed() == plain


def test_a_reply_is_handed_on_as_the_same_object(recorder: Recorder, instrumentor: Any) -> None:
    answer = {"content": "Paris", "role": "assistant"}
    helper = apps.canned("helper")
    helper.register_reply([ConversableAgent, None], lambda *_, **__: (True, answer), position=0)
    instrumentor.install(recorder.emitter)
    assert helper.generate_reply(messages=[{"role": "user", "content": "?"}]) is answer
    assert answer == {"content": "Paris", "role": "assistant"}


def test_a_copied_agent_talks_for_itself(recorder: Recorder, instrumentor: Any) -> None:
    instrumentor.install(recorder.emitter)
    original = apps.canned("helper", "TERMINATE")
    twin = copy.deepcopy(original)
    apps.user().initiate_chat(twin, message="hi")
    assert not original.chat_messages
    assert len(recorder.messages) == 2
    recorder.check()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_broken_watch_does_not_touch_the_app(
    recorder: Recorder, instrumentor: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    guard.reset()
    recorder.broken = True
    instrumentor.install(recorder.emitter)
    proxy, helper = apps.weather_pair()
    if mode == "sync":
        result = proxy.initiate_chat(helper, message="Weather?")
    else:
        result = asyncio.run(proxy.a_initiate_chat(helper, message="Weather?"))
    assert result.summary == "Sunny in both. "
    assert guard.counts()["autogen.chat"] > 0
    assert recorder.emitter.current() is None
    guard.reset()


def test_a_watch_that_breaks_on_the_way_does_not_touch_the_app(
    recorder: Recorder, instrumentor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    guard.reset()
    instrumentor.install(recorder.emitter)

    def weather(city: str) -> str:
        recorder.broken = True
        return city

    proxy, helper = apps.weather_pair(weather)
    assert proxy.initiate_chat(helper, message="Weather?").summary == "Sunny in both. "
    counts = guard.counts()
    assert counts["autogen.tool"] == 2
    assert counts["autogen.message"] >= 2
    assert counts["autogen.model"] == 2
    assert recorder.emitter.current() is None
    guard.reset()


def chat_until_the_stack_is_full() -> int:
    def say(name: str) -> Any:
        return lambda recipient, messages=None, **_: (True, f"{name} {len(messages)}")

    pair = []
    for name in ("a", "b"):
        agent = apps.canned(name, max_consecutive_auto_reply=10**6)
        agent.register_reply([ConversableAgent, None], say(name), position=0)
        pair.append(agent)
    with contextlib.suppress(RecursionError):
        pair[0].initiate_chat(pair[1], message="go", silent=True)
    return len(pair[0].chat_messages[pair[1]])


def test_the_longest_possible_chat_is_as_long_as_without_us(
    recorder: Recorder, instrumentor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    plain = chat_until_the_stack_is_full()
    instrumentor.install(recorder.emitter)
    watched = chat_until_the_stack_is_full()
    assert watched >= plain * 0.99
    assert len(recorder.messages) >= plain * 0.97
    assert [outcome for outcome, _ in recorder.ends] == ["error"]
    guard.reset()


def test_agents_and_scopes_are_let_go_of(recorder: Recorder, instrumentor: Any) -> None:
    import gc
    import weakref

    instrumentor.install(recorder.emitter)
    proxy, helper = apps.weather_pair()
    proxy.initiate_chat(helper, message="Weather?")
    helper.generate_reply(messages=[{"role": "user", "content": "?"}])
    gone = weakref.ref(helper)
    del proxy, helper
    gc.collect()
    assert gone() is None


def test_hushing_ends_with_its_block() -> None:
    with Quiet().attached():
        assert quiet()
    assert not quiet()


def test_importing_the_instrumentor_imports_no_autogen() -> None:
    code = "import sys, mastwatch_instrumentations.autogen; sys.exit('autogen' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_where_ag2_traces_itself_events_flow_but_the_spans_stay_theirs(
    recorder: Recorder, instrumentor: Any
) -> None:
    native = pytest.importorskip("autogen.opentelemetry")
    instrumentor.install(recorder.emitter)
    proxy, helper = apps.weather_pair()
    for agent in (proxy, helper):
        native.instrument_agent(agent, tracer_provider=recorder.provider)
    proxy.initiate_chat(helper, message="Weather?")
    assert [message.index for message in recorder.messages] == [0, 1, 3, 5]
    assert len(recorder.results) == 2
    scopes = {span.instrumentation_scope.name for span in recorder.spans}
    assert any("ag2" in scope for scope in scopes)
    ours = [s.name for s in recorder.spans if s.instrumentation_scope.name == "mastwatch"]
    assert all(name.startswith("agent_message") for name in ours)
    rows = [s for s in recorder.spans if "mastwatch.message.index" in (s.attributes or {})]
    assert len(rows) == 4


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_where_openinference_is_on_events_flow_but_the_spans_stay_theirs(
    recorder: Recorder, instrumentor: Any, first: str
) -> None:
    theirs = pytest.importorskip("openinference.instrumentation.ag2").AG2Instrumentor()
    options = {"tracer_provider": recorder.provider, "skip_dep_check": True}
    if first == "ours":
        instrumentor.install(recorder.emitter)
    theirs.instrument(**options)
    try:
        if first == "theirs":
            instrumentor.install(recorder.emitter)
        talk()
        assert [message.index for message in recorder.messages] == [0, 1, 3, 5]
        ours = [s.name for s in recorder.spans if s.instrumentation_scope.name == "mastwatch"]
        assert all(name.startswith("agent_message") for name in ours)
        rows = [s for s in recorder.spans if "mastwatch.message.index" in (s.attributes or {})]
        assert len(rows) == 4
    finally:
        if first == "theirs":
            instrumentor.uninstall()
        theirs.uninstrument()


@pytest.mark.parametrize(
    ("installed", "provider"),
    [
        ({"autogen": "0.14.1", "ag2": "1.2.1"}, ("autogen", "0.14.1")),
        ({"ag2": "1.2.1", "pyautogen": "0.9"}, ("pyautogen", "0.9")),
        ({"ag2": "0.9.10"}, ("ag2", "0.9.10")),
        ({"pyautogen": "0.10.0"}, None),
    ],
)
def test_only_distributions_that_hold_autogen_count(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], provider: Any
) -> None:
    def version(name: str) -> str:
        try:
            return installed[name]
        except KeyError:
            raise metadata.PackageNotFoundError(name) from None

    monkeypatch.setattr(metadata, "version", version)
    assert AutoGenInstrumentor.version() == provider
