"""What a run, or a branch of it, is: who it is, the way of its Events and spans, its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import SpanKind

from mastwatch.events import Event, Outcome, RunFinished
from mastwatch.findings import Finding
from mastwatch.spans import semconv
from mastwatch.spans.core import Core, Verdict, firing, told_on
from mastwatch.spans.scope import Scope, error_name

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class RunBase(Scope):
    """A run or a branch without the words for what happens in it: see ``Run``."""

    def __init__(
        self,
        emitter: Emitter,
        core: Core,
        branch: str,
        parent: Scope | None,
        framework: str,
        spans: bool = True,
    ) -> None:
        super().__init__(None, core.span if parent is None else parent.span)
        self.emitter = emitter
        self.core = core
        self.branch = branch
        self.parent = parent
        self.framework = framework
        self.spans = spans  # a branch may be traced by others though the run around it is not
        self._branch_finished = False

    @property
    def id(self) -> str:
        """The run's id, shared by its branches."""
        return self.core.id

    @property
    def parentage(self) -> dict[str, str]:
        """The tag that names the run of another process which this one is part of, if any."""
        parent = "" if self.branch else self.core.parent_id
        return {semconv.RUN_PARENT_ID: parent} if parent else {}

    @property
    def finished(self) -> bool:
        """Whether the run (or this branch) is over."""
        return self._branch_finished or self.core.finished

    @property
    def last_index(self) -> int:
        """Last row of the transcript so far, -1 before the first."""
        return self.core.rows - 1

    def publish(self, event: Event, span: trace.Span | None = None) -> None:
        """Send an Event; verdicts are written on ``span`` (the run's by default)."""
        watch = self.emitter.watch
        with self.core.lock:
            verdicts = watch.observe(event)
        self.deliver(event, verdicts, span)

    def deliver(
        self, event: Event, verdicts: list[Verdict] | None, span: trace.Span | None
    ) -> None:
        """Hand an observed event's verdicts to the sinks, who find its span in ``firing``."""
        for verdict in verdicts or ():
            if isinstance(verdict, Finding):
                worst = self.core.max_severity
                self.core.max_severity = max(worst or verdict.severity, verdict.severity)
        before = getattr(firing, "span", None)
        here = span or told_on.get() or self.core.span or trace.get_current_span()
        short = self._short_span(verdicts) if not here.is_recording() else None
        firing.span = short or here
        try:
            self.emitter.watch.deliver(event, verdicts)
        finally:
            firing.span = before
            if short is not None:
                short.end()

    def _short_span(self, verdicts: list[Verdict] | None) -> trace.Span | None:
        """A span for verdicts where another producer traces the run, but leaves none current."""
        if not verdicts or self.spans or told_on.get() is not None:
            return None
        agent = verdicts[0].agent
        name = f"{semconv.AGENT_MESSAGE} {agent}".rstrip()
        return self._start(name, {semconv.AGENT_NAME: agent}, None)

    def next_id(self) -> str:
        """An id for an event of this run that its source gives none."""
        return f"#{next(self.core.ids)}"

    def _about(self, id: str | None = None) -> dict[str, Any]:
        """What every event of this run says of itself."""
        return {
            "run_id": self.id,
            "at": self.emitter.clock(),
            "id": id or self.next_id(),
            "branch": self.branch,
        }

    def set_outcome(self, success: bool | None, score: float | None) -> None:
        """Put the host's verdict on the run's span."""
        if self.core.span is not None:
            said = {semconv.OUTCOME_SUCCESS: success, semconv.OUTCOME_SCORE: score}
            self.core.span.set_attributes({k: v for k, v in said.items() if v is not None})

    def finish(
        self,
        outcome: Outcome,
        reason: str = "",
        error: BaseException | str | None = None,
    ) -> None:
        """End the run (or branch), once. ``paused`` leaves it resumable by its conversation id."""
        with self.core.lock:
            if self.finished:
                return
            if self.branch:
                self._branch_finished = True
            else:
                self.core.finished = True
        interventions = self.emitter.interventions
        if interventions is not None and (halted := interventions.ending(self.id)):
            outcome, reason, error = "cancelled", halted, None
        event = RunFinished(
            run_id=self.id,
            at=self.emitter.clock(),
            branch=self.branch,
            index=self.last_index,
            outcome=outcome,
            reason=reason,
            error=error_name(error),
        )
        self.publish(event)
        self.core.reason = reason or self.core.reason
        if self.branch:
            return
        if outcome == "paused":
            self.emitter.put_waiting(self.framework, self.core)
        self._finish_span(outcome, self.core.reason, error)

    def _finish_span(
        self, outcome: Outcome, reason: str, error: BaseException | str | None
    ) -> None:
        span = self.core.span
        if span is None:
            return
        about: dict[str, Any] = {semconv.RUN_OUTCOME: outcome}
        if reason:
            about[semconv.TERMINATION_REASON] = reason
            span.add_event(semconv.TERMINATION_EVENT, {semconv.TERMINATION_REASON: reason})
        if self.core.max_severity is not None:
            about[semconv.RUN_MAX_SEVERITY] = self.core.max_severity.label
        span.set_attributes(about)
        self.end(error if outcome == "error" else None)

    def _span(
        self,
        name: str,
        about: Mapping[str, Any],
        parent: Scope | None,
        kind: SpanKind = SpanKind.INTERNAL,
        started: float | None = None,
    ) -> trace.Span | None:
        return self._start(name, about, parent, kind, started) if self.spans else None

    def _start(
        self,
        name: str,
        about: Mapping[str, Any],
        parent: Scope | None,
        kind: SpanKind = SpanKind.INTERNAL,
        started: float | None = None,
    ) -> trace.Span:
        above = parent.span if parent is not None and parent.span is not None else self.span
        context = trace.set_span_in_context(above) if above is not None else None
        identity = self.core.identity
        if self.branch:
            identity = {**identity, semconv.RUN_BRANCH: self.branch}
        return self.emitter.tracer.start_span(
            name,
            context=context,
            kind=kind,
            attributes={**about, **identity},
            start_time=None if started is None else int(started * 1e9),
        )
