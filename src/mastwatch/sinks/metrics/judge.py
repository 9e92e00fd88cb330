"""What the judge and attribution say and cost, counted."""

from __future__ import annotations

import math
from typing import get_args

from mastwatch import forks, taxonomy
from mastwatch import metric_names as names
from mastwatch.judge.calibrate import UNCALIBRATED, Calibrations
from mastwatch.judge.worker.listener import Listener
from mastwatch.metric_names import Metric
from mastwatch.sinks.metrics.attribution import AttributionCounts
from mastwatch.sinks.metrics.instruments import Counter, Gauge, Instruments
from mastwatch.sinks.metrics.labels import BoundedLabel
from mastwatch.store import Attribution, Report, TaskWord, Trace
from mastwatch.store.report import VERDICTS

REASONS = (
    "auth", "budget", "context_overflow", "empty", "internal_error", "missing", "no_rows",
    "no_text", "provider_error", "rate_limited", "refusal", "schema", "timeout", "truncated",
    "unparsable", "unreachable", "unreadable", "worker_died",
)  # fmt: skip
"""Why a verdict may be ``not_evaluated``; the label takes others too."""
EVIDENCE = ("verified", "repaired", "rejected")
_SECONDS = (0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640)


class JudgeMetrics(Listener):
    """Counts reports and attributions.

    Args:
        instruments: What it counts with; closed with this.
        calibrations: Tells how well the judge in use agrees with people.
    """

    name = "metrics"

    def __init__(self, instruments: Instruments, calibrations: Calibrations | None = None) -> None:
        self._instruments = instruments
        self._calibrations = calibrations or Calibrations()
        self._closed = False
        self._begin()
        forks.remake(self)

    def _begin(self) -> None:
        """Make everything that counts; a forked child does so again."""
        # Modes of one's own have any name, and one process may judge with several taxonomies.
        self._mode, self._reason = BoundedLabel(), BoundedLabel()
        self._calibration = UNCALIBRATED
        self._kappas: set[str] = set()
        self._define()
        self._make_children()

    def after_fork(self) -> None:
        """Begin at 0: what the parent counted, the parent reports."""
        if not self._closed:
            self._instruments.after_fork()
            self._begin()

    def _define(self) -> None:
        self._verdicts = self._counter(names.JUDGE_VERDICTS)
        self._tasks = self._counter(names.JUDGE_TASK_COMPLETED)
        self._tokens = self._counter(names.JUDGE_TOKENS)
        self._usd = self._counter(names.JUDGE_COST).labels()
        self._not_evaluated = self._counter(names.JUDGE_NOT_EVALUATED)
        self._evidence = self._counter(names.JUDGE_EVIDENCE)
        self._depth = self._gauge(names.JUDGE_QUEUE_DEPTH).labels()
        self._kappa = self._gauge(names.JUDGE_AGREEMENT)
        seconds = names.JUDGE_SECONDS
        self._seconds = self._instruments.histogram(seconds, seconds.labels, _SECONDS).labels()
        self._attributions = AttributionCounts(self._instruments)

    def _make_children(self) -> None:
        for mode in taxonomy.MODES:
            for verdict in VERDICTS:
                self._verdicts.labels(self._mode(mode.code), verdict)
        for word in get_args(TaskWord):
            self._tasks.labels(word)
        for reason in REASONS:
            self._not_evaluated.labels(self._reason(reason))
        for status in EVIDENCE:
            self._evidence.labels(status)
        for kind in ("input", "output"):
            self._tokens.labels(kind)

    def on_report(self, report: Report, trace: Trace) -> None:
        """Count a report."""
        for verdict in report.verdicts.values():
            self._verdicts.labels(self._mode(verdict.mode), verdict.verdict).inc()
            if verdict.verdict == "not_evaluated":
                self._not_evaluated.labels(self._reason(verdict.reason)).inc()
        self._tasks.labels(report.task_completed).inc()
        for status, count in report.evidence_counts.items():
            self._evidence.labels(status).inc(count)
        self._count_spending(report)
        self._seconds.observe(report.usage.seconds)
        if report.calibration != self._calibration:
            self._show_agreement(report)

    def on_attribution(self, attribution: Attribution, trace: Trace) -> None:
        """Count an attribution."""
        self._attributions.count(attribution, trace)
        self._usd.inc(attribution.usage.usd or 0.0)

    def on_put_off(self, result: Report | Attribution) -> None:
        """Count what was spent on a run that is to be looked at again."""
        if isinstance(result, Report):
            self._count_spending(result)
        else:
            self._attributions.spent(result.usage)
            self._usd.inc(result.usage.usd or 0.0)

    def on_queue(self, depth: int) -> None:
        """Show how long the queue is."""
        self._depth.set(depth)

    def close(self) -> None:
        """Take our metrics away."""
        self._closed = True
        self._instruments.close()

    def _count_spending(self, report: Report) -> None:
        self._tokens.labels("input").inc(report.usage.input_tokens)
        self._tokens.labels("output").inc(report.usage.output_tokens)
        self._usd.inc(report.usage.usd or 0.0)

    def _show_agreement(self, report: Report) -> None:
        """Kappa by mode of the calibration that the report is stamped with, where it is known."""
        self._calibration = report.calibration
        found = self._calibrations.of(report.taxonomy_version, report.prompt_version, report.model)
        kappas: dict[str, float] = {}
        if found is not None and found.stamp == report.calibration:
            for slug, kappa in found.kappas.items():
                if slug in report.verdicts:
                    kappas[self._mode(report.verdicts[slug].mode)] = kappa
        for mode in self._kappas | set(kappas):
            self._kappa.labels(mode).set(kappas.get(mode, math.nan))
        self._kappas |= set(kappas)

    def _counter(self, metric: Metric) -> Counter:
        return self._instruments.counter(metric, metric.labels)

    def _gauge(self, metric: Metric) -> Gauge:
        return self._instruments.gauge(metric, metric.labels)
