"""Which of an agent's recent messages a new one nearly repeats, and how much of it is new."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from itertools import chain

from mastwatch.signals.text import (
    TEXT_CAP,
    Grams,
    grams,
    may_hold,
    pieces,
    probes,
    similarity,
    tokens,
    words,
)

SIMILAR = 0.8
"""Jaccard similarity of word 3-grams from which two messages are one cluster."""
COMPARED_GRAMS = 5
"""Messages with fewer 3-grams are compared exactly: one more word makes them unlike."""
SIMILAR_BESIDES = 0.7
"""The same for what is left of them without their agent's template: edits weigh more there."""
EXACT_RING = 16
"""Messages of an agent that are compared by digest."""
TEXT_RING = 8
"""Messages of an agent that are compared by their texts."""
TEXTS_KEPT = 32 * 1024
"""Bytes of text kept per conversation for that; the oldest go first."""
AGENTS_KEPT = 24
"""Agents whose recent messages are kept; the longest silent is forgotten."""
PIECES_KEPT = 270
"""Pieces of text in each of two generations that novelty is told by."""
SHORT = 400
"""Characters of a message below which few pieces make its new share rough."""
MAYBE_OLD, MAYBE_OLD_SHORT = 0.85, 0.95
"""New share above which a message cannot nearly repeat another: most are not compared at all."""
FEW_PIECES = 5
"""Pieces of a short message below which its new share tells nothing."""

_PROBES, _PROBES_FOUND = 5, 2  # texts alike at .8 share that many but once in a thousand
_TEMPLATE_FROM = 4  # different messages of an agent before anything can be called its template


class _Past:
    """A message that was said."""

    __slots__ = ("cluster", "text")

    def __init__(self, cluster: int, text: str) -> None:
        self.cluster = cluster
        self.text = text


class _Agent:
    __slots__ = ("exact", "texts")

    def __init__(self) -> None:
        self.exact: dict[int, int] = {}  # cluster by digest, oldest first
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

    def add(
        self, agent: str, digest: int, text: str, novelty: float, pieces: int = 0
    ) -> tuple[int, bool]:
        """Place a message; return its cluster and whether it had a member among the recent.

        Args:
            agent: Who said it.
            digest: Identity of the text.
            text: What was said.
            novelty: Its new share, as ``Novelty`` tells.
            pieces: How many pieces that share was told by; 0 where unknown.
        """
        mine = self._agent(agent)
        cluster = mine.exact.pop(digest, 0)
        seen = bool(cluster)
        if not seen and _may_be_old(len(text), novelty, pieces):
            cluster = _nearest(mine, text)
            seen = bool(cluster)
        cluster = cluster or digest
        mine.exact[digest] = cluster
        if len(mine.exact) > EXACT_RING:
            del mine.exact[next(iter(mine.exact))]
        self._keep(mine, _Past(cluster, text[:TEXT_CAP]))
        return cluster, seen

    def new_share(self, text: str) -> float:
        """Share of the latest message's 3-grams that no other recent message holds."""
        fresh = whole = grams(words(text))
        for past in list(self._kept)[-2::-1]:
            if not fresh:
                break
            fresh = fresh - grams(words(past.text))
        return len(fresh) / len(whole) if whole else 0.0

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


def _may_be_old(length: int, novelty: float, pieces: int) -> bool:
    if length > SHORT:
        return novelty <= MAYBE_OLD
    return novelty <= MAYBE_OLD_SHORT or pieces < FEW_PIECES


def _nearest(agent: _Agent, text: str) -> int:
    """Find the cluster that a text belongs to, or 0."""
    text = text[:TEXT_CAP]
    # Punctuation left at words would weigh too much in short texts.
    short = len(text) <= SHORT
    split = words if short else tokens
    # A time stamp has more letters than a Chinese sentence.
    apart = 2.5 if short else 1.5
    least, most = len(text) / apart, len(text) * apart
    fragments = probes(text, _PROBES)
    if not may_hold("\n".join([past.text for past in agent.texts]), fragments, _PROBES_FOUND):
        return 0
    own: Grams | None = None
    template: Grams | None = None
    for past in reversed(agent.texts):
        # Texts of very different length, or without a fragment in common, need no comparing.
        if not least <= len(past.text) <= most:
            continue
        if not may_hold(past.text, fragments, _PROBES_FOUND):
            continue
        own = own if own is not None else grams(split(text))
        if len(own) < COMPARED_GRAMS:
            return 0
        other = grams(split(past.text))
        if len(other) < COMPARED_GRAMS or similarity(own, other) < SIMILAR:
            continue
        template = template if template is not None else _template(agent, split)
        if _near(own - template, other - template):
            return past.cluster
    return 0


def _near(mine: Grams, theirs: Grams) -> bool:
    """Whether two texts that are alike are so without the template, if much is left."""
    few = len(mine) < COMPARED_GRAMS or len(theirs) < COMPARED_GRAMS
    return few or similarity(mine, theirs) >= SIMILAR_BESIDES


def _template(agent: _Agent, split: Callable[[str], list[str]]) -> Grams:
    """3-grams of most messages; of one cluster only one counts, else a loop were a template."""
    different = {past.cluster: past.text for past in agent.texts if past.text}
    if len(different) < _TEMPLATE_FROM:
        return set()
    counts = Counter(chain.from_iterable(grams(split(text)) for text in different.values()))
    return {gram for gram, count in counts.items() if count > len(different) // 2}


class Novelty:
    """Remembers the pieces of a run's texts in two sets.

    When one is full the older is forgotten: novelty is against the recent past of the run, which
    for most runs is all of it. Set operations run in C: twice as fast as a Bloom filter's loop.
    """

    __slots__ = ("_new", "_old", "pieces")

    def __init__(self) -> None:
        self.pieces = 0
        """How many pieces the latest text had."""
        self._new: set[bytes] = set()
        self._old: set[bytes] = set()

    def add(self, raw: bytes) -> float:
        """Take a text in; return the share of it that was not met before, 0 to 1."""
        found, total = pieces(raw)
        self.pieces = len(found)
        fresh = found - self._new
        if not fresh:
            return 0.0
        if self._old:
            fresh = fresh - self._old  # not -=: that goes through all of the other set
        self._new |= found
        if len(self._new) > PIECES_KEPT:
            self._old, self._new = self._new, set()
        return min(1.0, sum(map(len, fresh)) / total) if total else 0.0
