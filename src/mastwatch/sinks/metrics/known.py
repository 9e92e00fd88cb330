"""What the metrics need to know of runs while they go on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mastwatch import forks
from mastwatch.findings import Severity
from mastwatch.sinks.metrics.labels import BoundedLabel

MAX_RUNS = 4_096
"""Runs of which start, labels and reached severities are remembered."""
MAX_RUN_LABEL_VALUES = 50


@dataclass(slots=True)
class KnownRun:
    """One run."""

    started: float | None = None
    labels: tuple[str, ...] = ()
    flagged: dict[str, Severity] = field(default_factory=dict)


class KnownRuns:
    """The runs that go on; beyond a bound the longest known one is forgotten.

    Args:
        run_labels: Names of run tags that become labels.
        constants: Values of those that no tag sets.
    """

    def __init__(self, run_labels: Sequence[str], constants: Mapping[str, str]) -> None:
        self._labels = [
            (name, constants.get(name, ""), BoundedLabel(MAX_RUN_LABEL_VALUES))
            for name in run_labels
        ]
        self._lock = forks.lock()  # protects _runs and what is in them
        self._runs: OrderedDict[str, KnownRun] = OrderedDict()

    def labels(self, tags: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The values of the labels made of tags."""
        tags = tags or {}
        return tuple(bound(tags.get(name) or fixed) for name, fixed, bound in self._labels)

    def labels_of(self, run_id: str) -> tuple[str, ...]:
        """Those of a run."""
        if not self._labels:
            return ()
        with self._lock:
            return self._run(run_id).labels

    def start(self, run_id: str, at: float | None, tags: Mapping[str, str]) -> None:
        """Take note of a run's start."""
        with self._lock:
            run = self._run(run_id)
            run.started, run.labels = at, self.labels(tags)

    def end(self, run_id: str) -> float | None:
        """Forget a run; returns when it started, where that is known."""
        with self._lock:
            run = self._runs.pop(run_id, None)
        return run.started if run is not None else None

    def flag(self, run_id: str, mode: str, severity: Severity) -> bool:
        """Take note of a finding; returns whether it is the run's worst of the mode so far."""
        with self._lock:
            run = self._run(run_id)
            reached = run.flagged.get(mode)
            if reached is not None and severity <= reached:
                return False
            run.flagged[mode] = severity
            return True

    def flagged(self, run_id: str, least: Severity) -> list[str]:
        """The modes for which a run has reached a severity."""
        with self._lock:
            flagged = self._run(run_id).flagged
            return [mode for mode, severity in flagged.items() if severity >= least]

    def _run(self, run_id: str) -> KnownRun:
        """What is known of a run; call with the lock held."""
        run = self._runs.get(run_id)
        if run is None:
            run = self._runs[run_id] = KnownRun(labels=self.labels())
            if len(self._runs) > MAX_RUNS:
                self._runs.popitem(last=False)
        return run
