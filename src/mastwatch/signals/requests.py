"""How each model request follows from the agent's one before: grown, trimmed, or started over.

The strongest sign of a lost history is the request itself: it is what the model remembers. An
agent may hold several chains side by side, told apart by their system prompt: a summariser, title
or judge call is no reset of the conversation it looks at. Where the source names the agent's turns,
the first request of a turn follows on from the first ones of the turns before, and the others from
the one before: a worker that is called anew each time has lost nothing.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict

from mastwatch.events import ModelCalled, RequestMessage
from mastwatch.signals.facts import Request, RequestChange

CHAINS_KEPT = 16
RING = 32
"""Digests of a request's end that are kept."""
FIRST = 4
"""Non-system messages that identify a request's beginning."""
SUMMARY_CHARS = 400
"""A new message of this length where others left is taken for their summary."""

_SUMMARY_WORDS = ("summary", "summar", "condensed", "compacted", "conversation so far", "摘要")


class _Chain:
    """What is kept of a series of requests that should follow on from one another."""

    __slots__ = (
        "first",
        "grown",
        "initial",
        "last",
        "n",
        "prefix",
        "ring",
        "task",
        "tokens",
        "turn",
        "within",
    )

    def __init__(self) -> None:
        self.n = 0  # messages of the latest request, system prompt not counted
        self.initial = 0
        self.first: tuple[int, ...] = ()
        self.task = 0
        self.prefix = 0  # of all messages of the latest request
        self.ring = array("q")
        self.last = 0
        self.grown = 0  # the most messages seen since the start or the last reset
        self.tokens = 0
        self.turn = ""
        self.within: _Chain | None = None  # the later requests of the present turn

    def of_turn(self, turn: str) -> _Chain:
        """The chain that a request of this turn follows: this one, or the present turn's own."""
        if turn != self.turn:
            self.turn, self.within = turn, None
            return self
        if not turn or not self.n:
            return self
        if self.within is None:
            self.within = _Chain()
            self.within.take_over(self)
        return self.within

    def take_over(self, other: _Chain) -> None:
        """Go on from another chain's latest request as if it were the first."""
        self.n = self.initial = self.grown = other.n
        self.first, self.prefix, self.last = other.first, other.prefix, other.last
        self.task, self.ring = other.task, other.ring


class Requests:
    """The request chains of one conversation."""

    def __init__(self) -> None:
        self._chains: OrderedDict[tuple[str, int], _Chain] = OrderedDict()

    def add(self, event: ModelCalled) -> Request | None:
        """Classify a request; None when the event does not show it."""
        if event.request is None:
            return self._by_tokens(event)
        system = [m for m in event.request if m.role == "system"]
        rest = [m for m in event.request if m.role != "system"]
        # A single empty message is one that only calls tools; all of them are withheld.
        if all(m.content is None for m in rest):
            return self._by_count(event, len(rest))
        # hash() of a str is kept by the str itself: a message that stays costs nothing again.
        # It is salted, but these values never leave this object.
        hashes = [hash((m.role, m.content)) for m in rest]
        name = hash(system[0].content) if system else 0
        chain = self._chain(event.agent, name)
        if chain is None:
            lost = self._without_system(event.agent, name, hashes)
            chain = self._open(event.agent, name)
            chain.turn = event.turn
            if lost is not None:
                _keep(chain, hashes, "first")
                return Request(event.agent, "system_lost", len(hashes), lost.n, True)
        follows = chain.of_turn(event.turn)
        before = follows.n
        change = _classify(follows, hashes, rest)
        _keep(follows, hashes, change)
        return Request(event.agent, change, len(hashes), before, True)

    def _chain(self, agent: str, name: int) -> _Chain | None:
        chain = self._chains.get((agent, name))
        if chain is not None:
            self._chains.move_to_end((agent, name))
        return chain

    def _open(self, agent: str, name: int) -> _Chain:
        chain = self._chains[agent, name] = _Chain()
        if len(self._chains) > CHAINS_KEPT:
            self._chains.popitem(last=False)
        return chain

    def _without_system(self, agent: str, name: int, hashes: list[int]) -> _Chain | None:
        """Find the chain that this request without a system prompt goes on from."""
        if name or not hashes:
            return None
        for (owner, system), chain in reversed(self._chains.items()):
            if owner == agent and system and chain.n > 1 and chain.last in hashes:
                return chain
        return None

    def _by_count(self, event: ModelCalled, n: int) -> Request:
        chain = self._chain(event.agent, -1) or self._open(event.agent, -1)
        before, change = chain.n, _by_size(chain, n, event.input_tokens)
        return Request(event.agent, change, n, before, False)

    def _by_tokens(self, event: ModelCalled) -> Request | None:
        if not event.input_tokens:
            return None
        chain = self._chain(event.agent, -2) or self._open(event.agent, -2)
        change: RequestChange = "append" if chain.tokens else "first"
        if event.input_tokens < chain.tokens / 2 and chain.n >= 3:
            change, chain.tokens, chain.n = "shrunk", 0, 0
        chain.n += 1
        chain.tokens = max(chain.tokens, event.input_tokens)
        return Request(event.agent, change, 0, 0, False)


