"""What the watch says, counted.

Labels with a free value (agent, tool, model) keep their first 200 values, the rest becomes
``other``, so nothing is lost in totals. Children of the bounded labels exist from the start: a
first finding is then an increase that an alert can see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

from mastwatch import forks, taxonomy
from mastwatch.events import (
    OUTCOMES,
    Event,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolReturned,
)
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.runs import Runs
from mastwatch.sink import ACTIONS, SUPPRESSED_BY, Sink
from mastwatch.sinks.metrics.families import Families
from mastwatch.sinks.metrics.instruments import Instruments
from mastwatch.sinks.metrics.known import KnownRuns
from mastwatch.sinks.metrics.labels import BoundedLabel


class MetricsSink(Sink):
    """Counts what the watch tells it.

    Args:
        instruments: What it counts with.
        runs: The watch's runs, for gauges read when somebody looks.
        frameworks: Values of the label ``framework`` whose children exist from the start.
        modes: Codes of the modes that have a live detector.
        judged: Codes of the modes that a judge looks for.
        version: Of mastwatch, for ``mastwatch_build_info``.
        run_labels: Names of run tags that become labels; 50 values each.
        constants: Values of run labels that no tag sets (``release``, ``environment``).
        spans: The ids of the trace and span where the present finding fired; empty when unknown.
    """

    name = "metrics"

    def __init__(
        self,
        instruments: Instruments,
        runs: Runs,
        *,
        frameworks: Iterable[str] = (),
        modes: Iterable[str] = (),
        judged: Iterable[str] = (),
        version: str = "",
        run_labels: Sequence[str] = (),
        constants: Mapping[str, str] | None = None,
        spans: Callable[[], tuple[str, str]] = lambda: ("", ""),
    ) -> None:
        self._instruments = instruments
        self._runs = runs
        self._frameworks = (*frameworks, "custom")
        self._modes = tuple(modes)
        self._judged = tuple(judged)
        self._version = version
        self._run_labels = tuple(run_labels)
        self._constants = constants or {}
        self._spans = spans
        self._hooks: dict[tuple[str, str], bool] = {}
        self._actions: tuple[str, ...] = ()
        self._begin()

    def _begin(self) -> None:
        """Make everything that counts; a forked child does so again."""
        self._families = Families(self._instruments, self._run_labels)
        self._known = KnownRuns(self._run_labels, self._constants)
        self._lock = forks.lock()  # protects _made
        self._made: set[str] = set()
        self._agent, self._tool, self._model = BoundedLabel(), BoundedLabel(), BoundedLabel()
        self._framework, self._reason = BoundedLabel(), BoundedLabel()
        for mode, severity, by in product(self._modes, Severity, SUPPRESSED_BY):
            self._families.suppressed.labels(mode, severity.label, by)
        self._families.duplicates.labels()
        self._families.build_info.labels(self._version, taxonomy.TAXONOMY_VERSION).set(1)
        for framework in self._frameworks:
            self._make(framework)
        for (framework, hook), in_place in self._hooks.items():
            self._families.hooks.labels(framework, hook).set(in_place)
        self.expect_actions(self._actions)

    def after_fork(self) -> None:
        """Begin at 0: what the parent counted, the parent reports."""
        self._instruments.after_fork()
        self._begin()

    def _make(self, framework: str) -> str:
        """The label for a framework; makes its children the first time it is seen."""
        framework = self._framework(framework)
        if framework in self._made:
            return framework
        with self._lock:
            self._made.add(framework)
        families, labels = self._families, self._known.labels()
        families.active.labels(framework).set_function(lambda: self._active(framework))
        families.without_text.labels(framework).set_function(lambda: self._textless(framework))
        families.oldest_idle.labels(framework).set_function(
            lambda: self._runs.oldest_idle(framework)
        )
        for outcome in OUTCOMES:
            families.runs.labels(framework, outcome, *labels)
        for mode, severity in product(map(taxonomy.mode, self._modes), Severity):
            self._finding(mode, severity, "detector", framework)
            families.flagged.labels(mode.code, severity.label, framework, *labels)
        for mode in map(taxonomy.mode, self._judged):
            severity = Severity.ALERT if mode.fatal else Severity.WARN
            self._finding(mode, severity, "judge", framework)
        return framework

    def _finding(
        self, mode: taxonomy.FailureMode, severity: Severity, source: str, framework: str
    ) -> None:
        self._families.findings.labels(
            mode.code, mode.slug, mode.category.value, severity.label, source, framework,
            *self._known.labels(),
        )  # fmt: skip

    def _active(self, framework: str) -> float:
        return sum(state.framework == framework for state in self._runs.active())

    def _textless(self, framework: str) -> float:
        return sum(state.framework == framework and state.textless for state in self._runs.active())

    def on_event(self, event: Event, framework: str) -> None:
        """Count an event."""
        framework = self._make(framework)
        if isinstance(event, MessageSent):
            labels = self._known.labels_of(event.run_id)
            self._families.messages.labels(framework, self._agent(event.sender), *labels).inc()
        elif isinstance(event, ToolReturned):
            self._tool_returned(event, framework)
        elif isinstance(event, ModelCalled):
            self._model_called(event)
        elif isinstance(event, RunStarted) and not event.branch and not event.resumed:
            self._known.start(event.run_id, event.at, event.tags)
        elif isinstance(event, RunFinished) and not event.branch:
            self._run_finished(event, framework)

    def _tool_returned(self, event: ToolReturned, framework: str) -> None:
        tool, status = self._tool(event.name), "error" if event.error else "ok"
        labels = self._known.labels_of(event.run_id)
        self._families.tool_calls.labels(framework, tool, status, *labels).inc()
        if event.seconds is not None:
            self._families.tool_seconds.labels(framework, tool).observe(event.seconds)

    def _model_called(self, event: ModelCalled) -> None:
        families, model = self._families, self._model(event.model)
        families.model_calls.labels(model, "error" if event.error else "ok").inc()
        if event.seconds is not None:
            families.model_seconds.labels(model).observe(event.seconds)
        usage = {"input": event.input_tokens or 0, "output": event.output_tokens or 0}
        for kind, count in usage.items():
            families.tokens.labels(model, kind).inc(count)
        for mode in self._known.flagged(event.run_id, Severity.WARN):
            families.tokens_after.labels(mode, model).inc(sum(usage.values()))

    def _run_finished(self, event: RunFinished, framework: str) -> None:
        families, labels = self._families, self._known.labels_of(event.run_id)
        families.runs.labels(framework, event.outcome, *labels).inc()
        if event.outcome == "paused":
            return
        started = self._known.end(event.run_id)
        if started is not None and event.at is not None:
            families.run_seconds.labels(framework).observe(max(0.0, event.at - started))
        summary = self._runs.summary(event.run_id)
        if summary is not None:
            families.run_messages.labels(framework).observe(summary.messages)

    def on_finding(self, finding: Finding) -> None:
        """Count a finding, and its run once per mode and level."""
        framework, severity = self._make(finding.framework), finding.severity
        # A judge's is of a run that is over: nothing is known of it, so it is not flagged again.
        judged, where = finding.source == "judge", self._exemplar()
        labels = self._known.labels() if judged else self._known.labels_of(finding.run_id)
        self._families.findings.labels(
            finding.mode, finding.slug, finding.category, severity.label, finding.source, framework,
            *labels,
        ).inc(1, where)  # fmt: skip
        self._families.agent_findings.labels(
            self._agent(finding.agent), finding.mode, severity.label, finding.detector
        ).inc(1, where)
        if not judged and self._known.flag(finding.run_id, finding.mode, severity):
            # The run's framework, not the branch's: as on runs_total, which this is a share of.
            whole = self._make(self._runs.framework(finding.run_id) or finding.framework)
            flagged = self._families.flagged
            flagged.labels(finding.mode, severity.label, whole, *labels).inc(1, where)

    def _exemplar(self) -> dict[str, str] | None:
        trace_id, span_id = self._spans()
        return {"trace_id": trace_id, "span_id": span_id} if trace_id else None

    def on_suppressed(self, finding: Finding, by: str, reason: str) -> None:
        """Count a finding that the host suppressed."""
        self._families.suppressed.labels(finding.mode, finding.severity.label, by).inc()

    def on_action(self, action: str, mode: str, result: str) -> None:
        """Count something done on a finding."""
        self._families.actions.labels(action, mode, result).inc()

    def expect_actions(self, actions: Iterable[str]) -> None:
        """Make the children of actions that the host asks for."""
        self._actions = tuple(actions)
        for action, mode in product(self._actions, self._modes):
            for result in ACTIONS[action]:
                self._families.actions.labels(action, mode, result)

    def on_notice(self, notice: Notice) -> None:
        """Count a notice."""
        self._families.notices.labels(notice.name, self._make(notice.framework)).inc()

    def on_duplicate(self, event: Event) -> None:
        """Count a duplicate."""
        self._families.duplicates.labels().inc()

    def on_dropped(self, reason: str) -> None:
        """Count a loss."""
        self._families.dropped.labels(self._reason(reason)).inc()

    def on_detector(self, name: str, seconds: float) -> None:
        """Record a detector's time."""
        self._families.detector_seconds.labels(name).observe(seconds)

    def on_internal_error(self, where: str) -> None:
        """Count an error of ours; registered as an observer of the guard."""
        self._families.internal_errors.labels(where).inc()

    def on_outcome(self, success: str, source: str) -> None:
        """Count an outcome the host reported."""
        self._families.outcomes.labels(success, source).inc()

    def set_hook(self, framework: str, hook: str, in_place: bool) -> None:
        """Say whether a hook of an instrumentor is in place."""
        self._hooks[framework, hook] = in_place
        self._families.hooks.labels(framework, hook).set(in_place)

    def close(self) -> None:
        """Take our metrics away."""
        self._instruments.close()
