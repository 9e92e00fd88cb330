"""The runs that ``mastwatch judge`` is given: recorded files, or ids of runs in the store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mastwatch.commands.inputs import read
from mastwatch.commands.stored_run import whole_id
from mastwatch.formats import RecordedRun
from mastwatch.guard import guard

if TYPE_CHECKING:
    from mastwatch.detector import Detector
    from mastwatch.policy import Policy
    from mastwatch.settings import Settings
    from mastwatch.store import Store, Trace


class NotRead(str):
    """Why something could not be read: one sentence, with its place."""


class Input:
    """Reads runs, one at a time.

    Args:
        store: Where ids are looked up; None where there is none.
        place: How messages call it.
        settings: Detectors and their policy: a judge is told what they find in recorded runs.
        format: Of files.
    """

    def __init__(self, store: Store | None, place: str, settings: Settings, format: str) -> None:
        self._store = store
        self._place = place
        self._settings = settings
        self._format = format

    def runs(self, names: list[str]) -> Iterator[Trace | NotRead]:
        """Runs and problems, in the order of the names."""
        for name in names:
            if is_file(name):
                yield from self._file(name)
            else:
                yield self._kept(name)

    def _kept(self, name: str) -> Trace | NotRead:
        if self._store is None:
            return NotRead(
                f"{name}: no such file, and there is no store ({self._place}) to look in"
            )
        try:
            found = self._store.trace(whole_id(self._store, name))
        except ValueError as error:
            return NotRead(f"run {name} of {self._place}: {error}")
        return found or NotRead(f"{name}: no such file, and no such run in {self._place}")

    def _file(self, name: str) -> Iterator[Trace | NotRead]:
        from mastwatch.policy import configured
        from mastwatch.registry import DETECTORS, select

        detectors = select(DETECTORS, self._settings.detectors)
        policy = configured(self._settings, detectors)
        for item in read([name], self._format):
            if isinstance(item, RecordedRun):
                yield _trace(item, detectors, policy)
            else:
                yield NotRead(item)


def _trace(run: RecordedRun, detectors: list[type[Detector]], policy: Policy | None) -> Trace:
    from mastwatch.replay import replay
    from mastwatch.store.build import TraceBuilder

    builder = TraceBuilder(run.id, run.extra)
    builder.add_run(run)
    with guard("judge.detect"):
        for verdict in replay(run.events, detectors, policy=policy):
            builder.note(verdict)
    return builder.trace()


def is_file(name: str) -> bool:
    """Whether a name means a file (or folder, or stdin) and not a run of the store.

    >>> is_file("-"), is_file("4f1c9a")
    (True, False)
    """
    return name == "-" or os.path.exists(name) or os.sep in name
