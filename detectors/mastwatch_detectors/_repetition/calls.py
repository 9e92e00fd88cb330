"""Rules A, B and C: tool calls that lead nowhere."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import NamedTuple

from mastwatch.findings import Severity
from mastwatch.signals import Call, Result
from mastwatch_detectors._hit import Hit, level, rows

WINDOW = 32
KEYS_KEPT = 40
AGENTS_NAMED = 8
ALIKE_ARGUMENTS = 0.6


class _Streak:
    __slots__ = ("agents", "digest", "epoch", "infra", "rows")

    def __init__(self) -> None:
        self.digest = 0
        self.epoch = -1
        self.infra = 0
        self.rows: list[int] = []
        self.agents: list[str] = []  # who made the calls, in the order of their first


class StuckCall:
    """Rule A: the same call keeps giving the same result, whatever happens in between.

    A new successful action on the world, or a person, starts the count anew: then asking again
    makes sense. So does weather (rate limits, timeouts), which is counted apart. Whoever asks
    counts: several agents that share the call share the streak.
    """

    def __init__(self, warn: int, alert: int, failing_warn: int, failing_alert: int) -> None:
        self._steps = {Severity.WARN: warn, Severity.ALERT: alert}
        self._failing = {Severity.WARN: failing_warn, Severity.ALERT: failing_alert}
        self._streaks: OrderedDict[int, _Streak] = OrderedDict()
        self._changes: deque[tuple[int, int]] = deque(maxlen=WINDOW)  # key and row
        self._epoch = 0
        self.infra = 0
        """Failures in a row of the present call that are weather."""

    def restart(self) -> None:
        """Start all counts anew: the world has changed."""
        self._epoch += 1

    def observe(self, result: Result) -> Hit | None:
        """Take a result in."""
        call = result.call
        self.infra = 0
        if call is None or call.spacer or not result.digest:
            return None
        if result.changed:
            self._changes.append((call.key, result.row))
        if call.mutating and not call.times and not result.error:
            self._epoch += 1
        streak = self._streak(call.key)
        if result.error == "infra":
            streak.infra += 1
            self.infra = streak.infra
            return None
        streak.infra = 0
        self._count(streak, result)
        if result.empty or call.poll:
            return None
        failing = call.mutating and result.error == "error"
        severity = level(len(streak.rows), self._failing if failing else self._steps)
        if severity is None:
            return None
        if not failing and self._others_changed(call.key, streak.rows[0]):
            severity = Severity.SUSPECT
        what = "failed the same way" if result.error else "gave the same result"
        times = len(streak.rows)
        return Hit(
            severity,
            f"call:{call.key:x}",
            _only(streak.agents),
            rows(streak.rows),
            f"{_names(streak.agents)} called {call.tool} {times} times with the same arguments "
            f"and it {what} each time",
            streak.agents[0],
            call.tool,
        )

    def _count(self, streak: _Streak, result: Result) -> None:
        if streak.digest != result.digest or streak.epoch != self._epoch:
            streak.digest, streak.epoch = result.digest, self._epoch
            streak.rows, streak.agents = [], []
        streak.rows.append(result.row)
        _note(result.call.agent if result.call else "", streak.agents)
        if len(streak.rows) > 64:
            del streak.rows[1]

    def _streak(self, key: int) -> _Streak:
        streak = self._streaks.get(key)
        if streak is None:
            streak = self._streaks[key] = _Streak()
            if len(self._streaks) > KEYS_KEPT:
                self._streaks.popitem(last=False)
        else:
            self._streaks.move_to_end(key)
        return streak

    def _others_changed(self, key: int, since: int) -> bool:
        """Whether another call's result changed meanwhile: then the agent watches something."""
        return any(row > since and other != key for other, row in self._changes)


def _note(agent: str, agents: list[str]) -> None:
    if agent not in agents and len(agents) < AGENTS_NAMED:
        agents.append(agent)


def _only(agents: list[str]) -> str:
    return agents[0] if len(agents) == 1 else ""


def _names(agents: list[str]) -> str:
    """Name who called: ``ann``, ``ann and ben``, ``ann, ben and cleo``."""
    names = sorted(agent or "an agent" for agent in agents)
    if len(names) == 1:
        return agents[0] or "An agent"
    return f"{', '.join(names[:-1])} and {names[-1]}"


class ChurningCall:
    """Rule B: one call over and over, each time with another result, and nothing else done."""

    def __init__(self, info: int, warn: int, poll: int) -> None:
        self._steps = {Severity.INFO: info, Severity.WARN: warn}
        self._poll_steps = {Severity.WARN: poll}
        self._key = 0
        self._agents: list[str] = []
        self._digest = 0
        self._first = 0
        self._count = 0

    def restart(self) -> None:
        """Start the count anew."""
        self._count = 0

    def observe(self, result: Result) -> Hit | None:
        """Take a result in."""
        call = result.call
        if call is None or call.spacer or not result.digest:
            return None
        if call.key != self._key or result.digest == self._digest or not self._count:
            self._key, self._first, self._count = call.key, result.row, 0
            self._agents = []
        self._digest = result.digest
        self._count += 1
        _note(call.agent, self._agents)
        severity = level(self._count, self._poll_steps if call.poll else self._steps)
        if severity is None:
            return None
        return Hit(
            severity,
            f"call:{call.key:x}",
            _only(self._agents),
            (self._first, result.row),
            f"{_names(self._agents)} called {call.tool} {self._count} times in a row with the "
            f"same arguments, rows {self._first} to {result.row}, and nothing else",
            self._agents[0],
            call.tool,
        )


class _Seen(NamedTuple):
    call: Call
    digest: int
    row: int


class Thrash:
    """Rule C: other arguments each time, the same result each time.

    Acknowledgements ("ok") and successful changes do not count: that is a batch at work.
    """

    def __init__(self, warn: int, distinct: int) -> None:
        self._warn = warn
        self._distinct = distinct
        self._window: deque[_Seen] = deque(maxlen=WINDOW)

    def restart(self) -> None:
        """Forget the window."""
        self._window.clear()

    def observe(self, result: Result) -> Hit | None:
        """Take a result in."""
        call = result.call
        if call is None or call.spacer or call.poll or not result.digest:
            return None
        acknowledged = result.words < 3 and not result.error and not result.empty
        if acknowledged or result.error == "infra" or (call.mutating and not result.error):
            return None
        self._window.append(_Seen(call, result.digest, result.row))
        same = [s for s in self._window if s.digest == result.digest and s.call.tool == call.tool]
        if len({s.call.key for s in same}) < self._distinct:
            return None
        agents = list(dict.fromkeys(s.call.agent for s in same))[:AGENTS_NAMED]
        weight = len(same) if not result.empty else 2 * _alike(same)
        if weight < self._warn:
            return None
        return Hit(
            Severity.WARN,
            f"thrash:{call.tool}:{result.digest:x}",
            _only(agents),
            rows([s.row for s in same]),
            f"{_names(agents)} called {call.tool} {len(same)} times with "
            f"{len({s.call.key for s in same})} different arguments and got the same result",
            "",
            call.tool,
        )


def _alike(seen: list[_Seen]) -> int:
    """How many calls have arguments like the latest call's; empty answers to others say nothing."""
    mine = set(seen[-1].call.argument_words)
    others = [set(s.call.argument_words) for s in seen]
    return sum(len(mine & other) >= ALIKE_ARGUMENTS * len(mine | other) for other in others)
