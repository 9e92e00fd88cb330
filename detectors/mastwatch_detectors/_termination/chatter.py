"""Rule T4: farewells, or nothing at all, one after the other."""

from __future__ import annotations

from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit, level, rows

AGENTS_KEPT = 64


class Goodbyes:
    """Rule T4: farewells, or empty messages, one after the other.

    In a group, empty messages are a loop once they go round: see ``_going_round``.
    """

    def __init__(self, info: int, warn: int, alert: int, empty_warn: int, empty_alert: int) -> None:
        self._steps = {Severity.INFO: info, Severity.WARN: warn, Severity.ALERT: alert}
        self._empty_steps = {Severity.WARN: empty_warn, Severity.ALERT: empty_alert}
        self._rows: list[int] = []
        self._agents: set[str] = set()
        self._empty: list[int] = []
        self._silent: set[str] = set()  # who sent those
        self._heard: set[str] = set()  # who has had a turn in this run
        self._talked = False  # one of them has a model

    def observe(self, signals: Signals, text: str | None) -> Hit | None:
        """Take an event in; ``text`` is the message's, None when withheld."""
        said = signals.utterance
        if signals.human or signals.calls or signals.result is not None:
            self._rows, self._agents = [], set()
            self._empty, self._silent = [], set()
            return None
        if said is None or said.kind == "system":
            return None
        if said.agent not in self._heard:
            self._hear(said)
        empty = text is not None and not said.digest
        return self._emptiness(said, empty) or self._farewell(said, empty)

    def _hear(self, said: Utterance) -> None:
        if said.kind not in ("opener", "human") and len(self._heard) < AGENTS_KEPT:
            self._heard.add(said.agent)
            self._talked = self._talked or said.by_model

    def _farewell(self, said: Utterance, empty: bool) -> Hit | None:
        # A proxy that answers a farewell with nothing is part of the loop.
        if not said.closing and not (empty and self._rows):
            self._rows, self._agents = [], set()
            return None
        self._rows = [*self._rows[-31:], said.row]
        self._agents.add(said.agent)
        severity = level(len(self._rows), self._steps) if len(self._agents) > 1 else None
        if severity is None:
            return None
        names = ", ".join(sorted(self._agents)[:8])
        return Hit(
            severity,
            "goodbye",
            "",
            rows(self._rows),
            f"{names} exchanged {len(self._rows)} farewells in a row",
        )

    def _emptiness(self, said: Utterance, empty: bool) -> Hit | None:
        if not empty or said.role in ("system", "tool"):
            self._empty, self._silent = [], set()
            return None
        self._empty = [*self._empty[-31:], said.row]
        self._silent.add(said.agent)
        severity = level(self._going_round(), self._empty_steps)
        if severity is None:
            return None
        return Hit(
            severity,
            "empty",
            "",
            rows(self._empty),
            f"{len(self._empty)} empty messages in a row, the latest by {said.agent}",
        )

    def _going_round(self) -> int:
        """How many empty messages count.

        Two silent proxies that have their turn one after the other in a group are no loop. It is
        one when all who take part are silent, or when one has nothing to say for the second time
        and nobody said anything in between.
        """
        if self._talked and self._silent == self._heard:
            return len(self._empty)
        return len(self._empty) - len(self._silent) + 1
