"""An agent's turn: what it yields, told as it yields it."""

from __future__ import annotations

from collections import deque
from typing import Any

from autogen_agentchat.agents import CodeExecutorAgent, UserProxyAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import (
    BaseChatMessage,
    CodeExecutionEvent,
    CodeGenerationEvent,
    HandoffMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
    UserInputRequestedEvent,
)

from mastwatch.events import MessageKind, ToolRequest
from mastwatch.spans.emit import ModelCall, Scope, ToolCall
from mastwatch_instrumentations.agentchat import reading
from mastwatch_instrumentations.agentchat.conversations import Conversation

RESULTS_KEPT = 64
"""Tool results of a turn that are compared with what it says afterwards."""


class Turn:
    """One turn of an agent, from ``on_messages`` or ``on_messages_stream`` to its return.

    Args:
        conversation: The run it belongs to.
        scope: Its span.
        agent: The agent, while the turn is on the host's stack.

    Attributes:
        renewed: Its history was emptied by the manager's plan just before.
        running: The tool calls under way.
    """

    def __init__(self, conversation: Conversation, scope: Scope, agent: Any) -> None:
        self.conversation = conversation
        self.scope = scope
        self.agent = agent
        self.name: str = agent.name
        self.renewed = self.name in conversation.renewed
        conversation.renewed.discard(self.name)
        conversation.at_work.add(self.name)
        self.running: set[ToolCall] = set()
        self._call: ModelCall | None = None  # answered; it may carry what comes of it
        self._answered_at = 0.0
        self._asked_model = False
        self._asked_person = isinstance(agent, UserProxyAgent)
        self._asked: dict[str, tuple[int, ToolRequest]] = {}  # not run yet
        self._results: deque[str] = deque(maxlen=RESULTS_KEPT)

    # Model and tool calls

    def answered(self, call: ModelCall) -> None:
        """Keep a model call open that was answered, so that it can carry the utterance."""
        self._let_go()
        self._call, self._answered_at = call, self.scope.run.emitter.clock()
        self._asked_model = True

    def _let_go(self) -> None:
        if self._call is not None:
            self._call.end(at=self._answered_at)
            self._call = None

    def runs(self, call_id: str) -> int | None:
        """Note that a tool call begins; return the row that asked for it, if known."""
        asked = self._asked.pop(call_id, None)
        return None if asked is None else asked[0]

    # What the agent yields

    def heard(self, item: Any) -> None:
        """Take in an item of the agent's stream."""
        if isinstance(item, Response):
            self._message(item.chat_message, final=True)
        elif isinstance(item, ToolCallRequestEvent):
            self._requests(item)
        elif isinstance(item, ToolCallExecutionEvent):
            self._executed(item)
        elif isinstance(item, UserInputRequestedEvent) and item.source == self.name:
            self._asked_person = True
            self.scope.run.human_asked(self.name)
        elif isinstance(item, CodeGenerationEvent) and item.source == self.name:
            self._say(item, item.content, "reply")
        elif isinstance(item, CodeExecutionEvent) and item.source == self.name:
            self._say(item, item.result.output, "code")
        elif isinstance(item, BaseChatMessage):
            self._message(item, final=False)

    def _message(self, message: BaseChatMessage, final: bool) -> None:
        # What others said (an inner team, an agent used as a tool) is told where they say it.
        if not final and message.source != self.name:
            return
        if isinstance(message, ToolCallSummaryMessage):
            return  # tool results over again
        text = reading.message_text(message)
        if isinstance(message, HandoffMessage) and self.conversation.seen.first(message):
            self._hand_over(message, text)
        elif not isinstance(message, HandoffMessage):
            self._say(message, text, self._kind(text), final)

    def _hand_over(self, message: HandoffMessage, text: str) -> None:
        if text not in self._results:  # that is what the tool for it returns
            self._utter(message, text, self._kind(text), (message.target,), final=True)
        self.conversation.handed_to = message.target
        if message.target:
            self.scope.run.handed_off(message.source, message.target)

    def _kind(self, text: str) -> MessageKind:
        if self._asked_person:
            return "human"
        if self._asked_model or not isinstance(self.agent, CodeExecutorAgent):
            return "reply"
        return "auto_reply" if text == self.agent.NO_CODE_BLOCKS_FOUND_MESSAGE else "code"

    def _say(self, message: Any, text: str, kind: MessageKind, final: bool = False) -> None:
        if self.conversation.seen.first(message):
            self._utter(message, text, kind, self.conversation.others(message.source), final)

    def _utter(
        self,
        message: Any,
        text: str,
        kind: MessageKind,
        recipients: tuple[str, ...],
        final: bool = False,
        tool_calls: tuple[ToolRequest, ...] = (),
    ) -> int:
        turn, call = self.scope, self._call
        row = turn.run.message(
            message.source,
            text,
            recipients=recipients,
            role="user" if kind == "human" else "assistant",
            kind=kind,
            tool_calls=tool_calls,
            carriers=(turn, call) if final else (call, turn),
            id=message.id,
        )
        self._let_go()
        return row

    # Tools, as the agent tells of them

    def _requests(self, message: ToolCallRequestEvent) -> None:
        if message.source != self.name or not self.conversation.seen.first(message):
            return
        calls = reading.tool_requests(message)
        row = self._utter(message, "", "reply", (), tool_calls=calls)
        self._asked.update({call.call_id: (row, call) for call in calls if call.call_id})

    def _executed(self, message: ToolCallExecutionEvent) -> None:
        if message.source != self.name or not self.conversation.seen.first(message):
            return
        for result in message.content:
            self._results.append(result.content)
            asked = self._asked.pop(result.call_id, None)
            if asked is not None:  # an agent of the app's own that runs its tools itself
                row, call = asked
                self.scope.run.tool_call(
                    call.name,
                    call.arguments,
                    agent=self.name,
                    call_id=call.call_id,
                    parent=self.scope,
                    index=row,
                ).returned(result.content, error=reading.tool_error(result))

    def end(self, error: BaseException | None = None) -> None:
        """End the turn, and what it leaves behind."""
        self._let_go()
        for call in list(self.running):
            call.returned(error=error)
        self.scope.end(error)
