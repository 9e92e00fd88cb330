"""Findings and notices as structured lines of the stdlib logger ``mastwatch``.

The chain is our own: structlog's global configuration and the host's log format are not touched,
and with no logging configured Python itself writes warnings to stderr.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any

import structlog

from mastwatch.findings import Finding, Notice, Severity
from mastwatch.watch import Sink

_LEVELS = {
    Severity.INFO: logging.INFO,
    Severity.SUSPECT: logging.INFO,
    Severity.WARN: logging.WARNING,
    Severity.ALERT: logging.ERROR,
}


MAX_SUPPRESSED = 1_024
"""Episodes of suppressed findings remembered, so that each is told once."""


def logger() -> Any:
    """A structlog logger of our own over the stdlib logger ``mastwatch``."""
    return structlog.wrap_logger(
        logging.getLogger("mastwatch"),
        wrapper_class=structlog.stdlib.BoundLogger,
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.KeyValueRenderer(
                key_order=["event", "mode", "severity"], sort_keys=False
            ),
        ],
        context_class=dict,
        cache_logger_on_first_use=True,
    )


class LogSink(Sink):
    """One line per finding (warn and above at WARNING and ERROR) and notice (INFO)."""

    name = "log"

    def __init__(self) -> None:
        self._log = logger()
        self._suppressed: OrderedDict[tuple[str, str], None] = OrderedDict()  # run, episode

    def on_finding(self, finding: Finding) -> None:
        """Write a finding."""
        self._log.log(
            _LEVELS[finding.severity],
            "finding",
            mode=finding.mode,
            severity=finding.severity.label,
            slug=finding.slug,
            agent=finding.agent,
            message_index=finding.message_index,
            evidence=list(finding.evidence),
            explanation=finding.explanation,
            run=finding.run_id,
            episode=finding.episode,
            detector=finding.detector,
        )

    def on_suppressed(self, finding: Finding, by: str, reason: str) -> None:
        """Write that a finding was suppressed, once per episode."""
        episode = (finding.run_id, finding.episode)
        if episode in self._suppressed:
            return
        self._suppressed[episode] = None
        if len(self._suppressed) > MAX_SUPPRESSED:
            self._suppressed.popitem(last=False)
        self._log.info(
            "finding suppressed",
            mode=finding.mode,
            severity=finding.severity.label,
            by=by,
            reason=reason,
            agent=finding.agent,
            message_index=finding.message_index,
            run=finding.run_id,
            episode=finding.episode,
            detector=finding.detector,
        )

    def on_notice(self, notice: Notice) -> None:
        """Write a notice."""
        self._log.info(
            "notice",
            name=notice.name,
            severity=notice.severity.label,
            agent=notice.agent,
            message_index=notice.message_index,
            explanation=notice.explanation,
            run=notice.run_id,
        )
