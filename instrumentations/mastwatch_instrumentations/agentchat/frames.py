"""What the hooks have open while AgentChat runs a team, an agent, a turn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mastwatch_instrumentations.agentchat.conversations import Conversation
from mastwatch_instrumentations.agentchat.turns import Turn


class RunFrame:
    """A run: ``team.run_stream``, ``agent.run``, ``agent.run_stream``.

    Args:
        conversation: What it opened.
        paused: Told when the run waits for a person.
    """

    def __init__(
        self, conversation: Conversation, paused: Callable[[], None] | None = None
    ) -> None:
        self._conversation = conversation
        self._paused = paused
        self._steps = conversation.run.steps()
        self._result: Any = None

    def attached(self) -> AbstractContextManager[None]:
        """Make it the current scope for a step."""
        return self._steps.step()

    def item(self, item: Any) -> None:
        """Keep the last item: a stream ends with its result."""
        self._result = item

    def done(self, result: Any) -> None:
        """Tell how it ended."""
        outcome = self._conversation.over(result if result is not None else self._result)
        self._result = None
        if outcome == "paused" and self._paused is not None:
            self._paused()

    def failed(self, error: BaseException) -> None:
        """Tell what was raised, or that it was left."""
        self._conversation.broken(error)


class TurnFrame:
    """A turn: the outermost ``on_messages`` or ``on_messages_stream`` of an agent.

    Args:
        turn: What it opened.
        alone: Whether the agent was asked outside any run, which then is the turn's own.
    """

    def __init__(self, turn: Turn, alone: bool) -> None:
        self._turn = turn
        self._alone = alone
        self._steps = turn.scope.steps()

    def attached(self) -> AbstractContextManager[None]:
        """Make it the current scope for a step."""
        return self._steps.step()

    def item(self, item: Any) -> None:
        """Tell what the agent yields."""
        self._turn.heard(item)

    def done(self, result: Any) -> None:
        """Tell the reply, where it was not yielded, and end the turn."""
        try:
            self._turn.heard(result)
        finally:
            self._turn.end()
            if self._alone:
                self._turn.conversation.over(None)

    def failed(self, error: BaseException) -> None:
        """End the turn; who stops listening after the reply has left nothing undone."""
        self._turn.end(None if isinstance(error, GeneratorExit) else error)
        if self._alone:
            self._turn.conversation.broken(error)


class Listening:
    """A stream inside the turn of the same agent, whose ``on_messages`` reads it."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def attached(self) -> AbstractContextManager[None]:
        """Change nothing: the turn is the scope."""
        return nullcontext()

    def item(self, item: Any) -> None:
        """Tell what the agent yields."""
        self._turn.heard(item)

    def done(self, result: Any) -> None:
        """Leave it to the turn."""

    def failed(self, error: BaseException) -> None:
        """Leave it to the turn."""


class MemberFrame:
    """A message handled by a manager, or by what runs a participant: part of the team's run."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def attached(self) -> AbstractContextManager[None]:
        """Make the run the current scope, whatever context the runtime works in."""
        return self._conversation.run.attached()

    def done(self, result: Any) -> None:
        """Leave it to the run."""

    def failed(self, error: BaseException) -> None:
        """Note the type of what a participant raised."""
        self._conversation.error = self._conversation.error or type(error).__name__
