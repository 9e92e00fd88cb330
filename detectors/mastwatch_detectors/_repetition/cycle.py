"""Rule E: several agents or calls go round in a circle."""

from __future__ import annotations

from collections import deque
from hashlib import blake2b
from typing import NamedTuple

from mastwatch.findings import Severity
from mastwatch.signals import Result, Utterance
from mastwatch_detectors._hit import Hit, rows

PERIODS = 8
MIN_WORDS = 1


class Symbol(NamedTuple):
    """One step as a cycle sees it: who, what, and what came of it."""

    agent: str
    what: int
    result: int = 0
    tool: str = ""


def symbol(said: Utterance | None, result: Result | None) -> Symbol | None:
    """Return the step an event stands for; None if it is none (a spacer, a system line)."""
    if result is not None and result.call is not None:
        call = result.call
        if call.spacer or call.poll:
            return None
        return Symbol(call.agent, call.key, result.digest, call.tool)
    if said is None or said.kind in ("system", "code", "auto_reply") or said.role == "system":
        return None
    if said.cluster and said.words >= MIN_WORDS:
        if said.calls:  # the same words around another call are another step
            return Symbol(said.agent, said.cluster, said.calls[0].key, said.calls[0].tool)
        return Symbol(said.agent, said.cluster)
    return None


class Cycle:
    """Compares each step with the one ``p`` steps before, for ``p`` from 2 to ``PERIODS``.

    Exact and cheap: ``run[p]`` counts how long the steps have been repeating with period p; three
    rounds are complete when it reaches 2p.
    """

    def __init__(self, warn: int, alert: int) -> None:
        self._warn = warn
        self._alert = alert
        self._past: deque[tuple[Symbol, int]] = deque(maxlen=alert * PERIODS)
        self._run = [0] * (PERIODS + 1)
        self._going = False  # some count of _run may not be 0

    def restart(self) -> None:
        """Forget all steps."""
        self._past.clear()
        self._run = [0] * (PERIODS + 1)

    def note(self, step: Symbol, row: int) -> None:
        """Take a step in that is like none before."""
        if self._going:
            self._run = [0] * (PERIODS + 1)
            self._going = False
        self._past.append((step, row))

    def observe(self, step: Symbol, row: int) -> tuple[Hit, list[Symbol]] | None:
        """Take a step in; the hit comes with its circle."""
        past = self._past
        self._going = True
        for p in range(2, PERIODS + 1):
            same = len(past) >= p and past[-p][0] == step
            self._run[p] = self._run[p] + 1 if same else 0
        past.append((step, row))
        for p in range(2, PERIODS + 1):
            rounds = self._run[p] // p + 1
            if rounds >= self._warn:
                circle = [s for s, _ in past][-p:]
                if len(set(circle)) > 1:
                    return self._hit(circle, p, rounds), circle
        return None

    def _hit(self, circle: list[Symbol], p: int, rounds: int) -> Hit:
        agents = sorted({s.agent for s in circle if s.agent})
        severity = Severity.ALERT if rounds >= self._alert else Severity.WARN
        evidence = [row for _, row in list(self._past)[-p * min(rounds, self._alert) :]]
        return Hit(
            severity,
            f"cycle:{_name(circle)}",
            agents[0] if len(agents) == 1 else "",
            rows(evidence),
            f"{', '.join(agents) or 'The agents'} went through the same {p} steps {rounds} times",
            tool=circle[0].tool if len({s.tool for s in circle}) == 1 else "",
        )


def _name(circle: list[Symbol]) -> str:
    """Name a circle alike wherever it is entered."""
    turns = [circle[i:] + circle[:i] for i in range(len(circle))]
    return blake2b(repr([tuple(s) for s in min(turns)]).encode(), digest_size=8).hexdigest()
