"""Open spans that no dialect claims by their scope, the host's own and ours; made to cost little.

Nothing is known of them but that they are there. One becomes an ``OpenSpan`` when a span that is
read begins below it, or when it turns out at its end to be written as a dialect writes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Span

MAX_PASSING = 16_384
"""Such spans that are known at once; the oldest is forgotten beyond."""
Kind = Literal["read", "unknown", "not ours to read"]


class Passing(NamedTuple):
    """One of them.

    Attributes:
        span: The span.
        kind: ``unknown`` may still turn out to be written as a dialect writes.
        since: Monotonic seconds at its start.
    """

    span: Span
    kind: Kind
    since: float


class PassingSpans:
    """All of them by id. Each call is one step of a dictionary: no lock is needed."""

    def __init__(self) -> None:
        self._spans: OrderedDict[int, Passing] = OrderedDict()

    def add(self, span_id: int, passing: Passing) -> None:
        """Note one."""
        self._spans[span_id] = passing
        if len(self._spans) > MAX_PASSING:
            self._spans.popitem(last=False)

    def pop(self, span_id: int) -> Passing | None:
        """Take one out; None when it is not, or no longer, one of them."""
        return self._spans.pop(span_id, None)

    def clear(self) -> None:
        """Forget them all."""
        self._spans.clear()
