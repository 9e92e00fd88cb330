"""Who decides failures, and what finding out takes, counted."""

from __future__ import annotations

from typing import get_args

from mastwatch import metric_names as names
from mastwatch.sinks.metrics.instruments import Instruments
from mastwatch.sinks.metrics.labels import BoundedLabel
from mastwatch.store import Attribution, Trace, Usage
from mastwatch.store.attribution import METHODS, Result

NOBODY = "none"
"""Value of the label ``agent`` where no step was found."""
_SECONDS = (0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640)


class AttributionCounts:
    """Counts attributions.

    Args:
        instruments: What it counts with; whoever made them closes them.
    """

    def __init__(self, instruments: Instruments) -> None:
        self._framework, self._agent = BoundedLabel(), BoundedLabel()
        runs, tokens, seconds = (
            names.ATTRIBUTIONS,
            names.ATTRIBUTION_TOKENS,
            names.ATTRIBUTION_SECONDS,
        )
        self._runs = instruments.counter(runs, runs.labels)
        self._tokens = instruments.counter(tokens, tokens.labels)
        self._seconds = instruments.histogram(seconds, seconds.labels, _SECONDS)
        for kind in ("input", "output"):
            self._tokens.labels(kind)
        for method in METHODS:
            self._seconds.labels(method)

    def count(self, found: Attribution, trace: Trace) -> None:
        """Count an attribution."""
        framework = self._framework(trace.framework)
        agent = NOBODY if found.step is None else self._agent(found.agent)
        # The others too: what comes second for this agent is then an increase.
        for result in get_args(Result):
            if (result in ("attributed", "unverified")) == (found.step is not None):
                child = self._runs.labels(found.method, framework, agent, result)
                child.inc(int(result == found.result))
        self._seconds.labels(found.method).observe(found.usage.seconds)
        self.spent(found.usage)

    def spent(self, usage: Usage) -> None:
        """Count tokens, those of an attribution that is put off too."""
        self._tokens.labels("input").inc(usage.input_tokens)
        self._tokens.labels("output").inc(usage.output_tokens)
