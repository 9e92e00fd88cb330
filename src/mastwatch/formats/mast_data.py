"""MAST-Data, once called MAD, ``--format mast-data``: logs of many systems with labels.

An object per run with ``mas_name``, ``llm_name``, ``benchmark_name``, ``trace_id``, ``trace`` (the
log's text, or an object with it under ``trajectory``) and ``mast_annotation``. The log is read as
what it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mastwatch.formats import fields
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.nested import Envelope, Sniff, read_nested
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import position_id
from mastwatch.formats.source import Source

_ID = ("mas_name", "llm_name", "benchmark_name", "trace_id")
_TRACE, _LABELS = "trace", ("mast_annotation", "annotations")
_YES = (1, True, "1", "yes", "true", "True", "Yes")


class MastDataFormat:
    """Reader of MAST-Data records.

    Args:
        sniff: Tells the format of a log.
    """

    name = "mast-data"

    def __init__(self, sniff: Sniff) -> None:
        self._sniff = sniff

    def sniff(self, source: Source) -> bool:
        """Objects that name a system and hold a trace."""
        return any(
            isinstance(run.value, dict) and "mas_name" in run.value and _log(run.value) is not None
            for value in source.samples()
            for run in each_run(Value(value, Where("")))
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(source.values(), self._run)

    def _run(self, run: Value) -> Iterator[Read]:
        log = _log(run.value) if isinstance(run.value, dict) else None
        if not log:
            yield Problem(run.where, f"has no log under {_TRACE!r}; skipped")
            return
        assert isinstance(run.value, dict)
        record: Mapping[str, object] = run.value
        parts = [fields.identity(record, key) for key in _ID]
        task = record.get("task")
        envelope = Envelope(
            id=":".join(filter(None, parts)) or position_id(run.where),
            where=run.where,
            format=self.name,
            framework=fields.identity(record, "mas_name") or "",
            task=task if isinstance(task, str) else None,
            extra=_extra(record),
        )
        yield from read_nested(log, envelope, self._sniff)


def _log(record: Mapping[str, object]) -> object:
    trace = record.get(_TRACE)
    if isinstance(trace, dict):
        trace = trace.get("trajectory")
    return trace if isinstance(trace, str | list | dict) else None


def _extra(record: Mapping[str, object]) -> dict[str, object]:
    extra = {key: value for key, value in record.items() if key not in (_TRACE, *_LABELS)}
    marks = record.get("mast_annotation")
    if isinstance(marks, dict):
        extra["labels"] = {"fm": {code: int(mark in _YES) for code, mark in marks.items()}}
    elif "annotations" in record:
        extra["labels"] = {"annotations": record["annotations"]}
    return extra
