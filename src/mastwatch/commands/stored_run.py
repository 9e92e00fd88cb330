"""How a stored run looks in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastwatch.store import Attribution, Report, Store, Trace, TraceRow

_TEXT_CHARS = 2_000
_LEAST_CHARS = 6
"""Of the beginning of a run's id that may stand for it."""


def whole_id(store: Store, name: str) -> str:
    """The id of the one run whose id begins so; the name as it is where there is none, or several.

    Args:
        store: Of the runs.
        name: An id, or at least six characters of its beginning.
    """
    if len(name) < _LEAST_CHARS:
        return name
    ids = [run_id for run_id in store.runs() if run_id.startswith(name)]
    return ids[0] if len(ids) == 1 else name


def lines(trace: Trace, report: Report | None, attribution: Attribution | None) -> Iterator[str]:
    """A run for people: what it was, its rows and what was said of it; safe for a terminal."""
    from mastwatch.commands.show import printable

    said = (*_verdicts(trace, report), *_attribution(attribution))
    for line in (*_head(trace), *_rows(trace), *said):
        yield printable(line)


def _head(trace: Trace) -> Iterator[str]:
    yield f"run {trace.run_id}"
    for name in ("name", "framework", "release", "environment", "conversation_id", "user_id"):
        if value := getattr(trace, name):
            yield f"  {name.replace('_', ' ')}: {value}"
    if trace.task:
        yield f"  task: {_short(trace.task)}"
    reason = f" ({trace.reason})" if trace.reason else ""
    yield f"  outcome: {trace.outcome}{reason}"
    for name in ("success", "score", "expected", "comment"):
        if (value := getattr(trace, name)) is not None:
            yield f"  {name}: {value}"


def _rows(trace: Trace) -> Iterator[str]:
    for row in trace.rows:
        yield f"#{row.index} {row.agent} {row.kind}{_about(row)}"
        if row.text:
            yield from (f"    {line}" for line in _short(row.text).splitlines())
        for call in row.tool_calls:
            yield f"    {call.name}({_short(str(call.arguments))})"
    if trace.left_out:
        yield f"({trace.left_out} more rows were beyond the recorder's bound)"


def _about(row: TraceRow) -> str:
    tool = f" {row.tool}" if row.tool else ""
    error = f" error {row.error}" if row.error else ""
    to = f" -> {', '.join(row.recipients)}" if row.recipients else ""
    return tool + error + to


def _verdicts(trace: Trace, report: Report | None) -> Iterator[str]:
    for finding in trace.findings:
        yield (
            f"{finding.severity.label} {finding.mode} {finding.slug} at #{finding.message_index}: "
            f"{finding.explanation}"
        )
    if report is None:
        return
    for verdict in report.present:
        where = ", ".join(f"#{item.message_index}" for item in verdict.evidence)
        yield f"judge: {verdict.mode} {verdict.slug} at {where}: {verdict.why}"
    if not report.present:
        yield "judge: no failure mode"


def _attribution(found: Attribution | None) -> Iterator[str]:
    from mastwatch.reports import wording

    if found is None:
        return
    yield f"attribution: {wording.decision(found)}"
    if found.step is not None:
        yield f"    {found.reason}"
    if found.counterfactual:
        yield f"    instead: {found.counterfactual}"


def _short(text: str) -> str:
    if len(text) <= _TEXT_CHARS:
        return text
    return f"{text[:_TEXT_CHARS]} ... ({len(text) - _TEXT_CHARS} more characters; --json has all)"
