"""From findings to orders for their runs, which the instrumentors carry out."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable

from mastwatch import forks
from mastwatch.events import Event, MessageSent, RunStarted, ToolReturned
from mastwatch.findings import Finding
from mastwatch.guard import guard
from mastwatch.interventions.orders import RunHalted, RunOrders
from mastwatch.interventions.rules import ACTIONS, Action, Intervention
from mastwatch.interventions.wording import words
from mastwatch.runs import Runs
from mastwatch.sink import Sink

MAX_RUNS = 1_024
"""Runs whose orders and transcript are kept; the longest known is forgotten beyond."""
_log = logging.getLogger("mastwatch")


class Interventions(Sink):
    """Turns findings into orders, and tells the instrumentors of them.

    Args:
        rules: On what to act, and how; of several that fit the strongest action is taken, once for
            the rules in force and once for those in dry run.
        runs: The watch's, to leave alone what has ended.
        report: Told of each action as ``(action, mode, result)``.
        renew: Lets what goes on in a run count anew: after a nudge a loop that does not stop is
            news.
    """

    name = "interventions"

    def __init__(
        self,
        rules: Iterable[Intervention],
        runs: Runs,
        report: Callable[[str, str, str], None],
        renew: Callable[[str], None],
    ) -> None:
        self._rules = tuple(rules)
        self._runs = runs
        self._report = report
        self._renew = renew
        self._able: dict[str, frozenset[str]] = {}
        self._unable_said: set[tuple[str, str]] = set()
        self._halting: list[Callable[[str, str], None]] = []
        self._lock = forks.lock()  # protects _kept and what is decided for a run
        self._kept: OrderedDict[str, RunOrders] = OrderedDict()

    def offer(self, frameworks: Iterable[str], actions: Iterable[str]) -> None:
        """Note what can be done to the runs of some frameworks."""
        for framework in frameworks:
            self._able[framework] = frozenset(actions)

    def when_halting(self, listener: Callable[[str, str], None]) -> None:
        """Call ``listener(run_id, reason)`` at the moment a run is ordered to end."""
        self._halting.append(listener)

    # What the watch says

    def on_event(self, event: Event, framework: str) -> None:
        """Keep the run's rows, for who stops it."""
        if isinstance(event, (MessageSent, ToolReturned)):
            with self._lock:
                self._of(event.run_id).keep(event)
        elif isinstance(event, RunStarted) and not event.branch and event.task:
            with self._lock:
                self._of(event.run_id).task = event.task

    def on_run_end(self, run_id: str) -> None:
        """Forget a run."""
        with self._lock:
            self._kept.pop(run_id, None)

    def on_finding(self, finding: Finding) -> None:
        """Act on a finding, if a rule says so and its run still goes on."""
        fitting = [rule for rule in self._rules if rule.fits(finding)]
        if not fitting or self._runs.summary(finding.run_id) is not None:
            return
        for dry_run in (False, True):
            rules = [rule for rule in fitting if rule.dry_run is dry_run]
            if rules:
                self._act(min(rules, key=lambda rule: ACTIONS.index(rule.action)), finding)

    def _act(self, rule: Intervention, finding: Finding) -> None:
        result = "dry_run" if rule.dry_run else "done"
        with self._lock:
            kept = self._of(finding.run_id)
            action = kept.due(rule)
            if action is None or ("halt", result) in kept.once or kept.unheard(rule, finding):
                return
            if not self._is_able(action, finding):
                result = "unsupported"
            if action == "halt" or result == "unsupported":
                if (action, result) in kept.once:
                    return
                kept.once.add((action, result))
            kept.given[id(rule)] += 1
        self._report(action, finding.mode, result)
        if result == "done":
            self._order(action, rule, finding, kept)

    def _is_able(self, action: Action, finding: Finding) -> bool:
        framework = finding.framework or self._runs.framework(finding.run_id)
        if action in self._able.get(framework, ()):
            return True
        if (framework, action) not in self._unable_said:
            self._unable_said.add((framework, action))
            _log.warning("mastwatch: %s is not possible with %s", action, framework or "this run")
        return False

    def _order(self, action: Action, rule: Intervention, finding: Finding, kept: RunOrders) -> None:
        if action == "halt":
            kept.finding = finding
            self._stop(kept, finding.run_id, f"halted by mastwatch: {finding.mode}")
            level = logging.WARNING
        else:
            kept.waiting[id(rule)] = finding.fingerprint
            kept.nudges.append(words(finding, rule.message, kept.task))
            self._renew(finding.run_id)
            level = logging.INFO
        _log.log(level, "mastwatch: %s run %s, %s", action, finding.run_id, finding.mode)

    # What the host's code and the instrumentors ask

    def halt(self, run_id: str, reason: str) -> None:
        """Have a run ended because the host's code says so."""
        if self._runs.summary(run_id) is not None:
            return
        with self._lock:
            kept = self._of(run_id)
        self._stop(
            kept, run_id, f"halted by the host: {reason}" if reason else "halted by the host"
        )

    def _stop(self, kept: RunOrders, run_id: str, reason: str) -> None:
        kept.reason = kept.reason or reason
        for listener in self._halting:
            with guard("interventions"):
                listener(run_id, kept.reason)

    def reason(self, run_id: str) -> str:
        """Why a run is to end; empty where it is not."""
        kept = self._kept.get(run_id)
        return kept.reason if kept is not None else ""

    def halting(self, run_id: str) -> bool:
        """Whether a run is to end."""
        return bool(self.reason(run_id))

    def end(self, run_id: str) -> RunHalted:
        """Say that a run is being ended now.

        Returns:
            The exception for the host, where the framework has no way of its own to tell it.
        """
        with self._lock:
            kept = self._of(run_id)
            kept.ended = True
            return RunHalted(kept.reason, run_id, kept.finding, kept.rows)

    def ending(self, run_id: str) -> str:
        """Why a run was ended by us; empty while it was not."""
        kept = self._kept.get(run_id)
        return kept.reason if kept is not None and kept.ended else ""

    def take_nudge(self, run_id: str) -> str:
        """What is to be said to the next model of a run, once; empty for nothing."""
        kept = self._kept.get(run_id)
        if kept is None or not kept.nudges:
            return ""
        with self._lock:
            text = "\n\n".join(kept.nudges)
            kept.nudges.clear()
            kept.waiting.clear()
        return text

    def _of(self, run_id: str) -> RunOrders:
        kept = self._kept.get(run_id)
        if kept is None:
            kept = self._kept[run_id] = RunOrders()
            while len(self._kept) > MAX_RUNS:
                self._kept.popitem(last=False)
        return kept
