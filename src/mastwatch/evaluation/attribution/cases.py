"""Failed runs with the step and agent that people hold responsible.

Two kinds of log: our own record with ``labels.mistake_step`` and ``labels.mistake_agent``, and the
files of Who&When as they are published (``history``, ``mistake_step``, ``mistake_agent``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from mastwatch.attribution.steps import normal_name
from mastwatch.evaluation import datasets
from mastwatch.formats import Problem, Where, fields
from mastwatch.formats.json_values import Value
from mastwatch.judge.replies import index
from mastwatch.store import Trace, TraceRow

GENERATED, CRAFTED = "algorithm_generated", "hand_crafted"
_DEFAULT = "who_and_when"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One labelled run.

    Attributes:
        trace: The run; every row of the log is a row of it, private ones included.
        subset: ``algorithm_generated``, ``hand_crafted``, or the file's name.
        speakers: Who stands in the log by row, as written there.
        step: The decisive step.
        agent: Who took it, as written in the label.
        again: Step and agent in a second annotation of the same run, where there is one.
    """

    trace: Trace
    subset: str
    speakers: tuple[str, ...]
    step: int
    agent: str
    again: tuple[int, str] | None = None


def default_files() -> list[str]:
    """The files of Who&When in the folder ``dev`` of MASTWATCH_TRACES; empty without it."""
    return [f for f in datasets.default_files() if datasets.set_name(f).startswith(_DEFAULT)]


def gather(files: Iterable[str], limit: int | None = None) -> tuple[list[Labelled], list[str]]:
    """Read the labelled runs of files and folders; a run that comes again counts once.

    Args:
        files: To read.
        limit: At most so many of each subset, the first ones; None for all.

    Returns:
        The runs, and what was wrong with the files, one sentence each.
    """
    problems: list[str] = []
    found: dict[str, Labelled] = {}
    counts: dict[str, int] = {}
    for item in (item for file in files for item in load(file)):
        if isinstance(item, Problem):
            problems.append(str(item))
        elif item.trace.run_id in found:
            problems.append(f"{item.trace.run_id} comes again; it counts once")
        elif limit is None or counts.get(item.subset, 0) < limit:
            counts[item.subset] = counts.get(item.subset, 0) + 1
            found[item.trace.run_id] = item
    return list(found.values()), problems


def load(file: str) -> Iterator[Labelled | Problem]:
    """The labelled runs of a file or folder; a record without such a label is passed over."""
    path = Path(file)
    if path.is_dir():
        for inside in sorted(path.rglob("*")):
            if inside.is_file() and inside.name.lower().endswith(datasets.SUFFIXES):
                yield from load(str(inside))
        return
    for item in datasets.values(file):
        if isinstance(item, Problem):
            yield item
        elif isinstance(item.value, dict) and isinstance(item.value.get("history"), list):
            yield from _published(item.value, item)
        elif isinstance(item.value, dict) and isinstance(item.value.get("messages"), list):
            if "mistake_step" in datasets.labels(item.value):
                yield from _recorded(item.value, item)
        else:
            yield Problem(item.where, "is neither a record of a run nor a log of Who&When")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """A log of either kind, brought to one form."""

    run_id: str
    subset: str
    speakers: Sequence[str]
    texts: Sequence[str]
    indices: Sequence[int]
    task: object
    labels: Mapping[str, Any]
    about: Mapping[str, Any]


def _recorded(record: Mapping[str, Any], item: Value) -> Iterator[Labelled | Problem]:
    rows = [_object(row) for row in record["messages"]]
    name = datasets.set_name(item.where.file)
    log = _Log(
        run_id=fields.identity(record, "id") or f"{name}#{item.where.record}",
        subset=str(record.get("raw_format") or name).removeprefix("whowhen_"),
        speakers=[_as_logged(row) for row in rows],
        texts=[_text(row) for row in rows],
        indices=_indices(rows),
        task=record.get("task"),
        labels=datasets.labels(record),
        about=record,
    )
    yield from _labelled(log, item.where)


def _as_logged(row: Mapping[str, Any]) -> str:
    """The speaker as the original log has it, where the record kept it."""
    agent, raw = str(row.get("agent") or ""), row.get("raw_role")
    return raw if isinstance(raw, str) and normal_name(raw) == agent else agent


def _indices(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """The rows' own numbers; their positions where these are not rising."""
    told = [fields.whole(row.get("index")) for row in rows]
    known = [number for number in told if number is not None]
    rising = all(one < then for one, then in pairwise(known))
    return known if rising and len(known) == len(rows) else list(range(len(rows)))


def _published(record: Mapping[str, Any], item: Value) -> Iterator[Labelled | Problem]:
    rows = [_object(row) for row in record["history"]]
    # Generated logs have the speaker under ``name``, hand-crafted ones under ``role``.
    crafted = not any("name" in row for row in rows)
    path = Path(item.where.file)
    many = f"#{item.where.record}" if (item.where.record or 1) > 1 else ""
    log = _Log(
        run_id=f"{path.parent.name}/{path.stem}{many}",
        subset=CRAFTED if crafted else GENERATED,
        speakers=[str((not crafted and row.get("name")) or row.get("role") or "") for row in rows],
        texts=[_text(row) for row in rows],
        indices=range(len(rows)),
        task=record.get("question"),
        labels=record,
        about=record,
    )
    yield from _labelled(log, item.where)


def _labelled(log: _Log, where: Where) -> Iterator[Labelled | Problem]:
    step, agent = index(log.labels.get("mistake_step")), log.labels.get("mistake_agent")
    if step is None or not isinstance(agent, str) or not agent:
        yield Problem(where, "its label names no step and agent that can be read; skipped")
        return
    if step not in log.indices:  # it stays: shares are of all runs
        yield Problem(where, f"its label names row {step}, which it lacks: no answer can be right")
    expected = log.about.get("ground_truth")
    trace = Trace(
        run_id=log.run_id,
        rows=tuple(
            TraceRow(index=number, agent=normal_name(speaker), text=text)
            for number, speaker, text in zip(log.indices, log.speakers, log.texts, strict=True)
        ),
        framework=str(log.about.get("framework") or ""),
        task=log.task if isinstance(log.task, str) else None,
        success=False,
        expected=None if expected in (None, "") else str(expected),
    )
    yield Labelled(
        trace=trace,
        subset=log.subset,
        speakers=tuple(log.speakers),
        step=step,
        agent=agent,
        again=_again(log.labels.get("agentrx")),
    )


def _again(second: object) -> tuple[int, str] | None:
    """Step and agent of AgentRx's root cause."""
    about = _object(second)
    step, agent = index(about.get("root_cause_step")), about.get("root_cause_agent")
    return (step, agent) if step is not None and isinstance(agent, str) else None


def _object(value: object) -> Mapping[str, Any]:
    """What is no object counts as an empty one: dropped rows would move all later numbers."""
    return value if isinstance(value, dict) else {}


def _text(row: Mapping[str, Any]) -> str:
    try:
        return fields.text(row.get("content")) or ""
    except fields.Malformed:
        return ""
