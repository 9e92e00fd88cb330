"""How each model request follows from the agent's one before: grown, trimmed, or started over.

The strongest sign of a lost history is the request itself: it is what the model remembers. An
agent may hold several chains side by side, told apart by their system prompt: a summariser, title
or judge call is no reset of the conversation it looks at. Where the source names the agent's turns,
the first request of a turn follows on from the first ones of the turns before, and the others from
the one before in the same turn: a worker that is called anew each time has lost nothing, nor have
several of one name that work side by side.
"""

from __future__ import annotations

from collections import OrderedDict

from mastwatch.events import ModelCalled
from mastwatch.signals.chain import Chain
from mastwatch.signals.facts import Request

CHAINS_KEPT = 16
TURNS_KEPT = 4
"""Turns of an agent that may be under way at once."""

PROMPTS_KEPT = 64
"""System prompts whose digest is remembered."""

_NO_DIGITS = str.maketrans("", "", "0123456789")
_NO_TEXT, _NO_MESSAGES = -1, -2  # in place of a system prompt's digest


class _Prompted:
    """The requests of one agent with one system prompt."""

    __slots__ = ("firsts", "turns")

    def __init__(self) -> None:
        self.firsts = Chain()  # the first requests of turns; all requests where turns are unnamed
        self.turns: dict[str, Chain] = {}

    def open_turn(self, turn: str) -> None:
        """What comes next in this turn goes on from the request just added."""
        if not turn:
            return
        self.turns[turn] = self.firsts.branch()
        if len(self.turns) > TURNS_KEPT:
            del self.turns[next(iter(self.turns))]


class Requests:
    """The request chains of one conversation."""

    def __init__(self) -> None:
        self._agents: OrderedDict[tuple[str, int], _Prompted] = OrderedDict()
        self._names: dict[int, int] = {}

    def add(self, event: ModelCalled) -> Request | None:
        """Classify a request; None when the event does not show it."""
        if event.request is None:
            return self._by_tokens(event)
        rest = [m for m in event.request if m.role != "system"]
        contents = [m.content for m in rest]
        # A single empty message is one that only calls tools; all of them are withheld.
        if contents.count(None) == len(contents):
            return self._by_size(event, len(rest))
        # hash() of a str is kept by the str itself: a message that stays costs nothing again.
        # It is salted, but these values never leave this object.
        hashes = list(map(hash, contents))
        name = next((self._name(m.content) for m in event.request if m.role == "system"), 0)
        mine = self._known(event.agent, name)
        if mine is None:
            before = None if name else self._with_system(event.agent, hashes)
            mine = self._open(event.agent, name)
            if before is not None:
                mine.firsts.begin(hashes, rest)
                mine.open_turn(event.turn)
                return Request(event.agent, "system_lost", len(hashes), before.n, True)
        chain = mine.turns.get(event.turn, mine.firsts)
        before_n = chain.n
        change = chain.add(hashes, rest)
        if chain is mine.firsts:
            mine.open_turn(event.turn)
        return Request(event.agent, change, len(hashes), before_n, True)

    def _name(self, prompt: str | None) -> int:
        """Digest of a system prompt, digits left out: one that tells the time is the same."""
        raw = hash(prompt)
        name = self._names.get(raw)
        if name is None:
            if len(self._names) >= PROMPTS_KEPT:
                self._names.clear()
            name = self._names[raw] = hash((prompt or "").translate(_NO_DIGITS)) or 1
        return name

    def _known(self, agent: str, name: int) -> _Prompted | None:
        mine = self._agents.get((agent, name))
        if mine is not None:
            self._agents.move_to_end((agent, name))
        return mine

    def _open(self, agent: str, name: int) -> _Prompted:
        mine = self._agents[agent, name] = _Prompted()
        if len(self._agents) > CHAINS_KEPT:
            self._agents.popitem(last=False)
        return mine

    def _with_system(self, agent: str, hashes: list[int]) -> Chain | None:
        """Find the chain that a request without a system prompt goes on from."""
        for (owner, system), mine in reversed(self._agents.items()):
            for chain in (*mine.turns.values(), mine.firsts):
                if owner == agent and system and chain.n > 1 and chain.last in hashes:
                    return chain
        return None

    def _by_size(self, event: ModelCalled, n: int) -> Request:
        mine = self._known(event.agent, _NO_TEXT) or self._open(event.agent, _NO_TEXT)
        chain = mine.turns.get(event.turn, mine.firsts)
        before, change = chain.n, chain.add_size(n, event.input_tokens)
        if chain is mine.firsts:
            mine.open_turn(event.turn)
        return Request(event.agent, change, n, before, False)

    def _by_tokens(self, event: ModelCalled) -> Request | None:
        if not event.input_tokens:
            return None
        mine = self._known(event.agent, _NO_MESSAGES) or self._open(event.agent, _NO_MESSAGES)
        change = mine.firsts.add_tokens(event.input_tokens)
        return Request(event.agent, change, 0, 0, False)
