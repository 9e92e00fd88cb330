"""Where the hooks meet: which run and turn a call of AgentChat belongs to."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from mastwatch.events import Contract
from mastwatch.guard import guard
from mastwatch.spans import native
from mastwatch.spans.emit import Emitter, Run, Scope
from mastwatch_instrumentations.agentchat import contract, reading
from mastwatch_instrumentations.agentchat.conversations import Conversation, Seen
from mastwatch_instrumentations.agentchat.library import Library
from mastwatch_instrumentations.agentchat.turns import Turn

FRAMEWORK = "agentchat"
NATIVE_SCOPE = "autogen-core"
"""Instrumentation scope of the spans that AutoGen makes of agents and tools by itself."""


@dataclass
class _Memory:
    """What a team still knows when it is run again."""

    conversation_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    paused: bool = False


class Tracker:
    """The open runs and turns of one installation.

    Whoever is on the host's stack holds them; here are weak references only.

    Args:
        emitter: Where everything goes.
        library: AgentChat's classes.
        traced_elsewhere: Whether another producer makes the spans, asked as a run starts.
    """

    def __init__(self, emitter: Emitter, library: Library, traced_elsewhere: Any) -> None:
        self.emitter = emitter
        self.library = library
        self._traced_elsewhere = traced_elsewhere
        self._memories: WeakKeyDictionary[Any, _Memory] = WeakKeyDictionary()
        self._teams: WeakValueDictionary[str, Conversation] = WeakValueDictionary()
        self._conversations: WeakValueDictionary[Run, Conversation] = WeakValueDictionary()
        self._turns: WeakValueDictionary[Scope, Turn] = WeakValueDictionary()

    # Runs

    def open_team(self, team: Any, task: object) -> Conversation | None:
        """Start the run of a team, or a branch of the run around it."""
        team_id = str(getattr(team, "_team_id", ""))
        open_already = self._teams.get(team_id)
        if self.emitter.suppressed() or (open_already and not open_already.run.finished):
            return None  # AgentChat is about to say that the team is running already
        members = list(getattr(team, "_participants", ()))
        prompts, agreed = {}, Contract()
        with guard("agentchat.contract"):  # reads properties of the host's: worth no run
            prompts = contract.prompts(members)
            agreed = contract.read_contract(team)
        memory = self._memories.setdefault(team, _Memory())
        root = self.emitter.current() is None
        resumed, memory.paused = root and memory.paused, False
        text = reading.task_text(task)
        run = self.emitter.start_run(
            team.name,
            framework=FRAMEWORK,
            task=None if resumed else text,
            conversation_id=memory.conversation_id,
            prompts=prompts,
            contract=agreed,
            resume=resumed,
            spans=not self._traced_elsewhere(),
        )
        names = [member.name for member in members]
        manager = str(getattr(team, "_group_chat_manager_name", ""))
        conversation = self._keep(Conversation(run, self._seen(run), names, manager))
        if resumed and text:
            run.human_replied(text=text)
        if team_id:
            self._teams[team_id] = conversation
        return conversation

    def open_agent(self, agent: Any, task: object) -> Conversation | None:
        """Start the run of an agent on its own, or a branch of the run around it."""
        if self.emitter.suppressed():
            return None
        prompts: dict[str, str] = {}
        with guard("agentchat.contract"):
            prompts = contract.prompts([agent])
        run = self.emitter.start_run(
            agent.name,
            framework=FRAMEWORK,
            task=reading.task_text(task),
            prompts=prompts,
            spans=not self._traced_elsewhere(),
        )
        return self._keep(Conversation(run, self._seen(run), [agent.name]))

    def _keep(self, conversation: Conversation) -> Conversation:
        self._conversations[conversation.run] = conversation
        return conversation

    def _seen(self, run: Run) -> Seen:
        around = self._conversations.get(run.parent.run) if run.parent is not None else None
        return around.seen if around is not None else Seen()

    def paused(self, team: Any) -> None:
        """Note that a team's run waits for a person: run again, it goes on."""
        memory = self._memories.get(team)
        if memory is not None:
            memory.paused = True

    def forget(self, team: Any) -> None:
        """Note that a team was reset, or loaded with another state."""
        self._memories.pop(team, None)

    def conversation_of(self, scope: Scope | None) -> Conversation | None:
        """Return the conversation a scope lies in; None for a run that is not ours."""
        return None if scope is None else self._conversations.get(scope.run)

    def of_member(self, member: Any) -> Conversation | None:
        """Return the conversation that a part of a team's runtime works for.

        By the team's id: an app's own runtime has started before, in a context of its own.
        """
        conversation = self._teams.get(str(getattr(member.id, "key", "")))
        return conversation if conversation and not conversation.run.finished else None

    # Turns

    def turn_here(self) -> Turn | None:
        """Return the turn that this code runs in."""
        return self.turn_of(self.emitter.current())

    def turn_of(self, scope: Scope | None) -> Turn | None:
        """Return the turn whose scope this is."""
        return None if scope is None else self._turns.get(scope)

    def open_turn(self, agent: Any, conversation: Conversation, parent: Scope | None) -> Turn:
        """Open a turn; where AutoGen has a span of it by itself, that one is used."""
        run = conversation.run
        theirs = native.current_turn(NATIVE_SCOPE, agent.name) if run.spans else None
        turn = Turn(conversation, run.turn(agent.name, parent=parent, borrowed=theirs), agent)
        self._turns[turn.scope] = turn
        return turn
