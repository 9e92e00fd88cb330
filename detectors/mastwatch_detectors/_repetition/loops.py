"""Which loop a repeated step belongs to, so that one loop is one episode."""

from __future__ import annotations

from collections import OrderedDict

from mastwatch_detectors._hit import Hit
from mastwatch_detectors._repetition.cycle import Symbol

KEPT = 128


class Loops:
    """Gives hits on steps of one loop the loop's name.

    The steps of a loop repeat one after the other, and each is noticed by itself: by its call, by
    its words, at last by the circle. The first of them names the loop, and those that follow it
    without another step in between join it.
    """

    def __init__(self) -> None:
        self._loops: OrderedDict[Symbol, tuple[str, str]] = OrderedDict()
        self._previous: Symbol | None = None

    def restart(self) -> None:
        """A person spoke: what follows is another loop's beginning."""
        self._previous = None

    def step(self, symbol: Symbol) -> None:
        """Note a step that is no repetition."""
        self._previous = symbol

    def join(self, symbol: Symbol, circle: list[Symbol], hit: Hit) -> Hit:
        """Name the episode after the loop its step belongs to; the hit still says who did what."""
        loop = None
        for member in (symbol, *circle, self._previous):
            if member is not None and member in self._loops:
                loop = self._loops[member]
                break
        loop = loop or (hit.key, hit.agent if hit.owner is None else hit.owner)
        for member in (symbol, *circle):
            self._loops[member] = loop
            self._loops.move_to_end(member)
        while len(self._loops) > KEPT:
            self._loops.popitem(last=False)
        self._previous = symbol
        return hit._replace(key=loop[0], owner=loop[1])