def _by_size(chain: _Chain, n: int, tokens: int | None) -> RequestChange:
    change: RequestChange = "append" if chain.n else "first"
    if not chain.n:
        chain.initial = n
    elif n <= chain.initial + 1 < chain.grown and (not tokens or tokens < chain.tokens / 2):
        change, chain.grown = "shrunk", 0
    chain.n = n
    chain.grown = max(chain.grown, n)
    chain.tokens = max(chain.tokens, tokens or 0) if change != "shrunk" else (tokens or 0)
    return change


def _classify(chain: _Chain, hashes: list[int], rest: list[RequestMessage]) -> RequestChange:
    if not chain.n:
        return "first"
    n, first = len(hashes), tuple(hashes[:FIRST])
    if n >= chain.n and hash(tuple(hashes[: chain.n])) == chain.prefix:
        return "append"
    old = {*chain.ring, *chain.first}
    kept = [h for h in hashes if h in old]
    if not kept:
        return "fresh"
    fresh = [m for h, m in zip(hashes, rest, strict=True) if h not in old]
    if n < chain.n and any(_summarises(m) for m in fresh):
        return "compaction"
    same_start = first[: len(chain.first)] == chain.first[: len(first)]
    # Below the first request's length, a bare beginning of it, or back at it after having grown.
    below = n < chain.initial and not fresh
    if n <= chain.initial + 1 and same_start and (below or chain.grown > chain.initial + 1):
        return "reset"
    if chain.task and chain.task not in hashes:
        # A window that slides drops the head, task and all, by design; here only the task went.
        return "task_lost" if _only_task_went(chain, hashes) else "trim"
    if n < chain.n:
        return "trim"
    return "tail_rewrite" if same_start else "fresh"


def _only_task_went(chain: _Chain, hashes: list[int]) -> bool:
    """Whether all that stood behind the task moved up by one; counts would not do.

    In a window that slides over "go on" and "go on" hardly any message is new.
    """
    end = chain.n - 1
    behind = chain.ring.tolist()[-end:] if end else []
    return hashes[end - len(behind) : end] == behind


def _summarises(message: RequestMessage) -> bool:
    content = (message.content or "")[: 4 * SUMMARY_CHARS].casefold()
    return len(content) >= SUMMARY_CHARS or any(word in content for word in _SUMMARY_WORDS)


def _keep(chain: _Chain, hashes: list[int], change: RequestChange) -> None:
    if change in ("first", "fresh"):
        # Where messages stayed a window has slid on: what stands first now is not the task.
        slid = bool(chain.n) and not {*chain.ring}.isdisjoint(hashes)
        chain.initial = len(hashes)
        chain.first = tuple(hashes[:FIRST])
        chain.task = hashes[0] if hashes and not slid else 0
        chain.grown = 0
    elif change == "reset":
        chain.grown = 0
    elif change in ("task_lost", "trim") and chain.task not in hashes:
        chain.task = 0  # said once; and what slid out of the window is not lost again
    chain.n = len(hashes)
    chain.grown = max(chain.grown, chain.n)
    chain.prefix = hash(tuple(hashes))
    chain.ring = array("q", hashes[-RING:])
    chain.last = hashes[-1] if hashes else 0
