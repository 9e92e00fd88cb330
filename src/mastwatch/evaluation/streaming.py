"""One recorded run through the detectors, as if it were live: who said what, at which row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mastwatch.detector import Detector
from mastwatch.events import Event, RunFinished
from mastwatch.findings import Finding
from mastwatch.formats import RecordedRun
from mastwatch.formats.record import read_record
from mastwatch.replay import replay

Detectors = Sequence[Callable[[], Detector]]


@dataclass(frozen=True, slots=True)
class Said:
    """A finding, as far as scoring needs it.

    Attributes:
        mode: MAST code.
        severity: Value of its Severity.
        row: Row of the transcript at which it came out.
        episode: Its episode; rises share it.
        at_end: It came with the end of the run, so a run cut short would not have had it.
    """

    mode: str
    severity: int
    row: int
    episode: str = ""
    at_end: bool = False


def read(record: Mapping[str, Any]) -> RecordedRun | None:
    """The run of a record, None where nothing of it can be read."""
    return next((item for item in read_record(record) if isinstance(item, RecordedRun)), None)


def listen(events: Iterable[Event], detectors: Detectors) -> tuple[Said, ...]:
    """Play a run to fresh detectors and note their findings in order.

    Detectors only ever know the past, so what they say before row N is what they would have said
    of the run cut there, apart from findings that come with its end.
    """
    tape = _Tape(events)
    return tuple(
        Said(
            mode=verdict.mode,
            severity=int(verdict.severity),
            row=verdict.message_index,
            episode=verdict.episode,
            at_end=isinstance(tape.event, RunFinished) and not tape.event.branch,
        )
        for verdict in replay(tape, detectors)
        if isinstance(verdict, Finding)
    )


class _Tape:
    """Events that can say which one is being looked at."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = events
        self.event: Event | None = None

    def __iter__(self) -> Iterator[Event]:
        for event in self._events:
            self.event = event
            yield event


def differing(
    record: Mapping[str, Any], said: Sequence[Said], times: int, detectors: Detectors
) -> tuple[str, ...]:
    """Modes whose findings change when every row of a run is written several times.

    Args:
        record: The run.
        said: What was said of it.
        times: How often each row stands in the log, one after the other.
        detectors: As for ``listen``.

    Returns:
        The modes, sorted; empty where nothing changes.
    """
    single, several = read(record), read(_repeated(record, times))
    if single is None or several is None:
        return ()
    # The reader takes a log as long as the cap for a run stopped by it; the copies are no messages.
    events = (*several.events[:-1], _same_end(several.events[-1], single.events[-1]))
    again = listen(events, detectors)
    before = {(s.mode, s.severity, s.row) for s in said}
    after = {(s.mode, s.severity, s.row // times) for s in again}
    modes = {mode for mode, _, _ in before ^ after}
    modes |= {m for m in _modes(said) if _count(said, m) != _count(again, m)}
    return tuple(sorted(modes))


def _same_end(last: Event, like: Event) -> Event:
    if isinstance(last, RunFinished) and isinstance(like, RunFinished):
        return replace(last, outcome=like.outcome)
    return last


def _repeated(record: Mapping[str, Any], times: int) -> dict[str, Any]:
    rows = [row for row in record["messages"] for _ in range(times)]
    rows = [{**row, "index": i} if isinstance(row, dict) else row for i, row in enumerate(rows)]
    copied = {**record, "messages": rows}
    requests = record.get("requests")
    if isinstance(requests, list):
        copied["requests"] = [
            {**request, "before": request.get("before", 0) * times}
            for request in requests
            if isinstance(request, dict)
            for _ in range(times)
        ]
    return copied


def _modes(said: Iterable[Said]) -> set[str]:
    return {s.mode for s in said}


def _count(said: Iterable[Said], mode: str) -> int:
    return sum(s.mode == mode for s in said)
