"""Readers of recorded runs. Whatever the log's format, out come the Events of one run at a time.

>>> import io
>>> log = io.BytesIO(b'[{"role": "user", "content": "Add 2 and 2."}]')
>>> [run.messages for run in read_runs(log) if isinstance(run, RecordedRun)]
[1]

A new format is one module with a ``Format`` (see ``recorded``) and one line in ``FORMATS``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from mastwatch.formats import fields
from mastwatch.formats.adamast import AdaMastFormat
from mastwatch.formats.ag2 import (
    ChatDumpFormat,
    PrintedChatFormat,
    ReprStreamFormat,
    RuntimeLogFormat,
)
from mastwatch.formats.agentchat import ConsoleFormat, MessagesFormat
from mastwatch.formats.appworld import AppWorldFormat
from mastwatch.formats.chatdev import ChatDevFormat
from mastwatch.formats.hyperagent import HyperAgentFormat
from mastwatch.formats.json_values import SKIPPED, Value
from mastwatch.formats.langchain import LangChainFormat
from mastwatch.formats.ma_tot import MaTotFormat
from mastwatch.formats.mast_data import MastDataFormat
from mastwatch.formats.metagpt import MetaGptFormat
from mastwatch.formats.openai_messages import OpenAIMessagesFormat
from mastwatch.formats.openmanus import OpenManusFormat
from mastwatch.formats.peer_review import PeerReviewFormat
from mastwatch.formats.record import RecordFormat
from mastwatch.formats.recorded import Format, Problem, Read, RecordedRun, Where
from mastwatch.formats.source import MAX_SAMPLES, Source
from mastwatch.formats.text import TextFormat
from mastwatch.formats.traced import LangfuseFormat, LangSmithFormat, OtlpFormat
from mastwatch.formats.whowhen import WhoAndWhenFormat

__all__ = [
    "FORMATS",
    "Format",
    "Problem",
    "RecordedRun",
    "Source",
    "Where",
    "format_names",
    "read_runs",
    "sniff",
]

_KEYS_SHOWN = 5
_KEY_LENGTH = 40
_MAX_IDS = 100_000  # run ids remembered to notice one that comes again


def format_names() -> tuple[str, ...]:
    """What ``format=`` accepts."""
    return ("auto", *(known.name for known in FORMATS))


def sniff(source: Source) -> Format | None:
    """The format a source is in; None when it is none of ours. Nothing is consumed."""
    # By its first value if that tells: the second run of a live source may be long in coming.
    for source.sampled in (1, MAX_SAMPLES):
        found = next((known for known in FORMATS if known.sniff(source)), None)
        if found is not None:
            return found
    return None


_TEXTS: tuple[Format, ...] = (
    RuntimeLogFormat(),
    ReprStreamFormat(),
    PrintedChatFormat(),
    ChatDevFormat(),
    AppWorldFormat(),
    ConsoleFormat(),
    OpenManusFormat(),
    MetaGptFormat(),
    HyperAgentFormat(),
)
_VALUES: tuple[Format, ...] = (
    OtlpFormat(),
    LangSmithFormat(),
    LangfuseFormat(),
    MastDataFormat(sniff),
    AdaMastFormat(sniff),
    WhoAndWhenFormat(),
    MaTotFormat(),
    PeerReviewFormat(),
    ChatDumpFormat(),
    MessagesFormat(),
    RecordFormat(),
    LangChainFormat(),
    OpenAIMessagesFormat(),
)
FORMATS: tuple[Format, ...] = (*_TEXTS, TextFormat(), *_VALUES)
"""In the order they are tried: the more particular first. Those of texts look at the head of a
source alone; those that look at its values leave no lines to read."""


def read_runs(
    path_or_stream: str | os.PathLike[str] | BinaryIO, format: str = "auto", *, name: str = ""
) -> Iterator[Read]:
    """Read the runs of a log, one at a time.

    Nothing is raised for what a log may contain, or for a file that cannot be opened: that is a
    Problem, and everything readable still comes.

    Args:
        path_or_stream: A file, or its bytes; plain or gzip.
        format: One of ``format_names()``.
        name: How positions call a stream.

    Raises:
        ValueError: ``format`` is unknown.
    """
    if format not in format_names():
        raise ValueError(f"{format!r} is no format; known: {', '.join(format_names())}")
    if isinstance(path_or_stream, str | os.PathLike):
        return _from_path(os.fspath(path_or_stream), format)
    return _from_stream(path_or_stream, format, name or getattr(path_or_stream, "name", "<stream>"))


def _from_path(path: str, format: str) -> Iterator[Read]:
    try:
        stream = open(path, "rb")  # noqa: SIM115 - closed below; the error is only of opening
    except OSError as error:
        yield Problem(Where(path), f"cannot be opened ({error.strerror})")
        return
    with stream:
        yield from _from_stream(stream, format, path, path)


def _from_stream(
    stream: BinaryIO, format: str, name: str, path: str | None = None
) -> Iterator[Read]:
    source = Source(stream, str(name), path)
    if source.problem is not None:
        yield source.problem
        return
    reader = sniff(source) if format == "auto" else _by_name(format)
    if source.database is not None and not isinstance(reader, RuntimeLogFormat):
        text = "is an SQLite database, but not one that AG2's runtime logging wrote"
        if reader is not None:
            text = f"is an SQLite database, not a log in the format {reader.name}"
        yield Problem(Where(source.name), text)
    elif reader is None:
        yield from _unknown(source)
    else:
        yield from _with_repeats(reader.read(source))


def _by_name(format: str) -> Format:
    return next(known for known in FORMATS if known.name == format)


def _unknown(source: Source) -> Iterator[Problem]:
    names = ", ".join(known.name for known in FORMATS)
    told: list[Problem] = []
    for item in islice(source.values(), MAX_SAMPLES):
        if isinstance(item, Value):
            yield from () if item.whole else told[-1:]
            text = f"holds {_sketch(item.value)}, which is in no format known here ({names})"
            yield Problem(Where(source.name), text)
            return
        told.append(item)
    broken = next((problem for problem in told if problem.text.endswith(SKIPPED)), None)
    if not told:
        yield Problem(Where(source.name), "holds no JSON value, only blank lines")
    elif source.head.lstrip()[:1] not in ("{", "["):
        yield Problem(Where(source.name), f"is text in no format known here ({names})")
    elif broken is None:
        yield from told
    else:
        yield from told[: told.index(broken)]
        why = broken.text.removesuffix(SKIPPED)
        yield Problem(broken.where, f"{why}; formats known here: {names}")


def _sketch(value: object) -> str:
    """What a value is, by its keys."""
    if not isinstance(value, dict):
        return fields.kind(value)
    keys = [key[:_KEY_LENGTH] for key in list(value)[:_KEYS_SHOWN]]
    more = ", ..." if len(value) > _KEYS_SHOWN else ""
    return f"an object with {', '.join(keys)}{more}" if keys else "an empty object"


def _with_repeats(items: Iterator[Read]) -> Iterator[Read]:
    """Say where a run's id was used before; both runs count."""
    seen: dict[str, Where] = {}
    for item in items:
        if isinstance(item, RecordedRun):
            first = seen.get(item.id)
            if first is not None:
                yield Problem(
                    item.where, f"a run with this id stands at {first} too; both are read"
                )
            elif len(seen) < _MAX_IDS:
                seen[item.id] = item.where
        yield item
