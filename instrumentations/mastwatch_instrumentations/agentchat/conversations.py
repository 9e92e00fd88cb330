"""The run of a team or of an agent on its own: what was said in it, and how it ended."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import BaseChatMessage

from mastwatch.events import MessageKind, Outcome
from mastwatch.spans.emit import Run
from mastwatch_instrumentations.agentchat import outcomes, reading
from mastwatch_instrumentations.agentchat.outcomes import Stop

MAX_IDS = 2_048
"""Messages of a run whose ids are remembered; what comes twice comes soon after."""


class Seen:
    """Ids of the messages that were told: a team and the team around it both yield them."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def first(self, message: Any) -> bool:
        """Whether this message comes for the first time; remembers it."""
        if message.id in self._ids:
            return False
        self._ids[message.id] = None
        if len(self._ids) > MAX_IDS:
            self._ids.popitem(last=False)
        return True


class Conversation:
    """What is known of one run, or branch of it.

    Args:
        run: Where it is told.
        seen: Shared with the conversation around it.
        participants: Names of a team's members; of an agent on its own, its name.
        manager: Name of a team's manager, empty for an agent on its own.

    Attributes:
        stop: What the team ended with, as far as it has.
        handed_to: Whom the last hand-off was to.
        renewed: Agents whose history the manager has emptied, until their next turn.
        at_work: Agents that have had a turn.
        error: Type of what a participant raised; AgentChat raises a RuntimeError in its place.
    """

    def __init__(
        self, run: Run, seen: Seen, participants: Sequence[str] = (), manager: str = ""
    ) -> None:
        self.run = run
        self.seen = seen
        self.participants = tuple(participants)
        self.manager = manager
        self.stop = Stop()
        self.handed_to = ""
        self.renewed: set[str] = set()
        self.at_work: set[str] = set()
        self.error = ""
        self._opened = False

    def others(self, sender: str) -> tuple[str, ...]:
        """Who is told what a member says: everybody else."""
        return tuple(name for name in self.participants if name != sender)

    def emptied(self, agent: str) -> None:
        """Note that the manager empties an agent's history; at the start there is none yet."""
        self._opened = False
        if agent in self.at_work:
            self.renewed.add(agent)

    def managed(self, message: Any) -> None:
        """Tell of what the manager itself says (MagenticOne's plans, instructions, answer)."""
        if not isinstance(message, BaseChatMessage) or not self.seen.first(message):
            return
        # With a plan, the first one or one for agents whose memories it has just emptied, it opens
        # a conversation, as a person would with the task.
        kind: MessageKind = "reply" if self._opened else "opener"
        self._opened = True
        self.run.message(
            message.source,
            reading.message_text(message),
            recipients=self.others(message.source),
            kind=kind,
            id=message.id,
        )

    def over(self, result: Any) -> Outcome:
        """Tell of the end; return the outcome."""
        stop = self.stop
        if not stop.reason and isinstance(result, TaskResult):
            stop = Stop(result.stop_reason or "")
        outcome = outcomes.of_stop(stop, self.handed_to, self.participants)
        self.run.finish(outcome, outcomes.wording(stop, self.manager))
        return outcome

    def broken(self, error: BaseException) -> None:
        """Tell of what was raised."""
        outcome = outcomes.of_error(error)
        self.run.finish(outcome, self.error if outcome == "error" else "", error)
