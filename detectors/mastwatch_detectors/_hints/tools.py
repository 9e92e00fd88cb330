"""What a tool is for, told by its name."""

from __future__ import annotations

import re
from typing import Literal

Purpose = Literal["check", "run", "edit", "read", "other"]
"""``check`` verifies work, ``run`` executes anything, ``edit`` changes files, ``read`` only looks.
"""

NAMES_KEPT = 128
"""Tool names whose purpose is remembered per conversation."""

# Parts of tools' names.
_CHECK = """
    test tests pytest unittest doctest verify verifier verification validate validation lint
    typecheck mypy compile
"""
_RUN = """
    run execute exec executor bash shell sh terminal cmd command python repl interpreter subprocess
    notebook
"""
_EDIT = "edit editor write patch replace insert rewrite refactor"
_READ = """
    get list read search find fetch show view query open describe lookup look browse visit check
    count load think calculate
"""

_CHECKS, _RUNS = frozenset(_CHECK.split()), frozenset(_RUN.split())
_EDITS, _READS = frozenset(_EDIT.split()), frozenset(_READ.split())
_PARTS = re.compile(r"[^a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def purpose(tool: str) -> Purpose:
    """Judge a tool by the words of its name.

    >>> [purpose(name) for name in ("run_pytest", "execute_code", "editFile", "get_order", "pay")]
    ['check', 'run', 'edit', 'read', 'other']
    """
    parts = [part for part in _PARTS.split(_CAMEL.sub("_", tool).lower()) if part]
    words = set(parts)
    if words & _CHECKS:
        return "check"
    if parts and parts[0] in _READS:
        return "read"
    if words & _RUNS:
        return "run"
    return "edit" if words & _EDITS else "other"


class Purposes:
    """The purposes of a conversation's tools, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[str, Purpose] = {}

    def of(self, tool: str) -> Purpose:
        """The purpose of a tool."""
        known = self._known.get(tool)
        if known is None:
            known = purpose(tool)
            if len(self._known) < NAMES_KEPT:
                self._known[tool] = known
        return known
