"""The base class of live detectors."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, ClassVar

from mastwatch.findings import Finding, Notice, Severity

if TYPE_CHECKING:
    from mastwatch.events import Event
    from mastwatch.signals import Signals


class Detector:
    """Watches one conversation and says when it sees its failure mode.

    The contract, in points:

    1. One instance per conversation (a run, or a branch of it); ``observe`` gets its events in
       order, one at a time. No state is shared, so none needs a lock.
    2. Return what holds *now*: a Finding at its present level, as often as the rule holds. The
       watch lets only rises of severity within an episode through and re-arms it after quiet.
    3. Events are frozen and may be kept; state stays bounded however long the run.
    4. No clock, no I/O, no OpenTelemetry, no framework: the same events give the same findings,
       live or from last year's log. Unknown event types are ignored.
    5. Text may be None (withheld): then say nothing about text.
    6. Parameters are keyword-only constructor arguments with defaults, so that
       ``MyDetector()`` works; their meaning and unit stand in the docstring.

    Attributes:
        mode: The MAST code it speaks for.
        name: Its own name, as on metrics; snake case.
        ceiling: The level its findings never exceed; ``SUSPECT`` for hints that page nobody.
        observes: The event types it is called for; all of them when empty. Naming them saves the
            host the time of the other calls; ``signals`` take in every event all the same.
    """

    mode: ClassVar[str]
    name: ClassVar[str]
    ceiling: ClassVar[Severity] = Severity.ALERT
    observes: ClassVar[tuple[type[Event], ...]] = ()

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event; ``signals`` have been brought up to date with it already."""
        raise NotImplementedError

    def finding(
        self,
        severity: Severity,
        signals: Signals,
        *,
        key: str,
        agent: str,
        evidence: tuple[int, ...],
        explanation: str,
        owner: str | None = None,
        tool: str = "",
    ) -> Finding:
        """Build a Finding at the present row.

        Args:
            severity: Its level now.
            signals: Of the conversation; gives run, framework and row.
            key: Names the loop, overrun or restart: equal keys are one episode. Use digests and
                names, never message text.
            agent: Who shows the fault; empty where no single agent does.
            evidence: Rows of the transcript that show it.
            explanation: One sentence of agents, tools, counts and indices; never message text.
            owner: Who the episode goes by, where one episode takes in several agents in turn;
                ``agent`` unless given.
            tool: The tool whose calls show the fault, where it is one tool's.
        """
        named = agent if owner is None else owner
        parts = "\x1f".join((self.mode, self.name, named, key))
        return Finding(
            mode=self.mode,
            severity=min(severity, self.ceiling),
            detector=self.name,
            run_id=signals.run_id,
            agent=agent,
            tool=tool,
            message_index=signals.index,
            evidence=tuple(sorted(set(evidence))),
            explanation=explanation,
            fingerprint=hashlib.blake2b(parts.encode(), digest_size=8).hexdigest(),
            framework=signals.framework,
        )

    def notice(
        self,
        name: str,
        signals: Signals,
        *,
        explanation: str,
        key: str = "",
        agent: str = "",
        severity: Severity = Severity.INFO,
        evidence: tuple[int, ...] = (),
    ) -> Notice:
        """Build a Notice at the present row; each ``(name, key)`` is said once per run."""
        return Notice(
            name=name,
            run_id=signals.run_id,
            message_index=signals.index,
            explanation=explanation,
            key=key,
            agent=agent,
            severity=severity,
            detector=self.name,
            evidence=tuple(sorted(set(evidence))),
            framework=signals.framework,
        )
