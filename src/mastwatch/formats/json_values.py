"""Lines of text to JSON values: JSONL, or one document over many lines; each with its position."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mastwatch.formats import fields
from mastwatch.formats.lines import MAX_RECORD_BYTES, Line, Lines
from mastwatch.formats.recorded import Problem, Where

_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value and where it stands."""

    value: object
    where: Where


def read_values(lines: Lines, name: str) -> Iterator[Value | Problem]:
    """All JSON values of a JSONL file, or the one value of a JSON document."""
    ahead: list[Line | Problem] = []
    texts = _first_texts(lines, ahead)
    if _is_document(texts):
        yield from _document(itertools.chain(ahead, lines), name)
    else:
        yield from _json_lines(itertools.chain(ahead, lines), name)


def _json_lines(lines: Lines, name: str) -> Iterator[Value | Problem]:
    record = 0
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            record += 1
            yield parse(line.text, Where(name, line.number, record))


def _document(lines: Lines, name: str) -> Iterator[Value | Problem]:
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
    parsed = parse(text, Where(name, None, 1))
    if not isinstance(parsed, Problem):
        del text
        yield parsed
        return
    texts = text.split("\n")
    if any(map(_is_run_line, texts)):
        # A JSONL file whose first lines are broken looks like a broken document.
        yield from _json_lines(map(Line, numbers, texts), name)
    else:
        yield replace(parsed, where=Where(name))


def each_run(item: Value) -> Iterator[Value]:
    """The runs of a value: itself, or the elements where it is a list of runs."""
    if not _is_list_of_runs(item.value):
        yield item
    elif isinstance(item.value, list):
        for number, element in enumerate(item.value, 1):
            yield Value(element, replace(item.where, record=number))


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


def parse(text: str, where: Where) -> Value | Problem:
    """Parse one value; what is wrong with it is a problem."""
    try:
        value = json.loads(text)
        return Value(fields.scrubbed(value) if _LONE_SURROGATE.search(text) else value, where)
    except json.JSONDecodeError as error:
        in_escape = error.msg.startswith("Invalid \\u") and '"' not in text[error.pos :]
        in_string = in_escape or error.msg.startswith("Unterminated string")
        if in_string or error.pos >= len(text.rstrip()):
            return Problem(where, "the JSON is cut off in the middle; skipped")
        column = "" if where.line else f"line {error.lineno}, "
        place = f"{column}column {error.colno}"
        return Problem(where, f"not valid JSON at {place} ({error.msg}); skipped")
    except RecursionError:
        return Problem(where, "JSON nested too deeply; skipped")
    except ValueError as error:  # an integer of thousands of digits
        return Problem(where, f"JSON that Python cannot hold ({error}); skipped")
