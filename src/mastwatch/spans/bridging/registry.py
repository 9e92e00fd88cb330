"""Which spans are open, and who of several producers of a library counts."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from mastwatch.spans.bridging.opened import OpenSpan

if TYPE_CHECKING:
    from mastwatch.spans.bridging.conversation import Conversation

MAX_OPEN = 16_384
"""Open spans that are known at once; the oldest is forgotten beyond."""
MAX_AGE = 6 * 3600.0
"""Seconds after which an open span is forgotten: nobody will end it."""
MAX_BESIDE = 8
"""Open spans next to a new one that are looked at."""
MAX_RIVALS = 1_024
"""Open spans that are looked at for a model call in a trace of its own, the latest ones."""
_AT_WORK = (None, "agent", "workflow")


class OpenSpans:
    """All open spans by id, and how many each producer has. Its caller locks."""

    def __init__(self) -> None:
        self._spans: OrderedDict[int, OpenSpan] = OrderedDict()  # the oldest first
        self._producers: dict[str, Counter[tuple[str, bool, int]]] = {}

    def get(self, span_id: int | None) -> OpenSpan | None:
        """An open span; None when it is unknown or has ended."""
        return self._spans.get(span_id) if span_id is not None else None

    def add(self, span_id: int, span: OpenSpan) -> OpenSpan | None:
        """Note a span; the one that had to make room for it is returned."""
        self._spans[span_id] = span
        if span.parent is not None:
            span.parallel = span.dialect is not None and _beside(span, span.parent.children)
            span.parent.children[span] = None
        if span.dialect is not None:
            self.count(span, 1)
        first_id, first = next(iter(self._spans.items()))
        if len(self._spans) <= MAX_OPEN and span.since - first.since <= MAX_AGE:
            return None
        oldest = self.pop(first_id)
        if oldest is not None and oldest.dialect is not None:
            self.count(oldest, -1)
        return oldest

    def pop(self, span_id: int) -> OpenSpan | None:
        """Take a span out that has ended; None when it is unknown, or came before."""
        span = self._spans.pop(span_id, None)
        if span is not None and span.parent is not None:
            span.parent.children.pop(span, None)
        return span

    def count(self, span: OpenSpan, by: int) -> None:
        """Count a producer's open spans, in the process and in the span's tree."""
        kept = self._producers.setdefault(span.library, Counter())
        kept[_producer(span)] += by
        span.tree.open[span.library] += by
        if span.tree.open[span.library] <= 0:
            del span.tree.open[span.library]
            span.tree.winners.pop(span.library, None)

    def winner(self, span: OpenSpan) -> str:
        """The dialect that is read for the span's library in its tree.

        Of those with an open span, wherever: producers of one library all see the same run begin,
        if in traces of their own. One that leaves out the model calls yields to one that has them.
        """
        known = span.tree.winners.get(span.library)
        if known is None:
            counted = self._producers.get(span.library, Counter())
            rivals = [_producer(span), *(who for who, number in counted.items() if number > 0)]
            known = min(rivals, key=lambda who: (who[1], who[2], who[0]))[0]
            if span.tree.open[span.library] > 0:
                span.tree.winners[span.library] = known
        return known

    def rivals(self, span: OpenSpan) -> list[OpenSpan]:
        """Model calls, or what may be some, that began before a span and are still open.

        Libraries that are told by callbacks leave no span current: the model call of the library
        below then stands in a trace of its own.
        """
        found = []
        for other in islice(reversed(self._spans.values()), MAX_RIVALS):
            if (
                other.since <= span.since
                and not other.vain
                and other.dialect is not None
                and other.library != span.library
                and not other.children
                and other.op in (None, "chat")
            ):
                found.append(other)
        return found

    def only_run(self, library: str) -> Conversation | None:
        """The one run of a library that is going on; None where there are several, or none."""
        going_on = [
            span.conversation
            for span in self._spans.values()
            if span.library == library
            and span.conversation is not None
            and span.conversation.above is None
        ]
        return going_on[0] if len(going_on) == 1 else None

    def all(self) -> list[OpenSpan]:
        """Every open span."""
        return list(self._spans.values())

    def clear(self) -> None:
        """Forget them all."""
        self._spans.clear()
        self._producers.clear()


def _beside(span: OpenSpan, others: dict[OpenSpan, None]) -> bool:
    """Whether an agent, or what may be one, begins next to others of its producer."""
    if span.op not in _AT_WORK:
        return False
    latest = islice(reversed(others), MAX_BESIDE)
    return any(
        other.scope == span.scope and other.op in _AT_WORK and not _is_its_twin(other, span)
        for other in latest
    )


def _is_its_twin(one: OpenSpan, other: OpenSpan) -> bool:
    """Whether two spans are of one agent: OpenLLMetry has two for each, side by side in a graph."""
    subjects = {one.name.partition(" ")[2], other.name.partition(" ")[2]}
    return one.name != other.name and len(subjects) == 1 and "" not in subjects


def _producer(span: OpenSpan) -> tuple[str, bool, int]:
    dialect = span.dialect
    assert dialect is not None
    lacks: Callable[[str], bool] | None = getattr(dialect, "lacks_chats", None)
    return dialect.name, bool(lacks and lacks(span.scope)), dialect.priority
