"""The model calls of agents and managers: ``create`` and ``create_stream`` of any client."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from autogen_core.models import CreateResult

from mastwatch.spans.emit import ModelCall
from mastwatch_instrumentations._patch import argument
from mastwatch_instrumentations.agentchat import reading
from mastwatch_instrumentations.agentchat.tracker import Tracker
from mastwatch_instrumentations.agentchat.turns import Turn


class ModelFrame:
    """A model call under way.

    Args:
        call: Its span.
        turn: The agent's; None for a manager, or a call in a run of the host's own.
    """

    def __init__(self, call: ModelCall, turn: Turn | None) -> None:
        self._call = call
        self._turn = turn
        self._steps = call.steps()
        self._result: Any = None

    def attached(self) -> AbstractContextManager[None]:
        """Make it the current scope for a step."""
        return self._steps.step()

    def item(self, item: Any) -> None:
        """Take the answer in as soon as it is there: the reader may not come back for more."""
        if isinstance(item, CreateResult):
            self._answered(item)

    def done(self, result: Any) -> None:
        """Record the answer."""
        self._answered(result)
        if self._turn is None:
            self._call.end()
        else:
            self._turn.answered(self._call)

    def _answered(self, result: Any) -> None:
        spent, made = reading.usage(result)
        text = reading.answer_text(result)
        self._call.answered(text, input_tokens=spent, output_tokens=made)

    def failed(self, error: BaseException) -> None:
        """Record the failure."""
        if isinstance(error, GeneratorExit) and not self._call.waiting:
            self.done(None)  # the reader has what it wanted
            return
        self._call.answered(error=error)
        self._call.end(error)


class Models:
    """Opens the frames of model calls."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    def begin(self, client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Open a call: ``(messages, *, tools, ...)``; one made by a client around another is it."""
        emitter = self._tracker.emitter
        scope = emitter.current()
        if scope is None or emitter.suppressed() or emitter.model_call_here() is not None:
            return None
        turn = self._tracker.turn_of(scope)
        conversation = self._tracker.conversation_of(scope)
        manager = conversation.manager if conversation and scope is conversation.run else ""
        # What a manager asks is made up anew each time, and an agent whose memory its manager has
        # emptied begins a thread of its own: no history that could get lost.
        anew = bool(manager) or (turn is not None and turn.renewed)
        messages = argument(args, kwargs, 0, "messages") or ()
        call = scope.run.model_call(
            agent=turn.name if turn is not None else manager or scope.agent,
            model=reading.model_name(client),
            provider=reading.provider_name(client),
            request=() if anew else reading.request_messages(messages),
            parent=scope,
        )
        return ModelFrame(call, turn)
