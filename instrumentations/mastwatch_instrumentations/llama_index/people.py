"""Questions to a person, and the answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mastwatch_instrumentations._patch import Frame
from mastwatch_instrumentations.llama_index.library import find
from mastwatch_instrumentations.llama_index.runs import Session, here


class WaitFrame:
    """A step waits for an event; LlamaIndex ends it, and runs it again when the event is there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Change nothing."""
        yield

    def done(self, result: Any) -> None:
        """Tell of the answer."""
        session, session.asks = self._session, False
        get = getattr(result, "get", None)
        text = get("response", None) if callable(get) else None
        session.run.human_replied(_agent(session), None if text is None else str(text))

    def failed(self, error: BaseException) -> None:
        """The answer is still to come."""


def wait(ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
    """Open the frame of ``Context.wait_for_event(event_type, waiter_event, ...)``."""
    session = _session()
    if session is None:
        return None
    _ask(session, [*args, *kwargs.values()])
    return WaitFrame(session) if session.asks else None


def wrote(ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Tell of a question that is put on the stream: ``Context.write_event_to_stream(ev)``."""
    session = _session()
    if session is not None:
        _ask(session, [*args, *kwargs.values()])


def _ask(session: Session, given: list[Any]) -> None:
    question = find("llama_index.core.workflow", "InputRequiredEvent")
    if not session.asks and any(isinstance(value, question) for value in given):
        session.asks = True
        session.run.human_asked(_agent(session))


def _session() -> Session | None:
    session = here.get()
    return None if session is None or session.run.finished else session


def _agent(session: Session) -> str:
    return session.turn.agent if session.turn is not None else ""
