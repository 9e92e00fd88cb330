"""Examines cases in several processes; the results come in the cases' order, whatever their number.

Processes are spawned, not forked, so that it works everywhere and no thread's lock is inherited.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator

from mastwatch import registry
from mastwatch.detector import Detector
from mastwatch.evaluation.datasets import Case
from mastwatch.evaluation.examine import Examined, examine

_CHUNK = 8  # cases sent to a process at once
_worker: Callable[[Case], Examined | None]  # in a spawned process: set once, at its start


def detectors(names: Iterable[str] | None = None) -> list[type[Detector]]:
    """The registered detectors, or those named by entry point or by their own name.

    Raises:
        ValueError: A name is no detector's.
    """
    found = [p for p in registry.plugins(registry.DETECTORS) if p.loaded is not None]
    if names is None:
        return [p.loaded for p in found if p.loaded]
    wanted = set(names)
    known = {name for p in found for name in _names(p)}
    if unknown := sorted(wanted - known):
        names_known = ", ".join(sorted(p.name for p in found))
        raise ValueError(f"{', '.join(unknown)} is no detector; known: {names_known}")
    return [p.loaded for p in found if p.loaded and wanted & set(_names(p))]


def _names(plugin: registry.Plugin) -> tuple[str, str]:
    return plugin.name, getattr(plugin.loaded, "name", plugin.name)


def examine_all(
    cases: Iterable[Case], names: Iterable[str] | None, seed: int, processes: int
) -> Iterator[Examined | None]:
    """Examine cases, in their order.

    Args:
        cases: Read as they are needed.
        names: Of the detectors; None for all.
        seed: As for ``examine``.
        processes: 1 works in this process.

    Yields:
        What is known of each case, None for one that cannot be read.
    """
    if processes <= 1:
        chosen = detectors(names)
        for case in cases:
            yield examine(case, chosen, seed)
        return
    context = multiprocessing.get_context("spawn")
    asked = None if names is None else list(names)
    with context.Pool(processes, initializer=_start, initargs=(asked, seed)) as pool:
        yield from pool.imap(_work, cases, chunksize=_CHUNK)


def _start(names: list[str] | None, seed: int) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    chosen = detectors(names)
    _worker = lambda case: examine(case, chosen, seed)  # noqa: E731


def _work(case: Case) -> Examined | None:
    return _worker(case)
