"""Prometheus metrics: what the watch says, counted; the only place that imports prometheus_client.

Labels with a free value (agent, tool, model) keep their first 200 values, the rest becomes
``other``, so nothing is lost in totals. Children of the bounded labels exist from the start: a
first finding is then an increase that an alert can see.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from mastwatch import taxonomy
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
from mastwatch.sinks.prometheus.endpoint import MetricsServer
from mastwatch.sinks.prometheus.families import Families
from mastwatch.sinks.prometheus.labels import BoundedLabel
from mastwatch.watch import Sink

__all__ = ["BoundedLabel", "MetricsServer", "PrometheusSink"]

MAX_RUNS = 4_096
"""Runs of which start, labels and reached severities are remembered."""
MAX_RUN_LABEL_VALUES = 50


@dataclass(slots=True)
class _Run:
    """What the metrics need to know of a run while it goes on."""

    started: float | None = None
    labels: tuple[str, ...] = ()
    flagged: dict[str, Severity] = field(default_factory=dict)


class PrometheusSink(Sink):
    """Counts what the watch tells it.

    Args:
        runs: The watch's runs, for gauges read at scrape time.
        frameworks: Values of the label ``framework`` whose children exist from the start.
        modes: Codes of the modes that have a live detector.
        version: Of mastwatch, for ``mastwatch_build_info``.
        registry: Where the metrics live; prometheus_client's default one if None.
        run_labels: Names of run tags that become labels; 50 values each.
        constants: Values of run labels that no tag sets (``release``, ``environment``).
    """

    name = "prometheus"

    def __init__(
        self,
        runs: Runs,
        *,
        frameworks: Iterable[str] = (),
        modes: Iterable[str] = (),
        version: str = "",
        registry: CollectorRegistry | None = None,
        run_labels: Sequence[str] = (),
        constants: Mapping[str, str] | None = None,
    ) -> None:
        self._families = Families(registry, run_labels)
        self.registry = self._families.registry
        self._runs = runs
        self._lock = threading.Lock()  # protects _known and _frameworks_made
        self._known: OrderedDict[str, _Run] = OrderedDict()
        self._frameworks_made: set[str] = set()
        self._agent, self._tool, self._model = BoundedLabel(), BoundedLabel(), BoundedLabel()
        self._framework, self._reason = BoundedLabel(), BoundedLabel()
        self._run_labels = [
            (name, (constants or {}).get(name, ""), BoundedLabel(MAX_RUN_LABEL_VALUES))
            for name in run_labels
        ]
        self._modes = tuple(modes)
        self._families.build_info.labels(version, taxonomy.TAXONOMY_VERSION).set(1)
        for framework in (*frameworks, "custom"):
            self._make(framework)

    def _make(self, framework: str) -> str:
        """The label for a framework; makes its children the first time it is seen."""
        framework = self._framework(framework)
        if framework in self._frameworks_made:
            return framework
        with self._lock:
            self._frameworks_made.add(framework)
        families, labels = self._families, self._labels_of({})
        families.active.labels(framework).set_function(lambda: self._active(framework))
        families.without_text.labels(framework).set_function(lambda: self._textless(framework))
        families.oldest_idle.labels(framework).set_function(
            lambda: self._runs.oldest_idle(framework)
        )
        for outcome in OUTCOMES:
            families.runs.labels(framework, outcome, *labels)
        for mode in map(taxonomy.mode, self._modes):
            for severity in (s.label for s in Severity):
                families.findings.labels(
                    mode.code, mode.slug, mode.category.value, severity, "detector", framework,
                    *labels,
                )  # fmt: skip
                families.flagged.labels(mode.code, severity, framework, *labels)
        return framework

    def _active(self, framework: str) -> float:
        return sum(state.framework == framework for state in self._runs.active())

    def _textless(self, framework: str) -> float:
        active = self._runs.active()
        return sum(s.framework == framework and s.messages > 0 and not s.texts for s in active)

    def _labels_of(self, tags: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(bound(tags.get(name) or fixed) for name, fixed, bound in self._run_labels)

    def _run(self, run_id: str) -> _Run:
        """What is known of a run; call with the lock held."""
        run = self._known.get(run_id)
        if run is None:
            run = self._known[run_id] = _Run(labels=self._labels_of({}))
            if len(self._known) > MAX_RUNS:
                self._known.popitem(last=False)
        return run

    def on_event(self, event: Event, framework: str) -> None:
        """Count an event."""
        framework = self._make(framework)
        if isinstance(event, MessageSent):
            labels = self._extra(event.run_id)
            self._families.messages.labels(framework, self._agent(event.sender), *labels).inc()
        elif isinstance(event, ToolReturned):
            self._tool_returned(event, framework)
        elif isinstance(event, ModelCalled):
            self._model_called(event)
        elif isinstance(event, RunStarted) and not event.branch:
            self._run_started(event)
        elif isinstance(event, RunFinished) and not event.branch:
            self._run_finished(event, framework)

    def _extra(self, run_id: str) -> tuple[str, ...]:
        if not self._run_labels:
            return ()
        with self._lock:
            return self._run(run_id).labels

    def _tool_returned(self, event: ToolReturned, framework: str) -> None:
        tool, status = self._tool(event.name), "error" if event.error else "ok"
        labels = self._extra(event.run_id)
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
        with self._lock:
            flagged = dict(self._run(event.run_id).flagged)
        for mode, severity in flagged.items():
            if severity >= Severity.WARN:
                families.tokens_after.labels(mode, model).inc(sum(usage.values()))

    def _run_started(self, event: RunStarted) -> None:
        if event.resumed:
            return
        with self._lock:
            run = self._run(event.run_id)
            run.started, run.labels = event.at, self._labels_of(event.tags)

    def _run_finished(self, event: RunFinished, framework: str) -> None:
        families = self._families
        families.runs.labels(framework, event.outcome, *self._extra(event.run_id)).inc()
        if event.outcome == "paused":
            return
        with self._lock:
            run = self._known.pop(event.run_id, None)
        if run is not None and run.started is not None and event.at is not None:
            families.run_seconds.labels(framework).observe(max(0.0, event.at - run.started))
        summary = self._runs.summary(event.run_id)
        if summary is not None:
            families.run_messages.labels(framework).observe(summary.messages)

    def on_finding(self, finding: Finding) -> None:
        """Count a finding, and its run once per mode and level."""
        framework, severity = self._make(finding.framework), finding.severity
        with self._lock:
            run = self._run(finding.run_id)
            reached = run.flagged.get(finding.mode)
            run.flagged[finding.mode] = max(reached or severity, severity)
        self._families.findings.labels(
            finding.mode, finding.slug, finding.category, severity.label, finding.source, framework,
            *run.labels,
        ).inc()  # fmt: skip
        self._families.agent_findings.labels(
            self._agent(finding.agent), finding.mode, severity.label, finding.detector
        ).inc()
        if reached is None or severity > reached:
            # The run's framework, not the branch's: as on runs_total, which this is a share of.
            whole = self._make(self._runs.framework(finding.run_id) or finding.framework)
            self._families.flagged.labels(finding.mode, severity.label, whole, *run.labels).inc()

    def on_notice(self, notice: Notice) -> None:
        """Count a notice."""
        self._families.notices.labels(notice.name, self._make(notice.framework)).inc()

    def on_duplicate(self, event: Event) -> None:
        """Count a duplicate."""
        self._families.duplicates.inc()

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
        self._families.hooks.labels(framework, hook).set(in_place)

    def close(self) -> None:
        """Take our metrics out of the registry."""
        self._families.close()
