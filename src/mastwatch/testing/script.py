"""``Script``: writes a run as events, one line per step, with ids and times counted up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mastwatch.events import (
    Contract,
    Event,
    HandedOff,
    HistoryCleared,
    HumanReplied,
    MessageKind,
    MessageSent,
    ModelCalled,
    Outcome,
    RequestMessage,
    Role,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolRequest,
    ToolReturned,
)

STARTED_AT = 1_000.0


class Script:
    """A run in the making; every method adds a step and returns the script.

    Rows are numbered as in a transcript: each message and each tool result takes one. Iterating
    gives the events.

    Args:
        run: Its id.
        ids: Give events ids and times, as live sources do; False writes like an old log.
        branch: The conversation inside the run.

    Attributes:
        events: What was written so far.
        row: The row that the next message or result will take.

    Example:
        >>> script = Script().start("Count the berths.").say("mate", "There are 31. TERMINATE")
        >>> [type(event).__name__ for event in script], script.row
        (['RunStarted', 'MessageSent'], 1)
        >>> script.events[1].id, script.events[1].at
        ('run--1', 1001.0)
    """

    def __init__(self, run: str = "run", *, ids: bool = True, branch: str = "") -> None:
        self.events: list[Event] = []
        self.run = run
        self.ids = ids
        self.branch = branch
        self.row = 0

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def _add(self, event: type[Event], /, **fields: Any) -> Script:
        n = len(self.events)
        about: dict[str, Any] = {"run_id": self.run, "branch": self.branch}
        if self.ids:
            about |= {"id": f"{self.run}-{self.branch}-{n}", "at": STARTED_AT + n}
        self.events.append(event(**about, **fields))
        return self

    def _add_row(self, event: type[Event], /, **fields: Any) -> Script:
        self._add(event, index=self.row, **fields)
        self.row += 1
        return self

    def start(
        self,
        task: str | None = None,
        *,
        contract: Contract | None = None,
        prompts: Mapping[str, str] | None = None,
        resumed: bool = False,
    ) -> Script:
        """The run begins, or goes on after a pause."""
        return self._add(
            RunStarted,
            task=task,
            contract=contract or Contract(),
            prompts=prompts or {},
            resumed=resumed,
        )

    def say(
        self,
        agent: str,
        text: str | None,
        *,
        kind: MessageKind = "reply",
        role: Role = "assistant",
        calls: Iterable[ToolRequest] = (),
    ) -> Script:
        """An agent speaks; ``text=None`` where the source withholds it."""
        return self._add_row(
            MessageSent, sender=agent, text=text, kind=kind, role=role, tool_calls=tuple(calls)
        )

    def task(self, text: str) -> Script:
        """The opening message that states the task."""
        return self.say("user", text, kind="opener", role="user")

    def human(self, text: str) -> Script:
        """A person speaks."""
        return self.say("user", text, kind="human", role="user")

    def proxy(self, text: str) -> Script:
        """A program speaks in a person's place."""
        return self.say("proxy", text, role="user")

    def system(self, text: str) -> Script:
        """The harness writes a line."""
        return self.say("harness", text, kind="system", role="system")

    def auto_reply(self, text: str) -> Script:
        """A terminal answers with a canned text."""
        return self.say("terminal", text, kind="auto_reply", role="tool")

    def call(
        self,
        tool: str,
        arguments: object = None,
        result: str | None = "",
        *,
        agent: str = "worker",
        error: str | None = None,
        mutating: bool | None = None,
        poll: bool = False,
        call_id: str | None = None,
    ) -> Script:
        """A tool runs and returns."""
        self._add(
            ToolCalled,
            index=self.row - 1,
            agent=agent,
            name=tool,
            arguments=arguments,
            call_id=call_id,
            mutating=mutating,
            poll=poll,
        )
        return self._add_row(
            ToolReturned, agent=agent, name=tool, result=result, error=error, call_id=call_id
        )

    def asks(self, agent: str, *messages: tuple[Role, str | None], turn: str = "") -> Script:
        """An agent sends its model these messages."""
        request = tuple(RequestMessage(role=role, content=text) for role, text in messages)
        return self._add(ModelCalled, index=self.row - 1, agent=agent, turn=turn, request=request)

    def hands_off(self, source: str, target: str) -> Script:
        """Control passes from one agent to another."""
        return self._add(HandedOff, index=self.row - 1, source=source, target=target)

    def clears(self, agent: str) -> Script:
        """The framework drops an agent's history."""
        return self._add(HistoryCleared, index=self.row - 1, agent=agent)

    def approves(self) -> Script:
        """A person answers outside the transcript."""
        return self._add(HumanReplied, index=self.row - 1, text="yes")

    def end(self, outcome: Outcome = "completed") -> Script:
        """The run ends, or waits for a person (``paused``)."""
        return self._add(RunFinished, index=self.row - 1, outcome=outcome)
