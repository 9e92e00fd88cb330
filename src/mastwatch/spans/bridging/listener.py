"""Hears of spans as they begin and end; hands their steps to the teller, in the order of ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import ReadableSpan

from mastwatch import forks
from mastwatch.guard import guard
from mastwatch.spans import dialects
from mastwatch.spans.bridging.conversation import Conversation, inside_tool
from mastwatch.spans.bridging.duplicates import is_same
from mastwatch.spans.bridging.opened import Entry, OpenSpan, Tree
from mastwatch.spans.bridging.order import Order
from mastwatch.spans.bridging.passing import Kind, Passing, PassingSpans
from mastwatch.spans.bridging.registry import OpenSpans
from mastwatch.spans.bridging.telling import Teller
from mastwatch.spans.foreign.span import ForeignSpan, from_sdk
from mastwatch.spans.foreign.step import filled

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Span

    from mastwatch.spans.emit import Emitter
    from mastwatch.spans.scope import Scope

OURS = "mastwatch"
_MAX_KINDS = 4_096


class Listener:
    """Reads foreign spans as they begin and end.

    Args:
        emitter: Told of their steps.
        clock: Monotonic seconds; recorded spans bring their own.
    """

    def __init__(self, emitter: Emitter, clock: Callable[[], float] = time.monotonic) -> None:
        self._emitter = emitter
        self._clock = clock
        self._left_alone: tuple[str, ...] = ()
        self._kinds: dict[tuple[str, str], Kind] = {}
        self._passing = PassingSpans()
        self._open = OpenSpans()
        self._lock = forks.lock()  # protects _open, the trees and what entries wait for
        self._order = Order(Teller(emitter, self._only_run).tell, self._lock, clock)
        forks.remake(self)

    def after_fork(self) -> None:
        """Spans that are open in the parent end there."""
        self._passing.clear()
        self._open.clear()
        self._order.clear()

    def leave(self, scopes: Iterable[str]) -> None:
        """Leave the spans of these scopes alone from now on: hooks of ours see the same."""
        self._left_alone = (*self._left_alone, *scopes)
        self._kinds = {}

    def reads(self, scope: str) -> bool:
        """Whether the spans of a scope are read here."""
        return scope != OURS and not any(
            scope == left or scope.startswith(f"{left}.") for left in self._left_alone
        )

    def chat_is_open(self, span_id: int) -> bool:
        """Whether this is an open model call that is read here."""
        span = self._open.get(span_id)
        return span is not None and span.dialect is not None and span.op == "chat"

    def inside_tool(self, span_id: int) -> Scope | None:
        """The scope for what hooks of ours see in this span, if that is in a tool read here."""
        span = self._open.get(span_id)
        return inside_tool(span) if span is not None else None

    def passes(self, span_id: int, span: Span) -> bool:
        """Note a span of the SDK that has begun, if no dialect claims it by its scope.

        Returns:
            Whether that is all there is to do.
        """
        kind = self._kind(span)
        if kind == "read":
            return False
        self._passing.add(span_id, Passing(span, kind, self._clock()))
        return True

    def passed(self, span_id: int, attributes: Mapping[str, Any]) -> bool:
        """Whether a span that has ended was such a one, and nothing on it is for us."""
        passing = self._passing.pop(span_id)
        if passing is None:
            return False
        if passing.kind == "unknown" and dialects.may_be_read(attributes):
            self._found(span_id, passing)
            return False
        return True

    def _kind(self, span: Span) -> Kind:
        scope = span.instrumentation_scope
        key = (scope.name, scope.version or "") if scope is not None else ("", "")
        kind = self._kinds.get(key)
        if kind is None:
            kind = "not ours to read"
            if self.reads(key[0]):
                kind = "unknown" if dialects.by_scope(*key) is None else "read"
            if len(self._kinds) < _MAX_KINDS:
                self._kinds[key] = kind
        return kind

    def _found(self, span_id: int, passing: Passing) -> OpenSpan:
        """Take a span that was passing in among those that count."""
        live, scope = passing.span, passing.span.instrumentation_scope
        parent = self._parent(live.parent.span_id if live.parent is not None else None)
        name, version = (scope.name, scope.version or "") if scope is not None else ("", "")
        look = partial(from_sdk, live)
        span = OpenSpan(live.name, name, version, parent, live, look, passing.since)
        self._place_in_ours(span)
        self._add(span_id, span)
        return span

    def _place_in_ours(self, span: OpenSpan) -> None:
        """Note where in our own runs a span is."""
        if span.enclosing() is None:
            span.around = self._emitter.current()
        suppressed = self._emitter.suppressed() or self._emitter.model_call_here() is not None
        span.covered = suppressed or (span.parent is not None and span.parent.covered)

    def _parent(self, span_id: int | None) -> OpenSpan | None:
        """The open span of an id, one that was passing till now included."""
        known = self._open.get(span_id)
        if known is None and span_id is not None:
            passing = self._passing.pop(span_id)
            known = self._found(span_id, passing) if passing is not None else None
        return known

    def _add(self, span_id: int, span: OpenSpan) -> None:
        with self._lock:
            crowded_out = self._open.add(span_id, span)
        if crowded_out is not None:
            self._give_up(crowded_out, "its span never ended")

    def started(
        self,
        span_id: int,
        parent_id: int | None,
        *,
        name: str,
        scope: str,
        version: str,
        attributes: Mapping[str, Any],
        look: Callable[[], ForeignSpan],
        live: Span | None = None,
    ) -> None:
        """A span has begun.

        Args:
            span_id: Its id.
            parent_id: Of the span it is in.
            name: Its name.
            scope: Its instrumentation scope.
            version: Of that scope.
            attributes: Those it has from the start.
            look: Reads it as it is at that moment.
            live: The span itself.
        """
        if self._open.get(span_id) is not None:
            return  # two processors of ours on one provider
        parent = self._parent(parent_id)
        span = OpenSpan(name, scope, version, parent, live, look, self._clock())
        dialect = dialects.by_scope(scope, version) if self.reads(scope) else None
        if dialect is not None:
            span.dialect, span.library = dialect, dialect.library(scope)
            span.op = dialect.opening(name, attributes)
        self._place_in_ours(span)
        self._add(span_id, span)

    def ended(
        self, span_id: int, attributes: Mapping[str, Any], read: Callable[[], ForeignSpan]
    ) -> None:
        """A span has ended.

        Args:
            span_id: Its id; that of a span never begun, or ended before, is no news.
            attributes: All it has.
            read: Gives the whole span.
        """
        with self._lock:
            span = self._open.pop(span_id)
        if span is None:
            return
        if span.dialect is None:
            self._classify(span, attributes)
        if span.dialect is None:
            span.ended = True
            with self._lock:
                trees = _no_longer_waiting(span)
            self._order.drain(trees)
            return
        entry = self._entry(span, read())
        with self._lock:
            self._decide(span)
            self._merge(entry)
            span.ended = True
            self._place(entry)
            self._open.count(span, -1)
            # What ended before this comes first.
            trees = [*self._order.overdue(), *_no_longer_waiting(span), span.tree]
        self._order.drain(trees)

    def flush(self) -> None:
        """Tell what still waits to hear more."""
        with self._lock:
            trees = self._order.overdue(patience=-1.0)
        self._order.drain(trees)

    def _classify(self, span: OpenSpan, attributes: Mapping[str, Any]) -> None:
        """Find the dialect of a span whose scope tells nothing: a host's own, by hand."""
        if not attributes or not self.reads(span.scope):
            return
        dialect = dialects.by_attributes(span.scope, span.version, attributes)
        if dialect is None:
            return
        span.dialect, span.library = dialect, dialect.library(span.scope)
        with self._lock:
            self._open.count(span, 1)
        for around in span.above():  # by hand, too: what they are stands on them by now
            if around.dialect is None and isinstance(around.live, ReadableSpan):
                self._classify(around, around.live.attributes or {})

    def _entry(self, span: OpenSpan, final: ForeignSpan) -> Entry:
        step = None
        assert span.dialect is not None
        with guard("bridge.read"):
            step = span.dialect.read(final)
        if step is not None and span.covered and step.op == "chat":
            step = None  # our own hook has this call open
        span.step = step
        if step is not None:
            span.op, span.agent = step.op, step.agent or span.agent
        elif span.op is None:
            span.op = "other"
        return Entry(span, step, final, self._clock())

    def _decide(self, span: OpenSpan) -> None:
        """Settle for a span and those around it whether their producer is the one that counts."""
        for around in (span, *span.above()):
            if around.counted is None and around.dialect is not None:
                winner = self._open.winner(around)
                around.counted = not around.covered and winner == around.dialect.name

    def _merge(self, entry: Entry) -> None:
        """Take in the steps that waited for this one and are the same happening."""
        for inner in entry.span.waiting:
            if entry.step is None or inner.step is None or not is_same(entry, inner):
                continue
            if inner.told:  # it could wait no longer
                entry.step = None
                continue
            entry.step = filled(entry.step, inner.step)
            inner.merged = True
            if inner.span.library == entry.span.library:  # else its own library's winner tells
                entry.span.counted = entry.span.counted or inner.span.counted

    def _place(self, entry: Entry) -> None:
        """Queue a step, noting whom it waits for."""
        span, step = entry.span, entry.step
        if step is not None and step.op in ("chat", "tool"):
            outer = span.enclosing()
            if outer is not None and outer.scope != span.scope and outer.op in (None, step.op):
                entry.waits = set() if outer.ended or outer.vain else {outer}
            elif step.op == "chat" and span.around is None and not _is_inside(span):
                entry.waits = set(self._open.rivals(span))
        self._order.place(entry)

    def _only_run(self, library: str) -> Conversation | None:
        with self._lock:
            return self._open.only_run(library)

    def _give_up(self, span: OpenSpan, reason: str) -> None:
        span.ended = True
        if span.conversation is not None:
            with guard("bridge.close"):
                span.conversation.finish("unknown", reason)

    def close(self) -> None:
        """Tell no more, and end the runs still open: nobody will tell how they end."""
        self.flush()
        with self._lock:
            left = self._open.all()
            self._open.clear()
            self._passing.clear()
        for span in left:
            self._give_up(span, "uninstrumented")


def _no_longer_waiting(span: OpenSpan) -> list[Tree]:
    """The trees of the steps that waited for a span that has ended."""
    trees = [entry.span.tree for entry in span.waiting]
    span.waiting.clear()
    return trees


def _is_inside(span: OpenSpan) -> bool:
    """Whether a span is in a run that is told; spans of producers that lost do not count."""
    return any(around.counted for around in span.above())
