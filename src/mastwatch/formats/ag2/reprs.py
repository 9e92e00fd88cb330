"""Messages of an AG2 chat as Python prints them, one after the other, ``--format ag2-repr``."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from mastwatch.formats import fields
from mastwatch.formats.ag2.dialogue import FRAMEWORK, Said, rows
from mastwatch.formats.ag2.dump import read_messages
from mastwatch.formats.assembly import recorded_run
from mastwatch.formats.recorded import Problem, Read, Where
from mastwatch.formats.rows import RowProblems, position_id
from mastwatch.formats.source import Source
from mastwatch.formats.transcript import Header

_BEGINS = re.compile(r"\{'(?:content|role|name)': ")
_TOKEN = re.compile(
    r"'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|[{}\[\]()'\"]", re.DOTALL
)
_MAX_DEPTH = 32
_MAX_TOLD = 5


class ReprStreamFormat:
    """Reader of printed message objects; a file is one run."""

    name = "ag2-repr"

    def sniff(self, source: Source) -> bool:
        """Begins with a printed message."""
        return _BEGINS.match(source.head.lstrip()) is not None

    def read(self, source: Source) -> Iterator[Read]:
        """Read the file as one run."""
        where = Where(source.name, None, 1)
        problems = RowProblems(where)
        told: list[Said | None] = []
        lost = 0
        for line in source.lines():
            if isinstance(line, Problem):
                yield line
                continue
            for column, printed in _objects(line.text):
                value = _value(printed)
                if value is None:
                    lost += 1
                    if lost <= _MAX_TOLD:
                        text = f"column {column}: no whole message stands here; left out"
                        yield Problem(Where(source.name, line.number), text)
                else:
                    told.extend(read_messages([value], problems))
        if lost > _MAX_TOLD:
            yield Problem(where, f"{lost - _MAX_TOLD:,} more places without a whole message")
        if not any(told):
            yield from problems.found()
            yield Problem(Where(source.name), "holds no printed message")
            return
        header = Header(
            run_id=position_id(where),
            name=FRAMEWORK,
            framework=FRAMEWORK,
            task=next((one.text for one in told if one), None),
            rows=len(told),
        )
        yield from recorded_run(where, self.name, header, list(rows(told)), problems)


def _objects(line: str) -> Iterator[tuple[int, str]]:
    """The printed objects of a line, with the column each begins at; broken ones as they stand."""
    at = 0
    while at < len(line):
        found = _BEGINS.search(line, at)
        lost = line[at : found.start() if found else len(line)]
        if lost.strip():
            yield at + 1 + len(lost) - len(lost.lstrip()), lost
        if found is None:
            return
        begin = found.start()
        at = _end(line, begin)
        yield begin + 1, line[begin:at]


def _end(line: str, begin: int) -> int:
    """Where the object ends that begins here; where the next one begins, if it does not."""
    depth = 0
    for token in _TOKEN.finditer(line, begin):
        sign = token[0]
        if sign in "'\"":  # a quote without its fellow
            break
        depth += (sign in "{[(") - (sign in "}])")
        if depth > _MAX_DEPTH:
            break
        if depth == 0 and sign in "}])":
            return token.end()
    following = _BEGINS.search(line, begin + 1)
    return following.start() if following else len(line)


def _value(text: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence": the log's, not ours
            value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return _scrubbed(value) if isinstance(value, dict) else None


def _scrubbed(value: object) -> object:
    """The value as JSON could have held it, without halves of surrogate pairs."""
    if isinstance(value, str):
        return fields.scrub(value)
    if isinstance(value, list | tuple):
        return [_scrubbed(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _scrubbed(item) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)
