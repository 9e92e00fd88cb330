"""From checked rows to a run: what every reader of a transcript does last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mastwatch.events import ModelCalled
from mastwatch.formats.recorded import Read, RecordedRun, Thought, Where
from mastwatch.formats.rows import RowProblems, all_broken
from mastwatch.formats.transcript import Header, Row, events


def recorded_run(
    where: Where,
    format_name: str,
    header: Header,
    rows: Sequence[Row | None],
    problems: RowProblems,
    *,
    extra: Mapping[str, object] | None = None,
    thoughts: Sequence[Thought] = (),
    model_calls: Mapping[int, Sequence[ModelCalled]] | None = None,
) -> Iterator[Read]:
    """Tell what is wrong with a run, and then the run, unless nothing of it is left.

    Args:
        where: Where it stands.
        format_name: As in ``--format``.
        header: What is known of it as a whole.
        rows: As ``events`` takes them.
        problems: What was noted on the way.
        extra: What else the log says.
        thoughts: Its private rows.
        model_calls: As ``events`` takes them.
    """
    broken = all_broken(rows, problems)
    yield from problems.found()
    if broken:
        return
    yield RecordedRun(
        id=header.run_id,
        where=where,
        format=format_name,
        framework=header.framework,
        events=tuple(events(header, rows, model_calls)),
        messages=header.rows,
        extra=extra or {},
        thoughts=tuple(thoughts),
    )
