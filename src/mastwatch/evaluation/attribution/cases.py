"""Failed runs with the step and agent that people hold responsible.

Two kinds of file: our own record with ``labels.mistake_step`` and ``labels.mistake_agent``, and the
files of Who&When as they are published (``history``, ``mistake_step``, ``mistake_agent``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mastwatch.attribution.steps import normal_name
from mastwatch.evaluation import datasets
from mastwatch.formats import Problem, Where
from mastwatch.store import Trace, TraceRow

GENERATED, CRAFTED = "algorithm_generated", "hand_crafted"


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


def load(file: str) -> Iterator[Labelled | Problem]:
    """The labelled runs of a file or folder; a run without such a label is passed over."""
    path = Path(file)
    if path.is_dir():
        for name in sorted(path.rglob("*")):
            if name.name.lower().endswith(datasets.SUFFIXES):
                yield from load(str(name))
        return
    published = _published(path)
    if published is not None:
        yield published
        return
    for item in datasets.load(file):
        if isinstance(item, Problem):
            yield item
        elif "mistake_step" in datasets.labels(item.record):
            found = _recorded(item)
            where = Where(file)
            yield found or Problem(where, f"run {item.record.get('id')}: its label is no row of it")


def _recorded(case: datasets.Case) -> Labelled | None:
    record, labels = case.record, datasets.labels(case.record)
    rows = [row for row in record["messages"] if isinstance(row, dict)]
    told = [_suffixed(row) for row in rows]
    subset = str(record.get("raw_format") or case.set).removeprefix("whowhen_")
    agentrx = labels.get("agentrx") or {}
    return _labelled(
        str(record.get("id")),
        subset,
        told,
        [str(row.get("content") or "") for row in rows],
        [row.get("index", position) for position, row in enumerate(rows)],
        record,
        labels,
        (agentrx.get("root_cause_step"), agentrx.get("root_cause_agent")),
    )


def _suffixed(row: Mapping[str, Any]) -> str:
    """The speaker as the original log has it, where the record kept it."""
    raw = row.get("raw_role")
    agent = str(row.get("agent") or "")
    return raw if isinstance(raw, str) and normal_name(raw) == agent else agent


def _published(path: Path) -> Labelled | None:
    """A file of Who&When; None for any other."""
    if path.suffix != ".json":
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # the reader of records will say what is wrong
    history = record.get("history") if isinstance(record, dict) else None
    if not isinstance(history, list) or "mistake_step" not in record:
        return None
    rows = [row for row in history if isinstance(row, dict)]
    # Generated logs have the speaker under ``name``, hand-crafted ones under ``role``.
    crafted = not any("name" in row for row in rows)
    told = [str(row.get("role" if crafted else "name") or row.get("role") or "") for row in rows]
    return _labelled(
        f"{path.parent.name}/{path.stem}",
        CRAFTED if crafted else GENERATED,
        told,
        [str(row.get("content") or "") for row in rows],
        range(len(rows)),
        {**record, "task": record.get("question")},
        record,
        (None, None),
    )


def _labelled(
    run_id: str,
    subset: str,
    speakers: Sequence[str],
    texts: Sequence[str],
    indices: Sequence[int],
    about: Mapping[str, Any],
    labels: Mapping[str, Any],
    again: tuple[Any, Any],
) -> Labelled | None:
    try:
        step = int(labels["mistake_step"])
    except (KeyError, TypeError, ValueError):
        return None
    if step not in indices or not isinstance(labels.get("mistake_agent"), str):
        return None
    rows = tuple(
        TraceRow(index=index, agent=normal_name(speaker), text=text)
        for index, speaker, text in zip(indices, speakers, texts, strict=True)
    )
    task, expected = about.get("task"), about.get("ground_truth")
    trace = Trace(
        run_id=run_id,
        rows=rows,
        framework=str(about.get("framework") or ""),
        task=task if isinstance(task, str) else None,
        success=False,
        expected=str(expected) if expected not in (None, "") else None,
    )
    second = (int(again[0]), str(again[1])) if isinstance(again[0], int) else None
    return Labelled(
        trace=trace,
        subset=subset,
        speakers=tuple(speakers),
        step=step,
        agent=labels["mistake_agent"],
        again=second,
    )
