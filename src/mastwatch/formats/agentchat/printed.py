"""Tool calls and results as Python prints them in AgentChat's console."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping

from mastwatch.events import ToolRequest
from mastwatch.formats import fields
from mastwatch.formats.agentchat.items import Result

CALLS, RESULTS = "[FunctionCall(", "[FunctionExecutionResult("
_MAX_LENGTH = 1_000_000


def read_calls(text: str) -> tuple[ToolRequest, ...] | None:
    """The printed calls; None when they cannot be read.

    >>> read_calls("[FunctionCall(id='c1', arguments='{}', name='double')]")
    (ToolRequest(name='double', arguments={}, call_id='c1'),)
    """
    found = _objects(text)
    if found is None:
        return None
    return tuple(
        ToolRequest(
            name=str(one.get("name") or ""),
            arguments=fields.arguments(one.get("arguments")),
            call_id=fields.identity(one, "id"),
        )
        for one in found
    )


def read_results(text: str) -> tuple[Result, ...] | None:
    """The printed results; None when they cannot be read."""
    found = _objects(text)
    return None if found is None else tuple(_result(one) for one in found)


def _result(one: Mapping[str, object]) -> Result:
    return Result(
        text=str(one.get("content") or ""),
        tool=str(one.get("name") or ""),
        call_id=fields.identity(one, "call_id"),
        failed=one.get("is_error") is True,
    )


def _objects(text: str) -> list[Mapping[str, object]] | None:
    """What stands in ``[Name(key=value, ...), ...]``; nothing is run."""
    if len(text) > _MAX_LENGTH:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence": the log's, not ours
            tree = ast.parse(text.strip(), mode="eval").body
        return list(_keywords(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _keywords(tree: ast.expr) -> Iterator[Mapping[str, object]]:
    if not isinstance(tree, ast.List):
        raise ValueError("no list")
    for call in tree.elts:
        if not isinstance(call, ast.Call):
            raise ValueError("no object")
        yield {
            word.arg: fields.scrubbed(ast.literal_eval(word.value))
            for word in call.keywords
            if word.arg
        }
