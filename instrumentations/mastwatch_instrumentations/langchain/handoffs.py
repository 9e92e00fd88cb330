"""Who has the word from whom, and to whom an utterance is addressed."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.events import ToolRequest
from mastwatch_instrumentations.langchain.state import Session, Step

HANDOFF_TOOL = "transfer_to_"


def only_hands_off(calls: Sequence[ToolRequest]) -> bool:
    """Whether a message does nothing but give the word to somebody else."""
    return bool(calls) and all(call.name.startswith(HANDOFF_TOOL) for call in calls)


def recipients(step: Step, sender: str, calls: Sequence[ToolRequest]) -> list[str]:
    """Name to whom a message goes: who was called, or who had asked; empty where unknown."""
    if calls:
        named = (call.name for call in calls if call.name.startswith(HANDOFF_TOOL))
        return [name.removeprefix(HANDOFF_TOOL) for name in named]
    tool = step.nearest_tool()
    asker = tool.agent if tool is not None else step.session.memory.handed_by.get(sender, "")
    return [asker] if asker and asker != sender else []


def give(session: Session, source: str, target: str) -> bool:
    """Note that ``source`` gives the word to ``target``; whether it changes hands at all.

    Giving it back is no request: what the first one says next is not addressed to the second.
    """
    if not target or target == source:
        return False
    handed_by = session.memory.handed_by
    if handed_by.get(source) == target:
        handed_by.pop(target, None)
    else:
        handed_by[target] = source
    return True


def expect(step: Step, targets: Sequence[str]) -> None:
    """Note which nodes come next by the word of whoever spoke in this node.

    Not every node is an agent: the hand-off is only one once somebody speaks there.
    """
    if step.heard and step.parent is not None:
        coming = (step.heard, step.graph_step + 1)
        step.parent.expected.update(dict.fromkeys(targets, coming))


def arrivals(step: Step) -> list[str]:
    """Return who had given the word to the nodes around a step, each of them once."""
    found = []
    for around in step.above():
        if around.sent_by:
            found.append(around.sent_by)
            around.sent_by = ""
        if around.branch is not None:
            break
    return found


def is_routine(session: Session, tool: str) -> bool:
    """Whether calling a hand-off tool once more is to be expected.

    A supervisor calls it whenever it wants that worker: the same call, new work. With nothing said
    or done since the last such call, the word just goes round.
    """
    if not tool.startswith(HANDOFF_TOOL):
        return False
    before = session.handoffs.get(tool)
    session.remember(session.handoffs, tool, session.work)
    return before is None or before < session.work
