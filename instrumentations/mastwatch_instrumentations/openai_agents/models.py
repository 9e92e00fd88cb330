"""Model calls: ``get_response`` and ``stream_response`` of every kind of model the app has."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from agents.models.interface import Model

from mastwatch.guard import guard
from mastwatch.spans.emit import Emitter, ModelCall
from mastwatch_instrumentations._patch import Call, Patches, argument, around_async
from mastwatch_instrumentations._streams import around_stream
from mastwatch_instrumentations.openai_agents.brake import Brake
from mastwatch_instrumentations.openai_agents.reading import answer_of, field, request_of
from mastwatch_instrumentations.openai_agents.session import Session, session_here

_WHERE = "openai_agents.model"
_OPENAI = "agents.models.openai_"


class ModelFrame:
    """One model call.

    Args:
        call: Its span.
        session: Whose agent says what comes back; None where it only goes back to the app's code.
    """

    def __init__(self, call: ModelCall, session: Session | None) -> None:
        self._call = call
        self._session = session

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        with self._call.attached():
            yield

    def done(self, result: Any) -> None:
        """Record a ``ModelResponse``."""
        try:
            self.answered(result.output, result.usage)
        finally:
            self._call.end()

    def answered(self, items: Iterable[object], usage: object) -> None:
        """Record what came back."""
        answer, call = answer_of(items, usage), self._call
        call.answered(
            answer.text, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens
        )
        if self._session is not None:
            self._session.utter(answer, call)

    def failed(self, error: BaseException) -> None:
        """Record the failure, or that nobody waited for the rest."""
        if not self._call.waiting:
            self._call.end()
            return
        self._call.answered(error=error)
        self._call.end(error)


class StreamedFrame(ModelFrame):
    """One model call whose answer comes in events."""

    def __init__(self, call: ModelCall, session: Session | None) -> None:
        super().__init__(call, session)
        self._items: list[object] = []

    def item(self, event: Any) -> None:
        """Record the answer as soon as all of it is here."""
        kind = field(event, "type")
        if kind == "response.output_item.done":
            self._items.append(event.item)
        elif kind == "response.completed":
            # Some backends leave the items out of the last event.
            self.answered(event.response.output or self._items, event.response.usage)

    def done(self, result: Any) -> None:
        """End the span; an answer that never came in whole is none."""
        self._call.answered()
        self._call.end()


class Models:
    """Watches the classes of the app's models.

    Args:
        emitter: Where everything goes.
        patches: Takes the wrappers back.
        brake: Knows what is to be said to a model.
    """

    def __init__(self, emitter: Emitter, patches: Patches, brake: Brake) -> None:
        self._emitter = emitter
        self._patches = patches
        self._brake = brake
        self._known: WeakSet[type] = WeakSet()

    def watch(self) -> bool:
        """Wrap the models there are by now: providers load their classes when first asked."""
        waiting: list[type] = [Model]
        while waiting:
            kind = waiting.pop()
            waiting += kind.__subclasses__()
            if kind is Model or kind in self._known:
                continue
            self._known.add(kind)
            if "get_response" in vars(kind):
                self._patches.wrap(kind, "get_response", self._ask)
            if "stream_response" in vars(kind):
                self._patches.wrap(kind, "stream_response", self._stream)
        return bool(self._known)

    def _ask(self, call: Call, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return around_async(_WHERE, self._begin)(self._nudging(call), model, args, kwargs)

    def _stream(self, call: Call, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def stream(*args: Any, **kwargs: Any) -> Any:
            made = self._nudging(call)(*args, **kwargs)
            return made if isinstance(made, AsyncGenerator) else _each(made)

        return around_stream(_WHERE, self._begin_stream)(stream, model, args, kwargs)

    def _begin_stream(
        self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> StreamedFrame | None:
        call, session = self._open(model, args, kwargs)
        return None if call is None else StreamedFrame(call, session)

    def _begin(
        self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ModelFrame | None:
        call, session = self._open(model, args, kwargs)
        return None if call is None else ModelFrame(call, session)

    def _open(
        self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ModelCall | None, Session | None]:
        """Open a call, and tell whose agent says what comes back."""
        emitter = self._emitter
        scope, session = emitter.current(), session_here()
        # Models wrap models: the call that is under way is this one.
        if scope is None or emitter.suppressed() or emitter.model_call_here() is not None:
            return None, None
        if session is None or scope is not session.run:
            session = None  # the app's own code asks, in a tool for one
        else:
            handoffs = argument(args, kwargs, 5, "handoffs") or ()
            session.memory.targets.update({h.tool_name: h.agent_name for h in handoffs})
        system = argument(args, kwargs, 0, "system_instructions")
        given = argument(args, kwargs, 1, "input")
        # What a server keeps of the conversation is not in what it is sent.
        kept = kwargs.get("previous_response_id") or kwargs.get("conversation_id")
        call = scope.run.model_call(
            agent=session.agent if session is not None else scope.agent,
            model=_name_of(model),
            provider="openai" if type(model).__module__.startswith(_OPENAI) else "",
            request=None if kept else request_of(system, given),
            parent=session.turn(session.agent) if session is not None else scope,
        )
        return call, session

    def _nudging(self, call: Call) -> Call:
        """The call of a model, with what we have to say in it; the snapshot is without."""

        def ask(*args: Any, **kwargs: Any) -> Any:
            with guard("openai_agents.nudge"):
                scope = self._emitter.current()
                if scope is not None:
                    args, kwargs = self._brake.nudged(scope.run, args, kwargs)
            return call(*args, **kwargs)

        return ask


def _name_of(model: Any) -> str:
    name = getattr(model, "model", "")
    return name if isinstance(name, str) else ""


async def _each(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in stream:
        yield event
