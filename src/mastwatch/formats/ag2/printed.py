"""The body of a printed AG2 message: text, then calls of tools or their results in frames."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mastwatch.events import ToolRequest
from mastwatch.formats import fields
from mastwatch.formats.ag2.dialogue import Said

RULE = re.compile(r"-{80}\s*$")
_CALL = re.compile(
    r"\*{5} Suggested (?:tool call(?: \((?P<id>[^()]*)\))?|function [cC]all): (?P<name>.*?) \*{5}$"
)
_RESULT = re.compile(
    r"\*{5} Response from calling (?P<sort>tool|function) \(?(?P<id>.*?)\)? \*{5}$"
)
_OLD_RESULT = re.compile(r'\*{5} Response from calling function "(?P<name>.*)" \*{5}$')
_CLOSES = re.compile(r"\*{10,}$")
_NO_ID = "No "  # "No tool call id found", "No id found"
_ARGUMENTS = "Arguments:"
_NO_ARGUMENTS = "(No arguments found)"


def parts(body: Sequence[str]) -> list[Said]:
    """A message as one utterance, or as the results of tools that it carries.

    >>> [one.text for one in parts(["", "Hello.", ""])]
    ['Hello.']
    >>> call = ["***** Suggested tool call (c1): add *****", "Arguments: ", '{"a": 1}', "*" * 41]
    >>> parts(call)[0].calls
    (ToolRequest(name='add', arguments={'a': 1}, call_id='c1'),)
    """
    text: list[str] = []
    calls: list[ToolRequest] = []
    results: list[Said] = []
    position = 0
    while position < len(body):
        line = body[position]
        call, result = _CALL.match(line), _OLD_RESULT.match(line) or _RESULT.match(line)
        if call is None and result is None:
            text.append(line)
            position += 1
            continue
        inside, position = _frame(body, position)
        if call is not None:
            calls.append(_call(call, inside))
        elif result is not None:
            results.append(_result(result, inside))
    if results:
        return results
    return [Said(agent="", text="\n".join(text).strip("\n"), calls=tuple(calls))]


def _frame(body: Sequence[str], start: int) -> tuple[list[str], int]:
    """The lines of a frame, and where the next line after it stands.

    A frame closes with as many asterisks as its heading is long; results may hold shorter rows.
    """
    width = len(body[start])
    for number in range(start + 1, len(body)):
        if _CLOSES.match(body[number]) and len(body[number]) == width:
            return list(body[start + 1 : number]), number + 1
    return list(body[start + 1 :]), len(body)


def _call(found: re.Match[str], inside: list[str]) -> ToolRequest:
    told = "\n".join(inside).strip()
    told = told.removeprefix(_ARGUMENTS).strip()
    arguments = None if told == _NO_ARGUMENTS else fields.arguments(told)
    return ToolRequest(name=found["name"], arguments=arguments, call_id=_known(found["id"]))


def _result(found: re.Match[str], inside: list[str]) -> Said:
    text = "\n".join(line for line in inside).strip("\n")
    if found.re is _OLD_RESULT:
        return Said(agent="", text=text, result=True, tool=found["name"])
    if found["sort"] == "function":
        return Said(agent="", text=text, result=True, tool=_known(found["id"]) or "")
    return Said(agent="", text=text, result=True, call_id=_known(found["id"]))


def _known(told: str | None) -> str | None:
    return None if not told or told.startswith(_NO_ID) else told
