"""Failed runs with the step and agent held responsible, ``--format who-and-when``.

An object with ``history`` (or ``conversation``), ``question``, ``ground_truth`` and the labels
``mistake_agent``, ``mistake_step``, ``mistake_reason``. Generated logs have the speaker under
``name``, hand-crafted ones under ``role``; every entry keeps its place as its index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mastwatch.events import MessageKind
from mastwatch.formats import fields
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.code_blocks import execution
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.recorded import Problem, Read, Thought, Where
from mastwatch.formats.rows import RowProblems, position_id, read_rows
from mastwatch.formats.source import Source
from mastwatch.formats.speakers import THOUGHT, is_execution, runs_code, speaker
from mastwatch.formats.transcript import PERSONS, Header, Row

_HISTORIES = ("history", "conversation")
_LABELS = ("mistake_agent", "mistake_step", "mistake_reason")
_SUCCESS = ("is_correct", "is_corrected", "success")
_NAMES = ("name", "role", "agent", "speaker")


class WhoAndWhenFormat:
    """Reader of Who&When files and of traces made like them."""

    name = "who-and-when"

    def sniff(self, source: Source) -> bool:
        """Objects with a ``history`` or ``conversation`` of entries that have content."""
        for value in source.samples():
            for run in each_run(Value(value, Where(""))):
                entries = _history(run.value) or ()
                if any(isinstance(one, dict) and "content" in one for one in entries):
                    return True
        return False

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(source.values(), _read)


def _history(value: object) -> list[object] | None:
    if not isinstance(value, dict):
        return None
    return next((value[key] for key in _HISTORIES if isinstance(value.get(key), list)), None)


def _read(run: Value) -> Iterator[Read]:
    history = _history(run.value)
    if not history:
        yield Problem(run.where, "has no entries under 'history' or 'conversation'; skipped")
        return
    assert isinstance(run.value, dict)
    record: Mapping[str, object] = run.value
    problems = RowProblems(run.where)
    reader = _Entries(history)
    rows = read_rows(history, reader.row, problems)
    yield from recorded_run(
        run.where,
        WhoAndWhenFormat.name,
        _header(record, run.where, reader, len(history)),
        _with_calls(rows),
        problems,
        extra=_extra(record),
        thoughts=reader.thoughts,
    )


def _header(record: Mapping[str, object], where: Where, reader: _Entries, rows: int) -> Header:
    framework = ""
    if any(key in record for key in (*_LABELS, "question_ID")):
        framework = "CaptainAgent(AG2)" if reader.key == "name" else "Magentic-One"
    question, prompts = record.get("question"), record.get("system_prompt")
    told = prompts if isinstance(prompts, dict) else {}
    return Header(
        run_id=fields.identity(record, "id") or position_id(where),
        name=framework,
        framework=framework,
        task=question if isinstance(question, str) else reader.task,
        prompts={agent: text for agent, text in told.items() if isinstance(text, str)},
        rows=rows,
    )


def _extra(record: Mapping[str, object]) -> dict[str, object]:
    """What is not the run itself: for evaluation, never for detectors."""
    left_out = (*_HISTORIES, *_LABELS, "question", "system_prompt")
    extra = {key: value for key, value in record.items() if key not in left_out}
    labels = {key: record[key] for key in _LABELS if key in record}
    step = labels.get("mistake_step")
    if isinstance(step, str) and step.strip().isdecimal():
        labels["mistake_step"] = int(step)
    if labels:
        extra["labels"] = labels
    success = next((record[key] for key in _SUCCESS if isinstance(record.get(key), bool)), None)
    if success is not None or labels:
        extra["success"] = bool(success)  # only failed runs have somebody to blame
    if record.get("ground_truth") is not None:
        extra["ground_truth"] = str(record["ground_truth"])
    return extra


class _Entries:
    """Reads the entries of one history.

    Attributes:
        key: Where the speaker's name stands.
        thoughts: The private ones.
        task: What the first person said.
    """

    def __init__(self, history: list[object]) -> None:
        named = [key for key in _NAMES if any(isinstance(e, dict) and key in e for e in history)]
        self.key = named[0] if named else "role"
        self.thoughts: list[Thought] = []
        self.task: str | None = None
        self._begun = False

    def row(self, position: int, entry: Mapping[str, object]) -> Row | None:
        """Check one entry; None for a private one.

        Raises:
            Malformed: It cannot be used.
        """
        key = self.key if self.key in entry else next((k for k in _NAMES if k in entry), self.key)
        who = speaker(fields.string(entry, key))
        text = fields.text(entry.get("content"))
        if who.aside == THOUGHT:
            self.thoughts.append(Thought(position, who.name, text))
            return None
        person = who.name.casefold() in PERSONS
        kind = self._kind(who.name, bool(who.aside), person, text or "")
        return Row(
            index=position,
            agent="user" if who.name == "human" else who.name,
            role="user" if person else "assistant",
            text=text,
            kind=kind,
            recipients=who.recipients,
        )

    def _kind(self, name: str, aside: bool, person: bool, text: str) -> MessageKind:
        first, self._begun = not self._begun, True
        if person and first:
            self.task = text
        if runs_code(name):
            return "code" if is_execution(text) else "auto_reply"
        if first and (person or self.key == "name"):
            return "opener"  # a generated log begins with the manager's task, under another name
        if person:
            return "human"
        return "system" if aside else "reply"


def _with_calls(rows: list[Row | None]) -> list[Row | None]:
    """Whose code was run asked for that: the last message before, private ones passed over."""
    told = list(rows)
    asked: int | None = None
    for at, row in enumerate(told):
        if row is None:
            continue
        before = told[asked] if asked is not None else None
        if row.kind == "code" and before is not None and asked is not None:
            told[asked] = replace(before, calls=execution(before.text or ""))
        asked = at
    return told
