"""What detectors and judges say about a run: findings, and notices that are no failure mode."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from mastwatch import taxonomy


class Severity(IntEnum):
    """How sure and how urgent, ordered: ``INFO < SUSPECT < WARN < ALERT``.

    ``SUSPECT`` never pages anyone: it is a metric and a reason to ask the judge.

    >>> Severity.WARN > Severity.SUSPECT, Severity.WARN.label, Severity.WARN.score
    (True, 'warn', 0.75)
    """

    INFO = 1
    SUSPECT = 2
    WARN = 3
    ALERT = 4

    @property
    def label(self) -> str:
        """Lower-case name, as it stands on spans and metrics."""
        return self.name.lower()

    @property
    def score(self) -> float:
        """Score of the ``gen_ai.evaluation.result`` event, 0 to 1."""
        return self.value / 4

    @classmethod
    def parse(cls, text: str) -> Severity:
        """Read a severity from its name, in any case.

        Raises:
            ValueError: ``text`` names no severity.
        """
        try:
            return cls[text.strip().upper()]
        except KeyError:
            known = ", ".join(s.label for s in cls)
            raise ValueError(f"{text!r} is no severity; known: {known}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One failure mode seen in one run, at one place.

    Attributes:
        mode: MAST code, ``FM-1.3``.
        severity: Level of this finding; a rise within one episode is a new Finding.
        detector: Name of the detector (or judge) that speaks.
        run_id: The run it happened in.
        agent: The agent that shows the fault; empty where no single agent does.
        message_index: Row of the transcript at which it fired, from 0.
        evidence: Rows of the transcript that show it, ascending.
        explanation: One sentence of agents, tools, counts and indices; never message text.
        fingerprint: Stable over runs and restarts (mode, detector, agent, normalised key).
        episode: Identifies one loop, overrun or restart; all its rises share it.
        framework: Framework of the run, as on the metrics.
        source: ``detector`` or ``judge``.
        tool: The tool whose calls show the fault; empty where it is no single tool's.
    """

    mode: str
    severity: Severity
    detector: str
    run_id: str
    agent: str
    message_index: int
    evidence: tuple[int, ...]
    explanation: str
    fingerprint: str
    episode: str = ""
    framework: str = ""
    source: str = "detector"
    tool: str = ""

    @property
    def slug(self) -> str:
        """The mode's stable key, ``step_repetition``."""
        return taxonomy.mode(self.mode).slug

    @property
    def category(self) -> str:
        """The mode's MAST category, ``system_design``."""
        return taxonomy.mode(self.mode).category.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something worth knowing that is no failure mode (``retry_storm``, ``replan``, ...).

    Attributes:
        name: What it is, snake case.
        run_id: The run it happened in.
        message_index: Row of the transcript, from 0.
        explanation: One sentence; never message text.
        key: Tells apart several notices of one name in a run; each key is said once.
        agent: The agent concerned, or empty.
        severity: ``INFO``; ``SUSPECT`` for ``retry_storm``.
        detector: Who speaks.
        evidence: Rows of the transcript that show it, ascending.
        framework: Framework of the run.
    """

    name: str
    run_id: str
    message_index: int
    explanation: str
    key: str = ""
    agent: str = ""
    severity: Severity = Severity.INFO
    detector: str = ""
    evidence: tuple[int, ...] = ()
    framework: str = ""
