"""Spans that have begun and not ended, whoever made them: what the ancestors of a step say."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from opentelemetry import trace

from mastwatch.guard import guard
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Dialect, Op, Step

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from mastwatch.spans.bridging.conversation import Conversation
    from mastwatch.spans.scope import Scope

MAX_WAITING = 256
"""Steps that wait for one span at once; earlier ones are told without it."""


class Tree:
    """The spans below one topmost span: their steps are told in the order of their ends.

    Attributes:
        queue: Steps that are to be told.
        draining: A thread is telling them.
        open: Open spans by library.
        winners: The dialect that is read for a library, for as long as it has an open span here.
    """

    __slots__ = ("draining", "open", "queue", "winners")

    def __init__(self) -> None:
        self.queue: deque[Entry] = deque()
        self.draining = False
        self.open: Counter[str] = Counter()
        self.winners: dict[str, str] = {}


class OpenSpan:
    """One span from its start on; its descendants keep it until they have ended.

    Attributes:
        live: The span itself, for what is written on it meanwhile; None in a recording.
        look: Reads it as it is now.
        op: What it is about, as far as that is known.
        counted: Its dialect is the one that is read for its library; None: not decided yet.
        covered: It began inside a model call of ours, or where nothing is to be seen.
        around: The scope of ours in which it began.
        children: Open spans right below it.
        parallel: It began while something of the same kind was at work beside it.
        waiting: Steps that may be told again by this span; the latest ones.
        vain: A step has waited for it to end for long enough: no other waits.
        inside: Of a tool: the scope for what hooks of ours see in it.
        spoken: Somebody said something in it.
        owed: A model call in it withheld its text, which the span itself may tell.
    """

    __slots__ = (
        "agent", "around", "children", "conversation", "counted", "covered", "dialect", "ended",
        "inside", "library", "live", "look", "name", "op", "owed", "parallel", "parent", "scope",
        "since", "spoken", "step", "tree", "turn", "vain", "version", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        scope: str,
        version: str,
        parent: OpenSpan | None,
        live: Span | None,
        look: Callable[[], ForeignSpan],
        since: float,
    ) -> None:
        self.name = name
        self.scope = scope
        self.version = version
        self.parent = parent
        self.live = live
        self.look = look
        self.since = since
        self.tree: Tree = parent.tree if parent is not None else Tree()
        self.dialect: Dialect | None = None
        self.library = ""
        self.op: Op | Literal["other"] | None = None
        self.step: Step | None = None
        self.agent: str | None = None
        self.ended = False
        self.counted: bool | None = None
        self.covered = False
        self.around: Scope | None = None
        self.children: dict[OpenSpan, None] = {}
        self.parallel = False
        self.waiting: deque[Entry] = deque(maxlen=MAX_WAITING)
        self.vain = False
        self.conversation: Conversation | None = None
        self.turn: Scope | None = None
        self.inside: Scope | None = None
        self.spoken = False
        self.owed = False

    def above(self) -> Iterator[OpenSpan]:
        """The spans around it, the nearest first."""
        span = self.parent
        while span is not None:
            yield span
            span = span.parent

    def enclosing(self) -> OpenSpan | None:
        """The nearest span around it that some dialect reads."""
        return next((span for span in self.above() if span.dialect is not None), None)

    def present(self) -> Step | None:
        """What it says by now; most producers say little before the end."""
        if self.step is None and not self.ended and self.dialect is not None:
            with guard("bridge.read"):
                return self.dialect.read(self.look())
        return self.step

    def actor(self) -> str | None:
        """Who acts in it, as far as that is known."""
        if self.agent is None:
            step = self.present()
            self.agent = step.agent if step is not None else None
        return self.agent

    def is_about(self, agent: str) -> bool:
        """Whether this is an agent at work, going by what it is or by its name."""
        if self.op == "agent" and self.actor() == agent:
            return True
        return self.name == agent or self.name.partition(" ")[2] == agent


class Entry:
    """A span that has ended, on its way to being told.

    Attributes:
        step: What it says; None where it only ends something.
        waits: Open spans that may tell the same again, or know more of it.
        merged: Another step tells it.
        told: It was told.
    """

    __slots__ = ("final", "merged", "since", "span", "step", "told", "waits")

    def __init__(self, span: OpenSpan, step: Step | None, final: ForeignSpan, since: float) -> None:
        self.span = span
        self.step = step
        self.final = final
        self.since = since
        self.waits: set[OpenSpan] = set()
        self.merged = False
        self.told = False


def written_on(span: OpenSpan) -> trace.Span:
    """Where findings are written: the nearest open span around that records.

    Where there is none they are written on no span, but logged as of the one that told.
    """
    for around in span.above():
        live = around.live
        if around.counted and live is not None and live.is_recording():
            return live
    own = span.around.span if span.around is not None else None
    if own is not None and own.is_recording():
        return own
    if span.live is None:
        return trace.INVALID_SPAN
    return trace.NonRecordingSpan(span.live.get_span_context())
