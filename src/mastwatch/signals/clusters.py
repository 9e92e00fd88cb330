"""Which of an agent's recent messages a new one nearly repeats, and how much of it is new."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque

from mastwatch.signals.text import (
    MIN_GRAMS,
    TEXT_CAP,
    Grams,
    grams,
    may_hold,
    pieces,
    probes,
    similarity,
    words,
)

SIMILAR = 0.8
"""Jaccard similarity of word 3-grams from which two messages are one cluster."""
EXACT_RING = 16
"""Messages of an agent that are compared by digest."""
TEXT_RING = 8
"""Messages of an agent that are compared by their texts."""
TEXTS_KEPT = 80 * 1024
"""Bytes of text kept per conversation for that; the oldest go first."""
AGENTS_KEPT = 24
"""Agents whose recent messages are kept; the longest silent is forgotten."""
MAYBE_OLD = 0.7
"""New share above which a message cannot nearly repeat another: most are not compared at all."""

_TEMPLATE_FROM = 4  # different messages of an agent before anything can be called its template
_SLOTS = 1 << 15


class _Past:
    """A message that was said."""

    __slots__ = ("cluster", "text")

    def __init__(self, cluster: int, text: str) -> None:
        self.cluster = cluster
        self.text = text


class _Agent:
    __slots__ = ("exact", "texts")

    def __init__(self) -> None:
        self.exact: OrderedDict[int, int] = OrderedDict()  # cluster by digest
        self.texts: deque[_Past] = deque(maxlen=TEXT_RING)


class Clusters:
    """The recent messages of all agents of a conversation.

    3-grams that stand in more than half of an agent's different messages are its template
    (greeting, screen description, signature) and are not compared, as long as enough else is left
    to compare: an agent that says nothing but its template does repeat itself.
    """

    __slots__ = ("_agents", "_bytes", "_kept")

    def __init__(self) -> None:
        self._agents: OrderedDict[str, _Agent] = OrderedDict()
        self._kept: deque[_Past] = deque()
        self._bytes = 0

    def add(self, agent: str, digest: int, text: str, novelty: float) -> tuple[int, bool]:
        """Place a message; return its cluster and whether it had a member among the recent."""
        mine = self._agent(agent)
        cluster = mine.exact.pop(digest, 0)
        seen = bool(cluster)
        if not seen and novelty <= MAYBE_OLD:
            cluster = _nearest(mine, text)
            seen = bool(cluster)
        cluster = cluster or digest
        mine.exact[digest] = cluster
        if len(mine.exact) > EXACT_RING:
            mine.exact.popitem(last=False)
        self._keep(mine, _Past(cluster, text[:TEXT_CAP]))
        return cluster, seen

    def _keep(self, mine: _Agent, past: _Past) -> None:
        mine.texts.append(past)
        self._kept.append(past)
        self._bytes += past.text.__sizeof__()
        while self._bytes > TEXTS_KEPT or len(self._kept) > TEXT_RING * AGENTS_KEPT:
            old = self._kept.popleft()
            self._bytes -= old.text.__sizeof__()
            old.text = ""

    def _agent(self, name: str) -> _Agent:
        agent = self._agents.get(name)
        if agent is None:
            agent = self._agents[name] = _Agent()
            if len(self._agents) > AGENTS_KEPT:
                self._agents.popitem(last=False)
        else:
            self._agents.move_to_end(name)
        return agent


def _nearest(agent: _Agent, text: str) -> int:
    """Find the cluster that a text belongs to, or 0."""
    text = text[:TEXT_CAP]
    fragments, own = probes(text), None
    for past in reversed(agent.texts):
        # Texts of very different length, or without a fragment in common, need no comparing.
        ratio = len(past.text) / (len(text) or 1)
        if not 0.67 <= ratio <= 1.5 or not may_hold(past.text, fragments):
            continue
        own = own if own is not None else grams(words(text))
        if len(own) < MIN_GRAMS:
            return 0
        if _near(own, grams(words(past.text)), agent):
            return past.cluster
    return 0


def _near(own: Grams, other: Grams, agent: _Agent) -> bool:
    if len(other) < MIN_GRAMS or similarity(own, other) < SIMILAR:
        return False
    template = _template(agent)
    mine, theirs = own - template, other - template
    if len(mine) < MIN_GRAMS or len(theirs) < MIN_GRAMS:
        return True
    return similarity(mine, theirs) >= SIMILAR


def _template(agent: _Agent) -> Grams:
    """3-grams of most messages; of one cluster only one counts, else a loop were a template."""
    different = {past.cluster: past.text for past in agent.texts if past.text}
    if len(different) < _TEMPLATE_FROM:
        return set()
    counts = Counter(gram for text in different.values() for gram in grams(words(text)))
    return {gram for gram, count in counts.items() if count > len(different) // 2}


class Novelty:
    """Remembers the pieces of a run, each by 8 bits in one of 32,768 slots.

    A later piece takes an older one's slot: novelty is against the recent past of the run, which
    for most runs is all of it. One piece in 256 is taken for another.
    """

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        self._slots = bytearray(_SLOTS)

    def add(self, text: str) -> float:
        """Take a text in; return the share of its pieces that was not met before, 0 to 1."""
        slots, mask = self._slots, _SLOTS - 1
        fresh = 0
        found = pieces(text)
        for piece in found:
            slot, tag = piece & mask, piece >> 24
            if slots[slot] != tag:
                fresh += 1
                slots[slot] = tag
        return fresh / len(found) if found else 0.0
