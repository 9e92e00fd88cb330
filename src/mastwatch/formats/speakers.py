"""Names as logs of Magentic-One write them: the agent, and in brackets what the row is."""

from __future__ import annotations

import re
from typing import NamedTuple

THOUGHT = "thought"
TERMINATION = "termination condition"
_ASIDE = re.compile(r"\s+\((?:(?P<aside>thought|termination condition)|->\s*(?P<to>[^()]*))\)\s*$")
_RUNS_CODE = frozenset({"computer_terminal", "computerterminal", "executor", "code_executor"})
_EXECUTED = re.compile(r"\s*exit\s?code:|\s*The script ran\b", re.IGNORECASE)


class Speaker(NamedTuple):
    """Who stands in a row.

    Attributes:
        name: The agent.
        aside: ``thought``, ``termination condition``, or empty.
        recipients: To whom.
    """

    name: str
    aside: str = ""
    recipients: tuple[str, ...] = ()


def speaker(told: str) -> Speaker:
    """Part a speaker's name from what stands in brackets behind it.

    >>> speaker("Orchestrator (thought)"), speaker("Orchestrator (-> WebSurfer)").recipients
    (Speaker(name='Orchestrator', aside='thought', recipients=()), ('WebSurfer',))
    """
    found = _ASIDE.search(told)
    if found is None:
        return Speaker(told.strip())
    to = (found["to"] or "").strip()
    return Speaker(told[: found.start()].strip(), found["aside"] or "", (to,) if to else ())


def runs_code(name: str) -> bool:
    """Whether this is the name of an agent that runs code and does nothing else."""
    return name.casefold() in _RUNS_CODE


def is_execution(text: str) -> bool:
    """Whether what such an agent said is the outcome of code that ran."""
    return _EXECUTED.match(text) is not None
