"""AdaMAST's traces, ``--format adamast``.

Its canonical record has ``problem_id``, ``task``, ``raw_trajectory`` (text) and ``metadata``; what
people hand it has ``trace_id``, ``task``, ``messages`` or a ``trajectory``, ``outcome``. A JSON
object, a list, an object with ``traces``, or one per line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mastwatch.formats import fields
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.nested import Envelope, Sniff, read_nested
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import position_id
from mastwatch.formats.source import Source

_IDS = ("problem_id", "trace_id", "id")
_LOGS = ("raw_trajectory", "messages", "trajectory", "trace")
_SUCCESS = {"success": True, "failure": False}


class AdaMastFormat:
    """Reader of AdaMAST traces.

    Args:
        sniff: Tells the format of a trajectory.
    """

    name = "adamast"

    def __init__(self, sniff: Sniff) -> None:
        self._sniff = sniff

    def sniff(self, source: Source) -> bool:
        """Objects with a raw trajectory, or a task, an id and messages without agents."""
        return any(_looks_like(run.value) for value in source.samples() for run in _runs(value))

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(source.values(), self._run, lambda item: _runs(item.value, item.where))

    def _run(self, run: Value) -> Iterator[Read]:
        record: Mapping[str, object] = run.value if isinstance(run.value, dict) else {}
        log = next((record[key] for key in _LOGS if record.get(key)), None)
        if not isinstance(log, str | list | dict):
            yield Problem(run.where, f"has nothing under {', '.join(map(repr, _LOGS))}; skipped")
            return
        about = record.get("metadata")
        metadata: Mapping[str, object] = about if isinstance(about, dict) else {}
        task = record.get("task")
        ids = (fields.identity(record, key) for key in _IDS)
        envelope = Envelope(
            id=next(filter(None, ids), None) or position_id(run.where),
            where=run.where,
            format=self.name,
            framework=str(metadata.get("mas_name") or metadata.get("system") or ""),
            task=task if isinstance(task, str) and task else None,
            extra=_extra(record),
        )
        yield from read_nested(log, envelope, self._sniff)


def _runs(value: object, where: Where | None = None) -> Iterator[Value]:
    if isinstance(value, dict) and isinstance(value.get("traces"), list):
        value = value["traces"]
    yield from each_run(Value(value, where or Where("")))


def _looks_like(value: object) -> bool:
    if not isinstance(value, dict) or "raw_trajectory" in value:
        return isinstance(value, dict)
    messages = value.get("messages")
    if "task" not in value or "trace_id" not in value or not isinstance(messages, list):
        return False
    return bool(messages) and not any(isinstance(one, dict) and "agent" in one for one in messages)


def _extra(record: Mapping[str, object]) -> dict[str, object]:
    extra = {key: value for key, value in record.items() if key not in _LOGS}
    outcome = record.get("outcome")
    if isinstance(outcome, dict) and outcome.get("status") in _SUCCESS:
        extra["success"] = _SUCCESS[str(outcome["status"])]
    return extra
