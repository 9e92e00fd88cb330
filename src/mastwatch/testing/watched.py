"""Asks a whole watch what it says of a run: hysteresis, duplicates and branches included."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from mastwatch import registry
from mastwatch.detector import Detector
from mastwatch.events import Event
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.replay import replay


@dataclass(frozen=True)
class Seen:
    """What a watch let through.

    Attributes:
        findings: First findings and rises of each episode, in order.
        notices: Each notice once.
    """

    findings: tuple[Finding, ...]
    notices: tuple[Notice, ...]

    def worst(self, mode: str) -> str:
        """The highest level of a mode, ``silent`` when it was never found."""
        levels = [f.severity for f in self.findings if f.mode == mode]
        return max(levels).label if levels else "silent"

    def episodes(self, mode: str) -> int:
        """How many episodes of a mode there were."""
        return len({f.episode for f in self.findings if f.mode == mode})

    def at(self, mode: str, severity: Severity) -> int | None:
        """Row of the first finding of a mode at this level or above."""
        rows = [f.message_index for f in self.findings if f.mode == mode and f.severity >= severity]
        return min(rows, default=None)

    def named(self, notice: str) -> int:
        """How many notices of a name there were."""
        return sum(n.name == notice for n in self.notices)


def watched(run: Iterable[Event], *detectors: Callable[[], Detector]) -> Seen:
    """Publish a run to a watch of its own.

    Args:
        run: A ``Script``, or events in order.
        detectors: Detector classes, or factories; all that are installed when none is given.
    """
    with errors_raised():
        verdicts = list(replay(run, detectors or _installed()))
    return Seen(
        tuple(v for v in verdicts if isinstance(v, Finding)),
        tuple(v for v in verdicts if isinstance(v, Notice)),
    )


def findings(run: Iterable[Event], *detectors: Callable[[], Detector]) -> list[Finding]:
    """The findings of a run, as ``watched`` lets them through.

    Args:
        run: A ``Script``, or events in order.
        detectors: Detector classes, or factories; all that are installed when none is given.
    """
    return list(watched(run, *detectors).findings)


@contextlib.contextmanager
def errors_raised() -> Iterator[None]:
    """Let errors in detectors through, which a live watch swallows."""
    name = "MASTWATCH_RAISE_ERRORS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@lru_cache(maxsize=1)  # reading all packages' metadata takes longer than most runs
def _installed() -> tuple[type[Detector], ...]:
    return tuple(registry.detectors())
