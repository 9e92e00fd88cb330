"""What an agent's run, its asides and its tool calls have open while they go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from smolagents.agents import CodeAgent, FinalAnswerStep
from smolagents.memory import ActionStep
from smolagents.memory import ToolCall as AskedFor
from smolagents.utils import AgentError, AgentMaxStepsError

from mastwatch.events import Outcome
from mastwatch.spans.emit import ToolCall
from mastwatch_instrumentations.smolagents.brake import Brake
from mastwatch_instrumentations.smolagents.reading import as_text
from mastwatch_instrumentations.smolagents.session import Session

_INTERRUPTED = "Agent interrupted."


class Ending(NamedTuple):
    """Outcome, smolagents' words for it, and the exception where it is an error."""

    outcome: Outcome
    reason: str
    error: BaseException | None = None


def ending_of_error(error: BaseException) -> Ending:
    """Tell how a run ended that raised; reasons are words of smolagents, never of the app."""
    if isinstance(error, GeneratorExit):
        return Ending("abandoned", "stream closed before its end")
    if isinstance(error, KeyboardInterrupt):
        return Ending("cancelled", type(error).__name__)
    if isinstance(error, AgentError) and str(error) == _INTERRUPTED:
        return Ending("cancelled", _INTERRUPTED)
    return Ending("error", type(error).__name__, error)


class RunFrame:
    """The frame of ``_run_stream``, in which an agent works, streamed or not.

    Args:
        session: What it tells.
        forget: Lets go of the session when it is over.
        brake: Ends it where it is to end.
    """

    def __init__(self, session: Session, forget: Callable[[Session], None], brake: Brake) -> None:
        self._session = session
        self._forget = forget
        self._brake = brake
        self._by_code = False
        self._limit = ""
        self.attached = session.attached

    def item(self, step: Any) -> None:
        """Record what the agent did."""
        session = self._session
        if isinstance(step, AskedFor) and isinstance(session.agent(), CodeAgent):
            session.request(step.name, step.arguments, step.id)
        elif isinstance(step, ActionStep):
            session.step_over()
            self._by_code = bool(step.is_final_answer and step.code_action)
            self._brake.after_step(session)
        elif isinstance(step, FinalAnswerStep):
            if self._by_code:
                session.answer(step.output)
            self._limit = _limit(session)

    def done(self, result: Any) -> None:
        """Record that the answer is there."""
        limit = self._limit
        self._finish(Ending("limit", limit) if limit else Ending("completed", "final answer"))

    def failed(self, error: BaseException) -> None:
        """Record what was raised, or that the stream was left."""
        self._finish(ending_of_error(error))

    def _finish(self, ending: Ending) -> None:
        self._forget(self._session)
        self._session.finish(*ending)


def _limit(session: Session) -> str:
    """Return smolagents' words where an answer had to be given for want of steps."""
    agent = session.agent()
    steps = agent.memory.steps if agent is not None else ()
    error = getattr(steps[-1], "error", None) if steps else None
    return str(error)[:80] if isinstance(error, AgentMaxStepsError) else ""


class AsideFrame:
    """The frame of a request that is no part of the agent's thread: a plan, the last answer."""

    def __init__(self, session: Session, what: Literal["plan", "answer"]) -> None:
        self._session = session
        self._what = what

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Note it for the block."""
        before, self._session.aside = self._session.aside, self._what
        try:
            yield
        finally:
            self._session.aside = before

    def item(self, step: Any) -> None:
        """Nothing to add: the model's hook tells of it."""

    def done(self, result: Any) -> None:
        """Nothing to add."""

    def failed(self, error: BaseException) -> None:
        """Nothing to add."""


class ToolFrame:
    """The frame of a tool call.

    Args:
        session: The agent's that called.
        call: Its span.
        read: Makes text of the result.
        code: It runs code, which may call tools itself.
    """

    def __init__(
        self,
        session: Session,
        call: ToolCall,
        read: Callable[[Any], str] = as_text,
        code: bool = False,
    ) -> None:
        self._session = session
        self._call = call
        self._read = read
        self._code = code

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        before = self._session.executing
        if self._code:
            self._session.executing = self._call
        try:
            with self._call.attached():
                yield
        finally:
            self._session.executing = before

    def done(self, result: Any) -> None:
        """Record the result."""
        self._call.returned(self._read(result))

    def failed(self, error: BaseException) -> None:
        """Record the failure, in the words the model gets."""
        self._call.returned(str(error), error=error.__cause__ or error)
