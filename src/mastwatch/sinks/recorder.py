"""Finished runs into the store: collected while they go on, written behind the host's back."""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from mastwatch import forks
from mastwatch.events import Event, MessageSent, RunStarted, ToolReturned
from mastwatch.findings import Finding, Notice
from mastwatch.guard import guard
from mastwatch.sink import Sink
from mastwatch.sinks.writer import Writer
from mastwatch.store import JobKind, Store, Trace
from mastwatch.store.build import TraceBuilder
from mastwatch.store.redact import redacted

MAX_BYTES = 128 * 2**20
"""Of all runs that are going on; beyond it the one idle for longest is given up."""
MAX_RUNS = 1_024
MAX_OVER = 4_096
"""Runs that ended or were given up, remembered so that a latecomer does not begin one anew."""

_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


class Wanted(NamedTuple):
    """Whether a finished run is to be judged, and why (``Job.trigger``)."""

    kind: JobKind | None = None
    trigger: str = ""


class Recorder(Sink):
    """Builds the traces of running runs and hands each over when it has ended.

    A run that waits for a person has not ended.

    Args:
        store: Where they go.
        clean: Every text goes through it before anything is written.
        drop: Told of each thing lost.
        spans: The ids of the trace and span where the present event happens; empty when unknown.
        about: Fields of every trace (``release``, ``environment``).
        max_bytes: Of all runs that are going on.
        max_runs: How many.

    Attributes:
        wants: Decides whether a job is created with a run. It is asked again when the host reports
            an outcome later, so it should say the same of the same trace. It runs in the writing
            thread.
    """

    name = "recorder"

    def __init__(
        self,
        store: Store,
        clean: Callable[[str], str],
        drop: Callable[[str], None],
        spans: Callable[[], tuple[str, str]],
        about: dict[str, Any] | None = None,
        max_bytes: int = MAX_BYTES,
        max_runs: int = MAX_RUNS,
    ) -> None:
        self.wants: Callable[[Trace], Wanted] = lambda trace: Wanted()
        self._store = store
        self._clean = clean
        self._drop = drop
        self._spans = spans
        self._about = about or {}
        self._max_bytes = max_bytes
        self._max_runs = max_runs
        self._writer = Writer(drop)
        self._lock = forks.lock()  # protects the three below, and the builders
        self._running: OrderedDict[str, TraceBuilder] = OrderedDict()  # least recent first
        self._over: OrderedDict[str, None] = OrderedDict()
        self._bytes = 0
        _recorders.add(self)

    def on_event(self, event: Event, framework: str) -> None:
        """Take in an event."""
        with self._lock:
            builder = self._builder(event.run_id)
            if builder is not None:
                before = builder.size
                self._add(builder, event)
                self._bytes += builder.size - before
            given_up = self._give_up()
        if builder is None:
            self._drop("recorder_late")
        for _ in range(given_up):
            self._drop("recorder_full")

    def on_finding(self, finding: Finding) -> None:
        """Take in a finding."""
        self._note(finding)

    def on_notice(self, notice: Notice) -> None:
        """Take in a notice."""
        self._note(notice)

    def on_run_end(self, run_id: str) -> None:
        """Hand the run over."""
        with self._lock:
            builder = self._remove(run_id)
        if builder is not None:
            self._writer.put(lambda: self._keep(builder), builder.size)

    def outcome(self, run_id: str, **said: Any) -> None:
        """Note what the host says of a run, while it goes on or later.

        Args:
            run_id: The run.
            **said: ``success``, ``score``, ``expected``, ``comment``; None where nothing is said.
        """
        said = {name: value for name, value in said.items() if value is not None}
        with self._lock:
            builder = self._running.get(run_id)
            if builder is not None:
                builder.set(**said)
        if builder is None:
            self._writer.put(lambda: self._update(run_id, said))

    def flush(self, timeout: float) -> bool:
        """Wait until all finished runs are written; returns whether they are."""
        return self._writer.flush(timeout)

    def close(self, timeout: float) -> bool:
        """Flush, stop the thread and let go of the store; returns whether everything is written."""
        done = self._writer.close(timeout)
        if done:  # else the thread is still at it, and dies with the process
            self._store.close()
        return done

    def after_fork(self) -> None:
        """The runs that go on are the parent's to finish; its threads are not here."""
        self._over.update(dict.fromkeys(self._running))
        self._running.clear()
        self._bytes = 0

    def _builder(self, run_id: str) -> TraceBuilder | None:
        builder = self._running.get(run_id)
        if builder is not None:
            self._running.move_to_end(run_id)
        elif run_id not in self._over:
            builder = self._running[run_id] = TraceBuilder(run_id)
            builder.set(**self._about)
        return builder

    def _add(self, builder: TraceBuilder, event: Event) -> None:
        if isinstance(event, (MessageSent, ToolReturned)):
            builder.add(event, self._spans()[1])
            return
        if isinstance(event, RunStarted) and not event.branch and not event.resumed:
            trace_id, span_id = self._spans()
            builder.set(trace_id=trace_id, span_id=span_id)
        builder.add(event)

    def _give_up(self) -> int:
        """Drop runs beyond the bounds; returns how many."""
        count = 0
        while self._bytes > self._max_bytes or len(self._running) > self._max_runs:
            self._remove(next(iter(self._running)))
            count += 1
        return count

    def _remove(self, run_id: str) -> TraceBuilder | None:
        builder = self._running.pop(run_id, None)
        if builder is not None:
            self._bytes -= builder.size
            self._over[run_id] = None
            if len(self._over) > MAX_OVER:
                self._over.popitem(last=False)
        return builder

    def _note(self, verdict: Finding | Notice) -> None:
        with self._lock:
            builder = self._running.get(verdict.run_id)
            if builder is not None:
                before = builder.size
                builder.note(verdict)
                self._bytes += builder.size - before

    def _keep(self, builder: TraceBuilder) -> None:
        trace = redacted(builder.trace(), self._clean)
        wanted = self._wanted(trace)
        self._store.add(trace, job=wanted.kind, trigger=wanted.trigger)

    def _update(self, run_id: str, said: dict[str, Any]) -> None:
        clean: dict[str, Any] = {
            name: self._clean(value) if isinstance(value, str) else value
            for name, value in said.items()
        }
        if not self._store.update_outcome(run_id, **clean):
            self._drop("outcome_without_run")
            return
        trace = self._store.trace(run_id)
        if trace is not None and (wanted := self._wanted(trace)).kind is not None:
            self._store.enqueue(run_id, wanted.kind, wanted.trigger)

    def _wanted(self, trace: Trace) -> Wanted:
        with guard("recorder.wants"):
            return Wanted(*self.wants(trace))
        return Wanted()


def _after_fork() -> None:
    for recorder in list(_recorders):
        recorder.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
