"""Writes runs as events, one line per step, and asks a whole watch what it says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mastwatch.events import (
    Contract,
    Event,
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
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.watch import Watch
from mastwatch_detectors.conversation_reset import ConversationReset
from mastwatch_detectors.step_repetition import StepRepetition
from mastwatch_detectors.termination_unawareness import TerminationUnawareness

DETECTORS = (StepRepetition, TerminationUnawareness, ConversationReset)


class Script:
    """A run in the making; every method adds a step and returns the script.

    Args:
        run: Its id.
        ids: Give events ids and times, as live sources do; False writes like an old log.
        branch: The conversation inside the run.
    """

    def __init__(self, run: str = "run", *, ids: bool = True, branch: str = "") -> None:
        self.events: list[Event] = []
        self.run = run
        self.ids = ids
        self.branch = branch
        self.row = 0

    def _about(self) -> dict[str, object]:
        n = len(self.events)
        about: dict[str, object] = {"run_id": self.run, "branch": self.branch}
        if self.ids:
            about |= {"id": f"{self.run}-{self.branch}-{n}", "at": 1_000.0 + n}
        return about

    def _add(self, event: type[Event], /, **fields: object) -> Script:
        self.events.append(event(**self._about(), **fields))  # type: ignore[arg-type]
        return self

    def start(
        self,
        task: str | None = None,
        *,
        contract: Contract | None = None,
        prompts: dict[str, str] | None = None,
        resumed: bool = False,
    ) -> Script:
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
        self._add(
            MessageSent,
            index=self.row,
            sender=agent,
            text=text,
            kind=kind,
            role=role,
            tool_calls=tuple(calls),
        )
        self.row += 1
        return self

    def task(self, text: str) -> Script:
        return self.say("user", text, kind="opener", role="user")

    def human(self, text: str) -> Script:
        return self.say("user", text, kind="human", role="user")

    def proxy(self, text: str) -> Script:
        return self.say("proxy", text, role="user")

    def system(self, text: str) -> Script:
        return self.say("harness", text, kind="system", role="system")

    def auto_reply(self, text: str) -> Script:
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
        self._add(
            ToolReturned,
            index=self.row,
            agent=agent,
            name=tool,
            result=result,
            error=error,
            call_id=call_id,
        )
        self.row += 1
        return self

    def asks(self, agent: str, *messages: tuple[Role, str | None], turn: str = "") -> Script:
        request = tuple(RequestMessage(role=role, content=text) for role, text in messages)
        return self._add(ModelCalled, index=self.row - 1, agent=agent, turn=turn, request=request)

    def clears(self, agent: str) -> Script:
        return self._add(HistoryCleared, index=self.row - 1, agent=agent)

    def approves(self) -> Script:
        return self._add(HumanReplied, index=self.row - 1, text="yes")

    def end(self, outcome: Outcome = "completed") -> Script:
        return self._add(RunFinished, index=self.row - 1, outcome=outcome)


@dataclass(frozen=True)
class Seen:
    """What the watch let through."""

    findings: tuple[Finding, ...]
    notices: tuple[Notice, ...]

    def worst(self, mode: str) -> str:
        """The highest level of a mode, ``silent`` when it was never found."""
        levels = [f.severity for f in self.findings if f.mode == mode]
        return max(levels).label if levels else "silent"

    def episodes(self, mode: str) -> int:
        return len({f.episode for f in self.findings if f.mode == mode})

    def at(self, mode: str, severity: Severity) -> int | None:
        """Row of the first finding of a mode at this level or above."""
        rows = [f.message_index for f in self.findings if f.mode == mode and f.severity >= severity]
        return min(rows, default=None)

    def named(self, notice: str) -> int:
        return sum(n.name == notice for n in self.notices)


def watched(events: Iterable[Event]) -> Seen:
    """Publish events to a watch with all three detectors."""
    watch = Watch(DETECTORS)
    verdicts = [verdict for event in events for verdict in watch.publish(event)]
    return Seen(
        tuple(v for v in verdicts if isinstance(v, Finding)),
        tuple(v for v in verdicts if isinstance(v, Notice)),
    )
