"""One turn of an agent: its frame, and the middleware that lets us see inside it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ag2.events import BaseEvent, HumanInputRequest, ModelResponse, ToolCallEvent
from ag2.middleware import BaseMiddleware

from mastwatch.events import MessageKind, Outcome
from mastwatch.spans.emit import Run, Scope, ToolCall
from mastwatch_instrumentations._patch import around_async
from mastwatch_instrumentations.ag2 import reading
from mastwatch_instrumentations.ag2.brake import HALTED
from mastwatch_instrumentations.ag2.calls import (
    ModelFrame,
    Question,
    ToolFrame,
    open_tool,
    tell_unseen,
)

if TYPE_CHECKING:
    from mastwatch_instrumentations.ag2.channels import Channel, Member
    from mastwatch_instrumentations.ag2.tracker import Tracker


class Turn:
    """The frame of one turn.

    Args:
        tracker: Forgets it in the end.
        key: Of the stream it runs on; one turn at a time has it.
        run: Where it happens.
        scope: Its span.
        name: Whose turn it is.
        own: The run is this turn, and ends with it.
        channel: The channel that the turn is taken in, and who takes it.
    """

    def __init__(
        self,
        tracker: Tracker,
        key: object,
        run: Run,
        scope: Scope,
        name: str,
        own: bool,
        channel: tuple[Channel, Member] | None = None,
    ) -> None:
        self.run = run
        self.scope = scope
        self.name = name
        self.channel = channel
        self.asked: dict[str, int] = {}  # row of the message that asked, by id of the tool call
        self.seen: set[str] = set()  # ids of the tool calls that went through our hook
        self.response: ModelResponse | None = None  # the model's last one
        self.halted = False
        self.left = False  # the block of ``run()`` was left before the turn was over
        self._tracker = tracker
        self._key = key
        self._own = own

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope, and findable by its stream."""
        self._tracker.turns[self._key] = self
        try:
            with self.scope.attached():
                yield
        finally:
            self._tracker.turns.pop(self._key, None)

    def done(self, response: ModelResponse) -> None:
        """Tell the reply and end."""
        ag2_halted = response is not self.response and (response.content or "").startswith(HALTED)
        # A response that calls tools was told when the model gave it, also where AG2 hands its
        # calls on to the host's client.
        if response.content and not response.tool_calls and not self.halted:
            self._reply(response.content, "auto_reply" if ag2_halted else "reply")
        self.scope.end()
        if not self._own:
            return
        if ag2_halted:
            self.run.finish("limit", "halted by AlertPolicy")
        else:
            self.run.finish("completed", response.finish_reason or "final response")

    def _reply(self, text: str, kind: MessageKind) -> None:
        recipients: tuple[str, ...] = ()
        caller = self.run.parent
        if self._own and isinstance(caller, ToolCall):
            recipients = (caller.agent,)  # who uses this agent as a tool
        if self.channel is not None:
            channel, member = self.channel
            recipients = channel.others(member.agent_id)
            channel.expect(member.agent_id, text, self._tracker.emitter.clock())
        self.run.message(self.name, text, recipients=recipients, kind=kind, carriers=(self.scope,))

    def failed(self, error: BaseException) -> None:
        """Record that no reply came; a channel goes on without."""
        self.scope.end(error)
        if self._own:
            outcome = self._outcome(error)
            reason = "the block of run() was left" if outcome == "abandoned" else ""
            self.run.finish(outcome, reason or type(error).__name__, error)

    def _outcome(self, error: BaseException) -> Outcome:
        if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, SystemExit)):
            return "abandoned" if self.left else "cancelled"
        return "error"


class Watcher(BaseMiddleware):
    """Sees one turn from within; AG2 makes one per turn from its ``WatcherFactory``."""

    def __init__(
        self, tracker: Tracker, agent: Any, traced: bool, event: BaseEvent, context: Any
    ) -> None:
        super().__init__(event, context)
        self.turn: Turn | None = None
        self._tracker = tracker
        self._agent: Any = agent
        self._traced = traced

    async def on_turn(self, call_next: Any, event: BaseEvent, context: Any) -> Any:
        """Watch the turn."""
        return await _TURN(call_next, self, (event, context), {})

    async def on_llm_call(self, call_next: Any, events: Sequence[BaseEvent], context: Any) -> Any:
        """Watch a model call, or act on its run."""
        hook = self._tracker.brake.held(_MODEL)
        return await hook(call_next, self, (events, context), {})

    async def on_tool_execution(self, call_next: Any, event: Any, context: Any) -> Any:
        """Watch a tool call."""
        return await _TOOL(call_next, self, (event, context), {})

    async def on_human_input(self, call_next: Any, event: Any, context: Any) -> Any:
        """Watch a question to a person."""
        return await _HUMAN(call_next, self, (event, context), {})

    def begin_turn(self, event: BaseEvent, context: Any) -> Turn | None:
        """Open the frame of the turn."""
        self.turn = self._tracker.open_turn(self._agent, event, context, self._traced)
        return self.turn

    def begin_model(self, events: Sequence[BaseEvent], context: Any) -> ModelFrame | None:
        """Open the frame of a model call."""
        turn = self.turn
        if turn is None:
            return None
        tell_unseen(turn, events)
        call = turn.run.model_call(
            agent=turn.name,
            model=reading.configured(context.dependencies, "model"),
            provider=reading.provider_name(reading.configured(context.dependencies, "provider")),
            request=reading.request_messages(context.prompt, events),
            parent=turn.scope,
        )
        return ModelFrame(turn, call)

    def begin_tool(self, event: ToolCallEvent, context: Any) -> ToolFrame | None:
        """Open the frame of a tool call."""
        return None if self.turn is None else ToolFrame(open_tool(self.turn, event))

    def begin_human(self, event: HumanInputRequest, context: Any) -> Question | None:
        """Open the frame of a question; a sub-task's may come through the turn around it."""
        if self.turn is None:
            return None
        here = self._tracker.emitter.current()
        return Question(here.run if here is not None else self.turn.run, self.turn.name)


class WatcherFactory:
    """What AG2 is given as a middleware: one per turn.

    Args:
        tracker: Where the turns are kept.
        agent: Whose turn it will be.
        traced: AG2's own middleware makes the spans of this turn.
    """

    def __init__(self, tracker: Tracker, agent: Any, traced: bool) -> None:
        self._tracker = tracker
        self._agent = agent
        self._traced = traced

    def __call__(self, event: BaseEvent, context: Any) -> Watcher:
        """Make the middleware of a turn."""
        return Watcher(self._tracker, self._agent, self._traced, event, context)


_TURN = around_async("ag2.turn", lambda watcher, args, _: watcher.begin_turn(*args))
_MODEL = around_async("ag2.model", lambda watcher, args, _: watcher.begin_model(*args))
_TOOL = around_async("ag2.tool", lambda watcher, args, _: watcher.begin_tool(*args))
_HUMAN = around_async("ag2.human", lambda watcher, args, _: watcher.begin_human(*args))
