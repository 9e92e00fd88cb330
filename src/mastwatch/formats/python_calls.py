"""Calls of tools in the Python code an agent wrote."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable
from typing import TypeAlias

from mastwatch.events import ToolRequest
from mastwatch.formats import fields

Wanted: TypeAlias = str | None
"""The name of the tool a called function stands for; None when it is none."""
MAX_CODE = 200_000
"""Characters of code that are parsed; longer code is searched for names only."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(")


def calls(code: str, wanted: Callable[[str], Wanted]) -> tuple[ToolRequest, ...]:
    """The tools that code calls, in the order in which they stand.

    Args:
        code: Python, as a model wrote it; where it does not parse, names alone are found.
        wanted: Tells the tool from the dotted name of a function.

    >>> calls("print(shop.buy(item='tea', n=2))", lambda name: name if "." in name else None)
    (ToolRequest(name='shop.buy', arguments={'item': 'tea', 'n': 2}, call_id=None),)
    """
    tree = _parsed(code)
    if tree is None:
        names = (wanted(found[1]) for found in _CALLED.finditer(code))
        return tuple(ToolRequest(name=name) for name in names if name)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    found = ((wanted(_dotted(node.func)), node) for node in nodes)
    return tuple(
        ToolRequest(name=name, arguments=fields.arguments(_arguments(node)))
        for name, node in found
        if name
    )


def _parsed(code: str) -> ast.Module | None:
    if len(code) > MAX_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence": the model's, not ours
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


def _arguments(node: ast.Call) -> object:
    """By name where all have one; what is no literal stands as its source."""
    named = {word.arg: _value(word.value) for word in node.keywords if word.arg}
    if node.args or len(named) != len(node.keywords):
        return {"args": [_value(one) for one in node.args], **named}
    return named


def _value(node: ast.expr) -> object:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _source(node)
    # What JSON cannot hold would not come back from a converted record as it was.
    return value if _is_json(value) else _source(node)


def _is_json(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, str):
        return not _SURROGATE.search(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, int)


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."
