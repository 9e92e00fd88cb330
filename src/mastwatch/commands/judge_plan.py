"""What ``mastwatch judge --dry-run`` prints: what judging would take."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO

from mastwatch.commands.show import printable
from mastwatch.judge.preflight import Asked, passed
from mastwatch.reports import wording

if TYPE_CHECKING:
    from mastwatch.judge.preflight import Estimate
    from mastwatch.store import Limits


class Plan:
    """Prints estimates.

    Args:
        stream: Where to.
        plain: One JSON object per line.
    """

    def __init__(self, stream: TextIO, *, plain: bool) -> None:
        self._stream = stream
        self._plain = plain
        self._sums: Counter[str] = Counter()
        self._usd: float | None = 0.0

    def run(self, estimate: Estimate) -> None:
        """Print what one run takes."""
        least, most = estimate.least, estimate.most
        self._sums["runs"] += 1
        for when, asked in (("least", least), ("most", most)):
            self._sums[f"{when}_calls"] += asked.calls
            self._sums[f"{when}_in"] += asked.input_tokens
            self._sums[f"{when}_out"] += asked.output_tokens
        self._usd = None if most.usd is None or self._usd is None else self._usd + most.usd
        if self._plain:
            self._write(
                json.dumps({"run": estimate.run_id, **_without(asdict(estimate), "run_id")})
            )
            return
        self._write(
            f"{printable(estimate.run_id)}  {_between(least.calls, most.calls)} calls, "
            f"{_between(least.input_tokens, most.input_tokens)} tokens in, at most "
            f"{most.output_tokens:,} out, {_at_most(most.usd)}{_passed(estimate.over)}"
        )

    def end(self, limits: Limits) -> None:
        """Print the total, and which limits for all runs together it may pass."""
        s = self._sums
        over = passed(Asked(s["most_calls"], s["most_in"], s["most_out"], self._usd), limits)
        if self._plain:
            total = {
                "runs": s["runs"],
                "calls": [s["least_calls"], s["most_calls"]],
                "input_tokens": [s["least_in"], s["most_in"]],
                "output_tokens": [s["least_out"], s["most_out"]],
                "usd": None if self._usd is None else round(self._usd, 6),
                "over": over,
            }
            self._write(json.dumps({"total": total}))
            return
        self._write(
            f"total: {wording.count(s['runs'], 'run')}, "
            f"{_between(s['least_calls'], s['most_calls'])} calls, "
            f"{_between(s['least_in'], s['most_in'])} tokens in, at most {s['most_out']:,} out, "
            f"{_at_most(self._usd)}{_passed(over)}; nothing was sent"
        )

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")


def _without(shown: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in shown.items() if key != name}


def _between(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _passed(over: Sequence[str]) -> str:
    return f"; over the limit of {', '.join(over)}" if over else ""


def _at_most(usd: float | None) -> str:
    return "no price known" if usd is None else f"at most {wording.money(usd)}"
