"""Lines of text to JSON values: JSONL, or one document over many lines; each with its position."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from mastwatch.formats import fields
from mastwatch.formats.broken_json import beginning
from mastwatch.formats.lines import MAX_RECORD_BYTES, Line, Lines
from mastwatch.formats.recorded import Problem, Read, Where

_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BLANK = re.compile(r"\s*")
# A raw line break or NUL inside a text is no reason to lose it.
_DECODER = json.JSONDecoder(strict=False)
SKIPPED = "; skipped"
"""How a problem ends that left nothing of a value."""
_MAX_TOLD = 5  # a long text taken for JSON lines is told in a few lines


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value and where it stands.

    Attributes:
        whole: False for the beginning of one that is broken, which a Problem told before.
    """

    value: object
    where: Where
    whole: bool = True


def read_values(lines: Lines, name: str) -> Iterator[Value | Problem]:
    """All JSON values of a JSONL file, or of documents over many lines, one after the other."""
    ahead: list[Line | Problem] = []
    texts = _first_texts(lines, ahead)
    if _is_document(texts):
        yield from _documents(itertools.chain(ahead, lines), name)
    else:
        yield from _json_lines(itertools.chain(ahead, lines), name)


def _json_lines(lines: Lines, name: str) -> Iterator[Value | Problem]:
    record = broken = last = 0  # broken: lines in a row that gave nothing
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            record += 1
            items = list(parse(line.text, Where(name, line.number, record)))
            if isinstance(items[-1], Value):
                yield from _untold(broken, last, name)
                broken = 0
                yield from items
            else:
                broken, last = broken + 1, line.number
                if broken <= _MAX_TOLD:
                    yield from items
    yield from _untold(broken, last, name)


def _untold(broken: int, last: int, name: str) -> Iterator[Problem]:
    more = broken - _MAX_TOLD
    if more > 0:
        lines = "1 more line" if more == 1 else f"{more:,} more lines up to here"
        yield Problem(Where(name, last), f"{lines} without valid JSON{SKIPPED}")


def _documents(lines: Lines, name: str) -> Iterator[Value | Problem]:
    kept: list[Line] = []
    size = 0
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        kept.append(line)
        size += len(line.text) + 1
        if size > MAX_RECORD_BYTES:
            limit = MAX_RECORD_BYTES // 2**20
            text = f"one JSON document of more than {limit} MiB; write one run per line (JSONL)"
            yield Problem(Where(name), text)
            return
    numbers = [line.number for line in kept]
    text = "\n".join(line.text for line in kept)
    kept.clear()  # a document need not be in memory twice while it is parsed
    at = _after_blank(text, 0)
    for record in itertools.count(1):
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            texts = text.split("\n")
            if record == 1 and any(map(_is_run_line, texts)):
                # A JSONL file whose first lines are broken looks like a broken document.
                yield from _json_lines(map(Line, numbers, texts), name)
            else:
                yield from _broken(text, at, error, Where(name, None, record))
            return
        value = Value(_clean(found, text, at, end), Where(name, None, record))
        at = _after_blank(text, end)
        if at == len(text):
            del text, found
            yield value
            return
        yield value


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def each_run(item: Value) -> Iterator[Value]:
    """The runs of a value: itself, or the elements where it is a list of runs."""
    if not _is_list_of_runs(item.value):
        yield item
    elif isinstance(item.value, list):
        for number, element in enumerate(item.value, 1):
            yield Value(element, replace(item.where, record=number))


def read_each(
    values: Iterator[Value | Problem],
    read: Callable[[Value], Iterator[Read]],
    runs: Callable[[Value], Iterable[Value]] = each_run,
) -> Iterator[Read]:
    """Read all runs of all values; problems pass through.

    Args:
        values: Of a source.
        read: Reads one run.
        runs: Gives the runs of a value.
    """
    for item in values:
        if isinstance(item, Problem):
            yield item
        else:
            for run in runs(item):
                yield from read(run)


def _is_list_of_runs(value: object) -> bool:
    """A list of objects or lists; objects with a role are messages."""
    if not isinstance(value, list):
        return False
    if any(isinstance(item, dict) and "role" in item for item in value):
        return False
    return any(isinstance(item, dict | list) for item in value)


def _first_texts(lines: Lines, ahead: list[Line | Problem]) -> list[str]:
    """Take lines until two with text are known; what was taken is kept in ``ahead``."""
    texts: list[str] = []
    for line in lines:
        ahead.append(line)
        if isinstance(line, Line) and line.text.strip():
            texts.append(line.text)
            if len(texts) == 2 or _is_run_line(line.text):
                break
    return texts


def _is_document(texts: list[str]) -> bool:
    """Whether the first lines begin one JSON document that spans many lines."""
    if len(texts) < 2 or _is_run_line(texts[0]):
        return False
    return texts[0].strip() in ("{", "[") or not _is_run_line(texts[1])


def _is_run_line(text: str) -> bool:
    """Whether a line is a JSON object or list by itself."""
    text = text.strip()
    if len(text) < 2 or text[0] + text[-1] not in ("{}", "[]"):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def parse(text: str, where: Where) -> Iterator[Value | Problem]:
    """Parse one value; of a broken one say what is wrong, and give what can be read of it."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        yield from _broken(text, 0, error, where)
    else:
        yield Value(_clean(value, text, 0, len(text)), where)


def _clean(value: object, text: str, begin: int, end: int) -> object:
    return fields.scrubbed(value) if _LONE_SURROGATE.search(text, begin, end) else value


def _broken(text: str, begin: int, error: Exception, where: Where) -> Iterator[Value | Problem]:
    what = _fault(text, error, where)
    # A document that is all there is in a file needs no number.
    place = replace(where, record=None) if where.line is None and where.record == 1 else where
    read = None
    if isinstance(error, json.JSONDecodeError):
        read = beginning(text[begin:], error.pos - begin)
    if read is None:
        yield Problem(place, f"{what}{SKIPPED}")
        return
    value, length = read
    end = begin + length
    up_to = f"column {end}" if where.line else f"line {text.count(chr(10), 0, end) + 1}"
    yield Problem(place, f"{what}; read up to {up_to}")
    yield Value(_clean(value, text, begin, end), where, whole=False)


def _fault(text: str, error: Exception, where: Where) -> str:
    """What is wrong with a value, in words."""
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if not isinstance(error, json.JSONDecodeError):  # an integer of thousands of digits
        return f"JSON that Python cannot hold ({error})"
    in_escape = error.msg.startswith("Invalid \\u") and '"' not in text[error.pos :]
    in_string = in_escape or error.msg.startswith("Unterminated string")
    if in_string or error.pos >= len(text.rstrip()):
        return "the JSON is cut off in the middle"
    column = "" if where.line else f"line {error.lineno}, "
    return f"not valid JSON at {column}column {error.colno} ({error.msg})"
