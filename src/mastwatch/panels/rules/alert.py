"""One alerting rule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from mastwatch import taxonomy
from mastwatch.panels.rules.parameters import Parameters
from mastwatch.panels.yaml import Value

NO_MODE = "none"
"""The label ``mode`` of alerts that are about no failure mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert: every one has a mode, a severity, a summary and a page to read.

    Attributes:
        name: Without the prefix ``Mastwatch``.
        expr: PromQL; its labels are those of the alert.
        severity: ``critical`` wakes somebody, ``warning`` can wait until the morning.
        summary: One line.
        description: What was measured, and where to look.
        mode: MAST code; empty where the expression's label ``mode`` tells; ``none`` for none.
        source: ``judge`` where the judge said so; else empty.
        hold: Its ``for``; empty for at once.
        linger: Its ``keep_firing_for``; empty for none.
    """

    name: str
    expr: str
    severity: Literal["critical", "warning"]
    summary: str
    description: str
    mode: str = NO_MODE
    source: str = ""
    hold: str = ""
    linger: str = ""

    def rule(self, p: Parameters) -> Value:
        """As it stands in a rule file."""
        labels = {"severity": self.severity, "mode": self.mode, "source": self.source}
        waits = {"for": self.hold, "keep_firing_for": self.linger}
        return {
            "alert": f"Mastwatch{self.name}",
            "expr": self.expr,
            **{key: value for key, value in waits.items() if value},
            "labels": {key: value for key, value in labels.items() if value},
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                "runbook_url": self._runbook(p),
            },
        }

    def _runbook(self, p: Parameters) -> str:
        if self.mode.startswith("FM-"):
            return f"{p.runbooks}/{taxonomy.mode(self.mode).slug}.md"
        return f"{p.help_page}#{anchor(self.name)}"


def anchor(name: str) -> str:
    """The heading's anchor of an alert on the help page.

    >>> anchor("JudgeSpendsTooFast")
    'judge-spends-too-fast'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
