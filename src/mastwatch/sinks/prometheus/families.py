"""All metric families: names, help texts, labels and buckets. The names are a promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_CALL_SECONDS = (0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84)
_RUN_SECONDS = (1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200)
_MESSAGES = (2, 5, 10, 20, 40, 80, 160, 320, 640)
_DETECTOR_SECONDS = (1e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 1e-3, 1e-2)


_Collector = TypeVar("_Collector", Counter, Gauge, Histogram)


class Families:
    """The families of one registry.

    Args:
        registry: Where they live; prometheus_client's default registry if None.
        run_labels: Names of the labels taken from a run's tags, on the families that count runs,
            utterances, tool calls and findings.
    """

    def __init__(
        self, registry: CollectorRegistry | None = None, run_labels: Sequence[str] = ()
    ) -> None:
        self.registry = REGISTRY if registry is None else registry
        self._collectors: list[Any] = []
        self._define_runs(run_labels)
        self._define_calls(run_labels)
        self._define_findings(run_labels)
        self._define_own()

    def _define_runs(self, extra: Sequence[str]) -> None:
        framework = ("framework",)
        self.runs = self._counter(
            "runs_total", "Runs that ended or paused", "framework", "outcome", *extra
        )
        self.active = self._gauge("runs_active", "Runs going on", *framework)
        self.oldest_idle = self._gauge(
            "run_oldest_idle_seconds",
            "Seconds since the last event of the longest idle active run",
            *framework,
        )
        self.without_text = self._gauge(
            "runs_without_text", "Active runs watched without message text", *framework
        )
        self.outcomes = self._counter(
            "run_outcomes_total", "Outcomes the host reported", "success", "source"
        )
        self.run_seconds = self._histogram(
            "run_duration_seconds", "Runs, start to end", _RUN_SECONDS, *framework
        )
        self.run_messages = self._histogram(
            "run_messages", "Utterances per run", _MESSAGES, *framework
        )

    def _define_calls(self, extra: Sequence[str]) -> None:
        self.messages = self._counter("messages_total", "Utterances", "framework", "agent", *extra)
        self.tool_calls = self._counter(
            "tool_calls_total", "Tool calls that came back", "framework", "tool", "status", *extra
        )
        self.tool_seconds = self._histogram(
            "tool_call_seconds", "Tool calls", _CALL_SECONDS, "framework", "tool"
        )
        self.model_calls = self._counter(
            "model_calls_total", "Model calls that came back", "model", "status"
        )
        self.model_seconds = self._histogram(
            "model_call_seconds", "Model calls", _CALL_SECONDS, "model"
        )
        self.tokens = self._counter("tokens_total", "Tokens", "model", "type")
        self.tokens_after = self._counter(
            "tokens_after_finding_total",
            "Tokens spent in a run after its first finding (warn or above) of the mode",
            "mode",
            "model",
        )

    def _define_findings(self, extra: Sequence[str]) -> None:
        self.findings = self._counter(
            "findings_total",
            "Findings: each rise of severity in an episode",
            *("mode", "slug", "category", "severity", "source", "framework"),
            *extra,
        )
        self.agent_findings = self._counter(
            "agent_findings_total", "Findings by agent", "agent", "mode", "severity", "detector"
        )
        self.flagged = self._counter(
            "flagged_runs_total",
            "Runs that reached the severity for the mode, each counted once per level",
            *("mode", "severity", "framework"),
            *extra,
        )
        self.notices = self._counter(
            "notices_total", "Notices that are no failure mode", "name", "framework"
        )
        self.detector_seconds = self._histogram(
            "detector_seconds",
            "One event in one detector (every 16th is measured)",
            _DETECTOR_SECONDS,
            "detector",
        )

    def _define_own(self) -> None:
        self.hooks = self._gauge("hook_status", "1: hook in place, 0: missing", "framework", "hook")
        self.dropped = self._counter("events_dropped_total", "Lost at one of our bounds", "reason")
        self.duplicates = self._counter("duplicate_events_total", "Events reported more than once")
        self.internal_errors = self._counter(
            "internal_errors_total", "Errors of mastwatch itself", "where"
        )
        self.build_info = self._gauge("build_info", "Always 1", "version", "taxonomy_version")

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return self._keep(Counter(_full(name), text, labels, registry=self.registry))

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return self._keep(Gauge(_full(name), text, labels, registry=self.registry))

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return self._keep(
            Histogram(_full(name), text, labels, buckets=buckets, registry=self.registry)
        )

    def _keep(self, collector: _Collector) -> _Collector:
        self._collectors.append(collector)
        return collector

    def close(self) -> None:
        """Take the families out of the registry."""
        for collector in self._collectors:
            self.registry.unregister(collector)
        self._collectors.clear()


def _full(name: str) -> str:
    return f"mastwatch_{name}"
