"""A run inside a record: its log stands there as text, in whatever format its system writes."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from mastwatch.events import Event, RunStarted
from mastwatch.formats.recorded import Format, Problem, Read, RecordedRun, Where
from mastwatch.formats.source import Source
from mastwatch.formats.text import TextFormat

Sniff: TypeAlias = Callable[[Source], "Format | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What the record around a log says.

    Attributes:
        id: Of the run.
        where: Where the record stands.
        format: As in ``--format``.
        framework: What made the log; the log's own word counts more.
        task: What the run was asked to do, where the log does not say.
        extra: What else the record says.
    """

    id: str
    where: Where
    format: str
    framework: str = ""
    task: str | None = None
    extra: Mapping[str, object]


def read_nested(log: object, envelope: Envelope, sniff: Sniff) -> Iterator[Read]:
    """Read the log in a record with the reader that fits.

    Args:
        log: Its text, or JSON that is parsed already.
        envelope: What stands around it.
        sniff: Tells the log's format.
    """
    text = log if isinstance(log, str) else json.dumps(log, indent=1)
    name = f"{os.path.basename(envelope.where.file)}:trajectory"
    source = _source(text, name)
    if source.problem is not None:
        yield _moved(source.problem, envelope)
        return
    reader = sniff(source)
    if reader is None:
        told = "its trajectory is in no format known here; read as plain text"
        yield Problem(envelope.where, told)
        reader, source = TextFormat(), _source(text, name)  # the first one's lines may be used up
    number = 0
    for item in reader.read(source):
        if isinstance(item, Problem):
            yield _moved(item, envelope)
        else:
            number += 1
            yield _enveloped(item, envelope, number)


def _source(text: str, name: str) -> Source:
    return Source(io.BytesIO(text.encode("utf-8", "replace")), name)


def _moved(problem: Problem, envelope: Envelope) -> Problem:
    line = problem.where.line
    place = "its trajectory" if line is None else f"line {line} of its trajectory"
    return Problem(replace(envelope.where, row=problem.where.row), f"{place}: {problem.text}")


def _enveloped(run: RecordedRun, envelope: Envelope, number: int) -> RecordedRun:
    run_id = envelope.id if number == 1 else f"{envelope.id}/{number}"
    framework = run.framework if run.framework not in ("", "text") else envelope.framework
    about = replace(envelope, id=run_id, framework=framework)
    return replace(
        run,
        id=run_id,
        where=envelope.where,
        format=envelope.format,
        framework=framework,
        events=tuple(_event(event, about) for event in run.events),
        extra={**run.extra, **envelope.extra},
    )


def _event(event: Event, about: Envelope) -> Event:
    if not isinstance(event, RunStarted):
        return replace(event, run_id=about.id)
    return replace(event, run_id=about.id, framework=about.framework, task=event.task or about.task)
