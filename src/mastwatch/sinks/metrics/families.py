"""The metric families of a watched process, made from the table of names."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch import metric_names as names
from mastwatch.metric_names import Metric
from mastwatch.sinks.metrics.instruments import Counter, Gauge, Histogram, Instruments

_CALL_SECONDS = (0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84)
_RUN_SECONDS = (1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200)
_MESSAGES = (2, 5, 10, 20, 40, 80, 160, 320, 640)
_DETECTOR_SECONDS = (1e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 1e-3, 1e-2)


class Families:
    """All families, made with one kind of instruments.

    Args:
        instruments: Make them.
        run_labels: Names of the labels taken from a run's tags, on the families that count runs,
            utterances, tool calls and findings.
    """

    def __init__(self, instruments: Instruments, run_labels: Sequence[str] = ()) -> None:
        self._instruments = instruments
        self._run_labels = tuple(run_labels)
        self._define_runs()
        self._define_calls()
        self._define_findings()
        self._define_own()

    def _define_runs(self) -> None:
        self.runs = self._counter(names.RUNS)
        self.active = self._gauge(names.RUNS_ACTIVE)
        self.oldest_idle = self._gauge(names.RUN_OLDEST_IDLE)
        self.without_text = self._gauge(names.RUNS_WITHOUT_TEXT)
        self.outcomes = self._counter(names.RUN_OUTCOMES)
        self.run_seconds = self._histogram(names.RUN_DURATION, _RUN_SECONDS)
        self.run_messages = self._histogram(names.RUN_MESSAGES, _MESSAGES)

    def _define_calls(self) -> None:
        self.messages = self._counter(names.MESSAGES)
        self.tool_calls = self._counter(names.TOOL_CALLS)
        self.tool_seconds = self._histogram(names.TOOL_CALL_SECONDS, _CALL_SECONDS)
        self.model_calls = self._counter(names.MODEL_CALLS)
        self.model_seconds = self._histogram(names.MODEL_CALL_SECONDS, _CALL_SECONDS)
        self.tokens = self._counter(names.TOKENS)
        self.tokens_after = self._counter(names.TOKENS_AFTER_FINDING)

    def _define_findings(self) -> None:
        self.findings = self._counter(names.FINDINGS)
        self.agent_findings = self._counter(names.AGENT_FINDINGS)
        self.flagged = self._counter(names.FLAGGED_RUNS)
        self.suppressed = self._counter(names.SUPPRESSED_FINDINGS)
        self.actions = self._counter(names.ACTIONS)
        self.notices = self._counter(names.NOTICES)
        self.detector_seconds = self._histogram(names.DETECTOR_SECONDS, _DETECTOR_SECONDS)

    def _define_own(self) -> None:
        self.hooks = self._gauge(names.HOOK_STATUS)
        self.dropped = self._counter(names.EVENTS_DROPPED)
        self.duplicates = self._counter(names.DUPLICATE_EVENTS)
        self.internal_errors = self._counter(names.INTERNAL_ERRORS)
        self.build_info = self._gauge(names.BUILD_INFO)

    def _counter(self, metric: Metric) -> Counter:
        return self._instruments.counter(metric, self._labels(metric))

    def _gauge(self, metric: Metric) -> Gauge:
        return self._instruments.gauge(metric, self._labels(metric))

    def _histogram(self, metric: Metric, buckets: Sequence[float]) -> Histogram:
        return self._instruments.histogram(metric, self._labels(metric), buckets)

    def _labels(self, metric: Metric) -> tuple[str, ...]:
        return (*metric.labels, *self._run_labels) if metric.tagged else metric.labels
