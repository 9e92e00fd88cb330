"""A detector on trial: what it is put to, and a driver that shows each call of ``observe``."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mastwatch.detector import Detector
from mastwatch.events import Event
from mastwatch.findings import Finding, Notice
from mastwatch.signals import Signals
from mastwatch.testing.corpus import Sample

OWN = "yours"
"""Name of the sample that the author of a detector gives."""


@dataclass(frozen=True)
class Subject:
    """A detector class and what it is put to.

    Attributes:
        make: The class.
        samples: The runs it is fed.
        budget: Its time, in times of what the signals take.
        length: Events of the run that memory is measured over.
    """

    make: type[Detector]
    samples: tuple[Sample, ...]
    budget: float
    length: int


class Raised(Exception):
    """A detector raised; ``place`` tells one bug from another."""

    def __init__(self, error: Exception, about: str) -> None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        self.place = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
        super().__init__(f"observe() raised {self.place} ({error}) {about}")


class Step(NamedTuple):
    """One event, the signals brought up to date with it, and the detector that observes."""

    event: Event
    signals: Signals
    detector: Detector

    def observe(self) -> Finding | Notice | None:
        """Let the detector look.

        Raises:
            Raised: It raised, or gave back something else.
        """
        try:
            said = self.detector.observe(self.event, self.signals)
            if not isinstance(said, (Finding, Notice, type(None))):
                raise TypeError(f"returned {said!r}, no Finding, Notice or None")
            return said
        except Exception as error:
            raise Raised(error, f"on a {type(self.event).__name__}") from error


def steps(make: type[Detector], events: Iterable[Event]) -> Iterator[Step]:
    """Go through events as a watch does: a detector and signals for each conversation."""
    pairs: dict[tuple[str, str], tuple[Signals, Detector]] = {}
    for event in events:
        key = (event.run_id, event.branch)
        if key not in pairs:
            pairs[key] = (Signals(event.run_id, branch=event.branch), make())
        signals, detector = pairs[key]
        signals.update(event)
        if wants(make, event):
            yield Step(event, signals, detector)


def wants(make: type[Detector], event: Event) -> bool:
    """Whether a watch calls the detector for this event."""
    return not make.observes or isinstance(event, make.observes)


def verdicts(make: type[Detector], events: Iterable[Event]) -> list[Finding | Notice]:
    """All that a detector says, repeats included."""
    said = (step.observe() for step in steps(make, events))
    return [verdict for verdict in said if verdict is not None]


def apart(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """Copy the samples and give each one's runs ids of their own."""
    return tuple(
        sample._replace(
            events=tuple(
                replace(event, run_id=f"{sample.name}/{event.run_id}")
                for event in copy.deepcopy(sample.events)
            )
        )
        for sample in samples
    )
