"""The readable beginning of a JSON value that is broken or cut off."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

# A string, also one that goes on to the end; a bracket; a comma.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_HALF_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")


@dataclass(slots=True)
class _Open:
    """A bracket that is open, and where its last whole element ends."""

    bracket: str
    elements: int = 0
    end: int = 0


def beginning(text: str, broken: int) -> tuple[object, int] | None:
    """Read the beginning of a broken value.

    A list that was being read ends with its last whole element; of several, one in the other, it is
    the one with the most elements: the messages of a run, not the tool calls of a message. What is
    open around it is closed. Where no list was being read, a text that is cut off counts as far as
    it goes: some records hold their log as one text.

    Args:
        text: The value.
        broken: How many characters of it are sound.

    Returns:
        The value and how many characters of it were read; None when there is nothing to read.

    >>> text = '{"task": "Add.", "messages": [{"role": "user"}, {"role": "assist'
    >>> beginning(text, len(text))
    ({'task': 'Add.', 'messages': [{'role': 'user'}]}, 46)
    """
    stack = _unclosed(text[:broken])
    lists = [n for n, each in enumerate(stack) if each.bracket == "["]
    full = [n for n in lists if stack[n].elements]
    if full:
        chosen = max(full, key=lambda n: stack[n].elements)
        end = stack[chosen].end
        return _closed(text[:end], stack[: chosen + 1], end)
    if not lists and '"' not in text[broken + 1 :]:
        return _closed(_HALF_ESCAPE.sub(r"\1", text) + '"', stack, len(text))
    return None


def _closed(text: str, stack: list[_Open], end: int) -> tuple[object, int] | None:
    closing = "".join("]" if each.bracket == "[" else "}" for each in reversed(stack))
    try:
        return json.loads(text + closing, strict=False), end
    except (ValueError, RecursionError):
        return None


def _unclosed(text: str) -> list[_Open]:
    """The brackets that are open at the end, from the outermost."""
    stack: list[_Open] = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "[{":
            stack.append(_Open(token))
        elif token in "]}" and stack:
            stack.pop()
            if stack and stack[-1].bracket == "[":  # an object is whole before its comma stands
                stack[-1].elements += 1
                stack[-1].end = found.end()
        elif token == "," and stack and stack[-1].end <= found.start() and stack[-1].bracket == "[":
            if text[stack[-1].end : found.start()].strip():
                stack[-1].elements += 1
            stack[-1].end = found.start()
    return stack
