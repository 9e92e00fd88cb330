"""What the runs of a published annotation share: a problem, an answer, a form of yes and no."""

from __future__ import annotations

from collections.abc import Mapping

from mastwatch.formats import fields
from mastwatch.formats.annotation_form import labels
from mastwatch.formats.recorded import Where
from mastwatch.formats.rows import position_id
from mastwatch.formats.transcript import Header


def instance(
    record: Mapping[str, object], where: Where, framework: str, rows: int, trajectory: str
) -> tuple[Header, dict[str, object]]:
    """Read ``instance_id``, ``problem_statement``, ``other_data`` and ``note``.

    Args:
        record: The run.
        where: Where it stands.
        framework: What made it.
        rows: Of its transcript.
        trajectory: The key under which it stands.

    Returns:
        Its header, and what else it says; the form is under ``labels``, the right answer under
        ``ground_truth``.
    """
    header = Header(
        run_id=fields.identity(record, "instance_id") or position_id(where),
        name=framework,
        framework=framework,
        task=_statement(record.get("problem_statement")),
        rows=rows,
    )
    extra = {key: value for key, value in record.items() if key not in (trajectory, "note")}
    other, note = record.get("other_data"), record.get("note")
    answer = other.get("answer") if isinstance(other, dict) else None
    if answer is not None:
        extra["ground_truth"] = str(answer)
    correct = other.get("correct") if isinstance(other, dict) else None
    if isinstance(correct, bool):
        extra["success"] = correct
    found = labels(note)
    if found:
        extra["labels"] = found
    return header, extra


def _statement(value: object) -> str | None:
    if isinstance(value, list):
        return "\n".join(part for part in value if isinstance(part, str)) or None
    return value if isinstance(value, str) else None
