"""Which of an agent's recent messages a new one nearly repeats, and what in it is new."""

from __future__ import annotations

from array import array
from collections import deque
from typing import NamedTuple

from mastwatch.signals.text import MIN_SHINGLES, Sketch, similarity

SIMILAR = 0.8
"""Jaccard similarity of word 3-grams from which two messages are one cluster."""
EXACT_RING = 16
"""Messages of an agent that are compared by digest."""
SKETCH_RING = 8
"""Messages of an agent that are compared by sketch."""

_BUCKETS = 1024
_HEAD = 8
_NONE: Sketch[int] = array("I")
_NOVELTY_SIZE = 48  # a share is well enough known from these; more only cost time
_TEMPLATE_FROM = 4  # messages of an agent before anything can be called its template
_HALVE_AT = 128
_BLOOM_BITS = 1 << 17


class _Past(NamedTuple):
    digest: int
    cluster: int
    sketch: Sketch[int]


class AgentClusters:
    """The recent messages of one agent. About 4 kB, whatever is said.

    Shingles that stand in more than half of the agent's messages are its template (greeting,
    screen description, signature) and are not compared, as long as enough else is left to
    compare: an agent that says nothing but its template does repeat itself.
    """

    __slots__ = ("_counts", "_messages", "_ring")

    def __init__(self) -> None:
        self._ring: deque[_Past] = deque(maxlen=EXACT_RING)
        self._counts = bytearray(_BUCKETS)
        self._messages = 0

    def add(self, digest: int, sketch: Sketch[int]) -> tuple[int, bool]:
        """Place a message; return its cluster and whether it had a member among the recent."""
        cluster, seen = self._find(digest, sketch)
        self._ring.append(_Past(digest, cluster, sketch))
        if len(self._ring) > SKETCH_RING:
            old = self._ring[-SKETCH_RING - 1]
            self._ring[-SKETCH_RING - 1] = old._replace(sketch=_NONE)
        self._count(sketch)
        return cluster, seen

    def _find(self, digest: int, sketch: Sketch[int]) -> tuple[int, bool]:
        for past in reversed(self._ring):
            if past.digest == digest:
                return past.cluster, True
        if len(sketch) >= MIN_SHINGLES:
            head = set(sketch[:_HEAD])
            for past in list(self._ring)[: -SKETCH_RING - 1 : -1]:
                # Like texts share their smallest hashes: most comparisons end here.
                if not head.isdisjoint(past.sketch[:_HEAD]) and self._near(sketch, past.sketch):
                    return past.cluster, True
        return digest, False

    def _near(self, sketch: Sketch[int], other: Sketch[int]) -> bool:
        if len(other) < MIN_SHINGLES:
            return False
        mine, theirs = self._without_template(sketch), self._without_template(other)
        if len(mine) < MIN_SHINGLES or len(theirs) < MIN_SHINGLES:
            return similarity(set(sketch), set(other)) >= SIMILAR
        return similarity(mine, theirs) >= SIMILAR

    def _without_template(self, sketch: Sketch[int]) -> set[int]:
        if self._messages < _TEMPLATE_FROM:
            return set(sketch)
        counts, limit = self._counts, self._messages // 2
        return {h for h in sketch if counts[h % _BUCKETS] <= limit}

    def _count(self, sketch: Sketch[int]) -> None:
        counts = self._counts
        for bucket in {h % _BUCKETS for h in sketch}:
            counts[bucket] += 1
        self._messages += 1
        if self._messages >= _HALVE_AT:
            self._counts = bytearray(count >> 1 for count in counts)
            self._messages >>= 1


class Novelty:
    """Remembers the shingles of a run in two Bloom filters of 16 KiB.

    When one is half full the older is forgotten: novelty is against the recent past of the run,
    which for most runs is all of it.
    """

    __slots__ = ("_new", "_old", "_set")

    def __init__(self) -> None:
        self._new = bytearray(_BLOOM_BITS >> 3)
        self._old: bytearray | None = None
        self._set = 0

    def add(self, sketch: Sketch[int]) -> float:
        """Take a sketch in; return the share of it that was not met before, 0 to 1."""
        new, old, mask = self._new, self._old, _BLOOM_BITS - 1
        sample = sketch[:_NOVELTY_SIZE]
        fresh = 0
        for h in sample:
            low, high = h & mask, h >> 15
            i, j, b, c = low >> 3, high >> 3, 1 << (low & 7), 1 << (high & 7)
            if new[i] & b and new[j] & c:
                continue
            if old is None or not (old[i] & b and old[j] & c):
                fresh += 1
            new[i] |= b
            new[j] |= c
            self._set += 2
        if self._set > _BLOOM_BITS // 2:
            self._old, self._new, self._set = new, bytearray(_BLOOM_BITS >> 3), 0
        return fresh / len(sample) if sample else 0.0
