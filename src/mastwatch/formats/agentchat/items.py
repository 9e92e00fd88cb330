"""AgentChat's messages and events, however they were written down, to rows of a transcript."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mastwatch.events import MessageKind, Outcome, ToolRequest
from mastwatch.formats.code_blocks import execution
from mastwatch.formats.recorded import Thought
from mastwatch.formats.speakers import THOUGHT, is_execution, runs_code, speaker
from mastwatch.formats.transcript import PERSONS, Row

# Written by the framework for the host: nobody says them to anybody.
_NO_UTTERANCE = frozenset(
    {
        "MemoryQueryEvent",
        "SelectSpeakerEvent",
        "SelectorEvent",
        "ToolCallSummaryMessage",  # the results over again
        "UserInputRequestedEvent",
    }
)


@dataclass(frozen=True, slots=True)
class Result:
    """What one tool returned."""

    text: str | None
    tool: str = ""
    call_id: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One message or event.

    Attributes:
        source: Who, as written.
        kind: Name of its class, or empty.
        text: What it says; None when withheld.
        calls, results: Of tools.
        target: To whom a hand-off goes.
        at: Unix seconds.
        id: Its own.
    """

    source: str
    kind: str = ""
    text: str | None = None
    calls: tuple[ToolRequest, ...] = ()
    results: tuple[Result, ...] = ()
    target: str = ""
    at: float | None = None
    id: str | None = None


class Transcript:
    """Takes in the items of one run.

    Attributes:
        rows: One per message and tool result, as ``transcript.events`` takes them.
        thoughts: What was private.
        task: What the first person said, if that is how it begins.
    """

    def __init__(self) -> None:
        self.rows: list[Row | None] = []
        self.thoughts: list[Thought] = []
        self.task: str | None = None
        self._results: set[str] = set()

    def add(self, item: Item) -> None:
        """Take in one item."""
        who = speaker(item.source)
        if item.results:
            self._add_results(item)
        elif item.kind == "ThoughtEvent" or who.aside == THOUGHT:
            self.thoughts.append(Thought(len(self.rows), who.name, item.text))
            self.rows.append(None)
        elif item.kind in _NO_UTTERANCE or self._echoes(item):
            self.rows.append(None)
        else:
            self._say(item)

    def _add_results(self, item: Item) -> None:
        self._results.update(result.text for result in item.results if result.text)
        for result in item.results:
            self.rows.append(
                Row(
                    index=len(self.rows),
                    agent=item.source,
                    role="tool",
                    text=result.text,
                    tool=result.tool,
                    call_id=result.call_id,
                    error="ToolError" if result.failed else None,
                    at=item.at,
                )
            )

    def _echoes(self, item: Item) -> bool:
        """A hand-off says once more what the tool for it returned."""
        return item.kind == "HandoffMessage" and (item.text or "") in self._results

    def _say(self, item: Item) -> None:
        who = speaker(item.source)
        person = who.name.casefold() in PERSONS
        text = item.text
        kind = self._kind(item, who.name, person)
        if kind == "opener":
            self.task = text
        elif kind == "code":
            self._ran()
        self.rows.append(
            Row(
                index=len(self.rows),
                agent="user" if who.name == "human" else who.name,
                role="user" if person else "assistant",
                text="" if text is None and item.calls else text,
                kind=kind,
                recipients=who.recipients or ((item.target,) if item.target else ()),
                calls=item.calls,
                at=item.at,
                id=item.id,
            )
        )

    def _kind(self, item: Item, name: str, person: bool) -> MessageKind:
        if person:
            return "human" if any(self.rows) else "opener"
        if item.kind == "CodeExecutionEvent":
            return "code"
        if runs_code(name):
            return "code" if is_execution(item.text or "") else "auto_reply"
        return "system" if speaker(item.source).aside else "reply"

    def _ran(self) -> None:
        """The code in the message before was run: it asked for that."""
        last = self.rows[-1] if self.rows else None
        if last is not None and not last.calls and last.text:
            self.rows[-1] = asking_to_run(last)


def how_ended(reason: str) -> Outcome:
    """What a stop reason means.

    >>> how_ended("Maximum number of messages 10 reached, current message count: 10")
    'limit'
    """
    lower = reason.casefold()
    if any(word in lower for word in ("maximum number", "limit reached", "timeout")):
        return "limit"
    return "cancelled" if "external termination" in lower else "completed"


def asking_to_run(row: Row) -> Row:
    """A row as one that asks to run the code in it."""
    return replace(row, calls=execution(row.text or ""))
