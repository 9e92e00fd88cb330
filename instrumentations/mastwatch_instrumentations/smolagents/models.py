"""Model calls: ``generate`` and ``generate_stream`` of the agents' models."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mastwatch.guard import guard
from mastwatch.spans.emit import Emitter, ModelCall
from mastwatch_instrumentations._patch import Call, argument, around
from mastwatch_instrumentations._streams import around_generator
from mastwatch_instrumentations.smolagents.brake import Brake
from mastwatch_instrumentations.smolagents.reading import request_of, text_of, usage_of
from mastwatch_instrumentations.smolagents.session import Session, session_here

_WHERE = "smolagents.model"


class ModelFrame:
    """One model call.

    Args:
        call: Its span, which waits for the utterance.
        session: Whose agent says what comes back; None where nobody hears it: in a plan, in a tool.
    """

    def __init__(self, call: ModelCall, session: Session | None) -> None:
        self._call = call
        self._session = session

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        with self._call.attached():
            yield

    def done(self, message: Any) -> None:
        """Record the answer."""
        self.answered(text_of(getattr(message, "content", None)), *usage_of(message))

    def answered(self, text: str, spent: int | None, made: int | None) -> None:
        """Record what came back."""
        self._call.answered(text, input_tokens=spent, output_tokens=made)
        if self._session is None:
            self._call.end()
        else:
            self._session.hear(text, self._call)

    def failed(self, error: BaseException) -> None:
        """Record the failure, or that nobody waited for the rest."""
        self._call.answered(error=error)
        self._call.end(error)


class StreamedFrame(ModelFrame):
    """One model call whose answer comes in pieces."""

    def __init__(self, call: ModelCall, session: Session | None) -> None:
        super().__init__(call, session)
        self._texts: list[str] = []
        self._usage: list[tuple[int, int]] = []

    def item(self, delta: Any) -> None:
        """Add a piece."""
        self._texts.append(text_of(getattr(delta, "content", None)))
        spent, made = usage_of(delta)
        if spent is not None or made is not None:
            self._usage.append((spent or 0, made or 0))

    def done(self, result: Any) -> None:
        """Record the answer."""
        # A stream that does not tell its tokens has not cost none.
        spent, made = map(sum, zip(*self._usage, strict=True)) if self._usage else (None, None)
        self.answered("".join(self._texts), spent, made)


class Models:
    """Opens the frames of model calls.

    Args:
        emitter: Where everything goes.
        brake: Knows what is to be said to a model.
    """

    def __init__(self, emitter: Emitter, brake: Brake) -> None:
        self._emitter = emitter
        self._brake = brake

    def generate(
        self, call: Call, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The hook of ``generate``."""
        return around(_WHERE, self._begin)(self._nudging(call), model, args, kwargs)

    def stream(self, call: Call, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The hook of ``generate_stream``."""

        def stream(*args: Any, **kwargs: Any) -> Any:
            deltas = self._nudging(call)(*args, **kwargs)
            return deltas if isinstance(deltas, Generator) else _each(deltas)

        return around_generator(_WHERE, self._begin_stream)(stream, model, args, kwargs)

    def _begin(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        opened = self._open(model, args, kwargs)
        return None if opened is None else ModelFrame(*opened)

    def _begin_stream(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        opened = self._open(model, args, kwargs)
        return None if opened is None else StreamedFrame(*opened)

    def _open(
        self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ModelCall, Session | None] | None:
        """Open a call, and tell whose agent says what comes back."""
        emitter = self._emitter
        scope, session = emitter.current(), session_here()
        # Models call the methods of the models they are made from: that is the same call.
        if scope is None or emitter.suppressed() or emitter.model_call_here() is not None:
            return None
        if session is not None and scope is not session.run:
            session = None  # a tool's own code asks
        model_id = getattr(model, "model_id", None)
        call = scope.run.model_call(
            agent=session.name if session is not None else scope.agent,
            model=model_id if isinstance(model_id, str) else "",
            request=request_of(argument(args, kwargs, 0, "messages") or ()),
            parent=session.turn if session is not None else scope,
        )
        if session is not None and session.aside:
            call.turn_id = scope.run.next_id()  # such a request is no part of the thread
        heard = session is not None and session.aside != "plan"
        return call, session if heard else None

    def _nudging(self, call: Call) -> Call:
        """The call of a model, with what we have to say in it; the snapshot is without."""

        def ask(*args: Any, **kwargs: Any) -> Any:
            with guard("smolagents.nudge"):
                args, kwargs = self._brake.nudged(self._emitter.current(), args, kwargs)
            return call(*args, **kwargs)

        return ask


def _each(deltas: Iterable[Any]) -> Iterator[Any]:
    yield from deltas
