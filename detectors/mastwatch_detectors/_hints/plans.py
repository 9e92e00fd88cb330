"""Plans that agents write down: checklists, and the arguments of to-do tools."""

from __future__ import annotations

import re
from typing import NamedTuple

from mastwatch.events import ToolRequest

PLAN_CHARS = 8000
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]*\[([ xX✓✔])\]", re.MULTILINE)
_TODO_TOOLS = re.compile(r"to_?dos?|plan", re.IGNORECASE)
_OPEN = re.compile(r"""['"](?:pending|in_progress|not_started|todo|open)['"]""")
_DONE = re.compile(r"""['"](?:completed|done|finished)['"]""")


class Plan(NamedTuple):
    """How many items of a plan are open and ticked."""

    open: int
    done: int


def checklist(text: str) -> Plan | None:
    r"""Read the checkboxes of a text; None where there are none.

    >>> checklist("- [x] read the log\n- [ ] fix the pump")
    Plan(open=1, done=1)
    """
    if "[ ]" not in text and "[x]" not in text:
        return None
    marks = _ITEM.findall(text[:PLAN_CHARS])
    return Plan(marks.count(" "), len(marks) - marks.count(" ")) if marks else None


def todo_list(calls: tuple[ToolRequest, ...]) -> Plan | None:
    """Read the plan that a message hands to a to-do tool; None where it hands none.

    >>> todo_list((ToolRequest(name="write_todos", arguments={"todos": [{"status": "pending"}]}),))
    Plan(open=1, done=0)
    """
    for call in calls:
        if _TODO_TOOLS.search(call.name):
            shown = repr(call.arguments)[:PLAN_CHARS]
            plan = Plan(len(_OPEN.findall(shown)), len(_DONE.findall(shown)))
            if any(plan):
                return plan
    return None
