"""MA-ToT (reasoners that search trees of thoughts, and a verifier), ``--format ma-tot``.

One object per run, its ``trajectory`` the lines of the program's output: what each reasoner
printed, round by round, then what the verifier said of each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mastwatch.formats import fields
from mastwatch.formats.annotated import instance
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.json_values import Value, each_run, read_each
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Row

_REASONER = re.compile(r"\*{5} (?P<name>Reasoner \d+) output: \*{5}\s*$")
_VERDICT = re.compile(r"(?P<name>Reasoner \d+): Answer: .*, Verified: (?:True|False)\s*$")
_RULE = re.compile(r"\*{20,}\s*$")
_ROUND = re.compile(r"\s*#{5,} Round \d+ #{5,}\s*$")
_VERIFIER = "Verifier"
_LINES = "trajectory"


class MaTotFormat:
    """Reader of MA-ToT runs."""

    name = "ma-tot"

    def sniff(self, source: Source) -> bool:
        """Lines under ``trajectory``, one of them a reasoner's heading."""
        return any(
            _REASONER.match(line)
            for value in source.samples()
            for run in each_run(Value(value, Where("")))
            for line in _lines(run.value) or ()
            if isinstance(line, str)
        )

    def read(self, source: Source) -> Iterator[Read]:
        """Read all runs."""
        yield from read_each(source.values(), _read)


def _lines(value: object) -> list[object] | None:
    lines = value.get(_LINES) if isinstance(value, dict) else None
    return lines if isinstance(lines, list) else None


def _read(run: Value) -> Iterator[Read]:
    lines = _lines(run.value)
    if lines is None:
        yield Problem(run.where, f"has no list of lines under {_LINES!r}; skipped")
        return
    assert isinstance(run.value, dict)
    record: Mapping[str, object] = run.value
    problems = RowProblems(run.where)
    rows = _rows(lines, problems)
    if not rows:
        yield from problems.found()
        yield Problem(run.where, "no reasoner has put anything out; skipped")
        return
    header, extra = instance(record, run.where, "MA-ToT", len(rows), _LINES)
    yield from recorded_run(run.where, MaTotFormat.name, header, rows, problems, extra=extra)


def _rows(lines: list[object], problems: RowProblems) -> list[Row | None]:
    blocks: list[tuple[str, list[str]]] = []
    within = False
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            problems.add(None, f"line {number} is {fields.kind(line)}, not text; left out")
        elif _RULE.match(line) or _ROUND.match(line):
            within = False
        elif found := _REASONER.match(line):
            blocks.append((found["name"], []))
            within = True
        elif _VERDICT.match(line):
            blocks.append((_VERIFIER, [line]))
            within = True
        elif within:
            blocks[-1][1].append(line)
    return [
        Row(index=index, agent=name, role="assistant", text="\n".join(said).strip("\n"))
        for index, (name, said) in enumerate(blocks)
    ]
