"""Runs that every detector is fed: healthy ones, and one for each way to go wrong."""

from __future__ import annotations

from typing import NamedTuple

from mastwatch.events import Event
from mastwatch.testing.faulty import FAULTY
from mastwatch.testing.healthy import HEALTHY
from mastwatch.testing.script import Script


class Sample(NamedTuple):
    """One run of the corpus.

    Attributes:
        name: What happens in it.
        events: The run, in order.
        healthy: All is well; a detector that says warn of it is wrong.
    """

    name: str
    events: tuple[Event, ...]
    healthy: bool


def corpus() -> list[Sample]:
    """All runs of the corpus, new ones each time.

    >>> sorted(sample.name for sample in corpus() if sample.healthy)[:3]
    ['branches', 'chat', 'chinese chat']
    """
    return [
        Sample(name, tuple(write(Script(name.replace(" ", "-")))), healthy)
        for healthy, runs in ((True, HEALTHY), (False, FAULTY))
        for name, write in runs.items()
    ]
