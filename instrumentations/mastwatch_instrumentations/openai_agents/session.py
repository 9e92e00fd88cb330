"""What is known of one run of the Runner while it goes on: whose turn, which tools are out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from mastwatch.events import Outcome, ToolRequest
from mastwatch.spans.emit import ModelCall, Run, Scope, ToolCall
from mastwatch_instrumentations.openai_agents.reading import Answer, Hosted, as_text, tool_error

MAX_KEPT = 1_024
"""Tool calls asked for and hand-offs made that one run remembers."""

_here: ContextVar[Session | None] = ContextVar("mastwatch_openai_agents", default=None)


def session_here() -> Session | None:
    """Return the session of the Runner's run that this code runs in."""
    return _here.get()


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool call that a message asked for and that has not returned."""

    agent: str
    row: int
    request: ToolRequest


@dataclass(slots=True)
class Memory:
    """What outlives a pause for approval.

    Attributes:
        asked: By call id.
        interrupted: Agent and name of calls that were under way, by call id.
        targets: Agent by hand-off tool, of the hand-offs there were to choose from.
        handoffs: The work done by the time of each hand-off, by its tool.
        work: Utterances so far, those left out that only hand off.
    """

    asked: OrderedDict[str, Asked] = field(default_factory=OrderedDict)
    interrupted: dict[str, tuple[str, str]] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    handoffs: dict[str, int] = field(default_factory=dict)
    work: int = 0


class Session:
    """One ``Runner.run`` under way.

    The SDK calls its hooks from its event loop, one after the other, so there is no lock.

    Args:
        run: Where everything goes.
        agent: Who begins.
        caller: The agent that runs this one as a tool; empty for none.
    """

    def __init__(self, run: Run, agent: str, caller: str = "") -> None:
        self.run = run
        self.agent = agent
        self.memory = Memory()
        self._caller = caller
        self._turn: Scope | None = None
        self._open: dict[str, ToolCall] = {}

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the session and its run the scope of the block."""
        token = _here.set(self)
        try:
            with self.run.attached():
                yield
        finally:
            _here.reset(token)

    # Turns

    def turn(self, agent: str) -> Scope:
        """Return the turn of an agent, opening it at the first sign of work.

        A run that is resumed tells of no start.
        """
        if self._turn is None or self._turn.agent != agent:
            self.end_turn()
            self._turn = self.run.turn(agent)
        self.agent = agent
        return self._turn

    def end_turn(self, error: BaseException | None = None) -> None:
        """End the turn under way, if any."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.end(error)

    # Utterances

    def utter(self, answer: Answer, call: ModelCall) -> None:
        """Report what an agent said, and the calls its provider made on the way.

        Args:
            answer: What the model said.
            call: The model call; its span carries what goes on, the turn's what is the reply.
        """
        requests, turn, targets = answer.requests, self.turn(call.agent), self.memory.targets
        if not (answer.text or requests):
            return  # only reasoning
        given = [targets[request.name] for request in requests if request.name in targets]
        back = [self._caller] if self._caller and not requests else []
        if not given or len(given) < len(requests):
            self.memory.work += 1
        row = self.run.message(
            call.agent,
            answer.text,
            recipients=given or back,
            tool_calls=requests,
            carriers=(call, turn) if answer.calls else (turn, call),
        )
        for request in answer.calls:
            self._ask(Asked(call.agent, row, request))
        for hosted in answer.hosted:
            self._report_hosted(hosted, call.agent, row)

    def _ask(self, asked: Asked) -> None:
        if asked.request.call_id:
            self.memory.asked[asked.request.call_id] = asked
            while len(self.memory.asked) > MAX_KEPT:
                self.memory.asked.popitem(last=False)

    def _report_hosted(self, hosted: Hosted, agent: str, row: int) -> None:
        made = self.run.tool_call(
            hosted.request.name,
            hosted.request.arguments,
            agent=agent,
            call_id=hosted.request.call_id,
            parent=self.turn(agent),
            index=row,
        )
        made.returned(hosted.result, error=hosted.error)

    # Tools

    def find(self, call_id: str | None, tool: str) -> str:
        """Return the id of a call that the SDK tells of by its tool, and mostly by its id.

        The tools it runs one after the other (computer, shell, patches) come without.
        """
        if call_id and (call_id in self.memory.asked or call_id in self._open):
            return call_id
        waiting = self.memory.asked.items()
        return next((key for key, asked in waiting if tool.startswith(asked.request.name)), tool)

    def begin_tool(self, agent: str, name: str, call_id: str, arguments: object) -> None:
        """Open a tool call."""
        asked = self.memory.asked.get(call_id)
        self._open[call_id] = self.run.tool_call(
            name,
            asked.request.arguments if asked is not None else arguments,
            agent=agent,
            call_id=call_id,
            parent=self.turn(agent),
            index=asked.row if asked is not None else None,
        )

    def tool(self, call_id: str) -> ToolCall | None:
        """Return a tool call under way."""
        return self._open.get(call_id)

    def end_tool(self, call_id: str, result: object) -> None:
        """Close a tool call."""
        self.memory.asked.pop(call_id, None)
        call = self._open.pop(call_id, None)
        if call is None and call_id in self.memory.interrupted:
            # It has its span and its ToolCalled from before the pause; what lacks is the result.
            call = ToolCall(self.run, None, *self.memory.interrupted.pop(call_id), call_id)
        if call is not None:
            text = as_text(result)
            call.returned(text, error=tool_error(text))

    # Hand-offs

    def hand_off(self, source: str, target: str, result: str) -> None:
        """Report that ``source`` gave the word to ``target``, by a tool call as models do it."""
        # Of several the SDK takes the first.
        asked = next((a for a in self.memory.asked.values() if self._hands_off(a, source)), None)
        if asked is not None:
            self._report_handoff(asked, result)
        self.end_turn()
        self.run.handed_off(source, target)
        self.agent = target

    def _hands_off(self, asked: Asked, source: str) -> bool:
        return asked.agent == source and asked.request.name in self.memory.targets

    def _report_handoff(self, asked: Asked, result: str) -> None:
        name, memory = asked.request.name, self.memory
        before = memory.handoffs.get(name, -1)
        memory.handoffs[name] = memory.work
        memory.asked.pop(asked.request.call_id or "", None)
        call = self.run.tool_call(
            name,
            asked.request.arguments,
            agent=asked.agent,
            call_id=asked.request.call_id,
            parent=self._turn,
            index=asked.row,
            # The same call again is new work; with nothing said since, the word just goes round.
            poll=before < memory.work,
        )
        call.returned(result)

    # The end

    def finish(self, outcome: Outcome, reason: str, error: BaseException | None = None) -> None:
        """End the run and what is still open in it."""
        opened, self._open = self._open, {}
        for call_id, call in opened.items():
            if outcome == "paused":
                self.memory.interrupted[call_id] = (call.agent, call.name)
                call.end()
            else:
                call.returned(error=error if error is not None else "CancelledError")
        self.end_turn(error if outcome == "error" else None)
        self.run.finish(outcome, reason, error)
