"""The steps of a run and who takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mastwatch.formats.speakers import speaker
from mastwatch.store import Trace, TraceRow


def normal_name(name: str) -> str:
    """A speaker's name without what logs add to it.

    Logs of Magentic-One write ``Orchestrator (thought)`` and ``Orchestrator (-> WebSurfer)`` for
    one and the same agent.

    >>> normal_name("Orchestrator (-> WebSurfer)"), normal_name("Blu-Ray_Expert")
    ('Orchestrator', 'Blu-Ray_Expert')
    """
    return speaker(name).name


class Steps:
    """The rows of a run as steps: a step is its row's number, its agent who speaks there.

    Args:
        trace: The run.
    """

    def __init__(self, trace: Trace) -> None:
        self._rows: Mapping[int, TraceRow] = {row.index: row for row in trace.rows}
        self.numbers: Sequence[int] = [row.index for row in trace.rows]

    def __contains__(self, step: object) -> bool:
        return step in self._rows

    def agent(self, step: int) -> str:
        """Who speaks in a step."""
        return normal_name(self._rows[step].agent)

    def near(self, step: int, neighbours: int) -> list[int]:
        """A step and its neighbours on either side."""
        at = self.numbers.index(step)
        return list(self.numbers[max(0, at - neighbours) : at + neighbours + 1])
