"""Who decides failures, over many runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mastwatch.reports.cases import Case, Decision
from mastwatch.reports.intervals import Interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """An agent and the failures it decided.

    Attributes:
        decided: Runs it decided.
        perhaps: Runs in which it is the likeliest, and no candidate survived its check.
        runs: Runs with a deciding step, sure or not, that it took part in.
        share: Of ``decided`` in ``runs``, with its interval.
        modes: How often each mode shows in its deciding steps, by key.
    """

    decided: int
    perhaps: int
    runs: int
    share: Interval | None
    modes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """Who decides failures.

    Attributes:
        results: Attributed runs by result.
        reasons: Why there is no step, by reason.
        agents: By agent, those who decide most first.
    """

    results: Mapping[str, int]
    reasons: Mapping[str, int]
    agents: Mapping[str, Decider]


def deciders(cases: Iterable[Case]) -> Deciders:
    """Count who decides failures.

    Args:
        cases: The runs; those that were not attributed are left out.
    """
    # Imported when used: the package brings its methods along, which a report does not need.
    from mastwatch.attribution.steps import normal_name

    asked = [(run, run.decision) for run in cases if run.decision is not None]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    modes: dict[str, Counter[str]] = defaultdict(Counter)
    took_part: Counter[str] = Counter()
    for run, decision in asked:
        if decision.step is None:
            continue
        counts[decision.agent][decision.result] += 1
        modes[decision.agent].update(decision.modes)
        took_part.update({decision.agent, *map(normal_name, run.agents)})
    order = sorted(counts, key=lambda agent: (*(-n for n in _decided(counts[agent])), agent))
    return Deciders(
        results=dict(Counter(decision.result for _, decision in asked)),
        reasons=_reasons(decision for _, decision in asked),
        agents={agent: _decider(counts[agent], took_part[agent], modes[agent]) for agent in order},
    )


def _decided(counts: Counter[str]) -> tuple[int, int]:
    return counts["attributed"], counts["unverified"]


def _decider(counts: Counter[str], runs: int, modes: Counter[str]) -> Decider:
    decided, perhaps = _decided(counts)
    return Decider(
        decided=decided,
        perhaps=perhaps,
        runs=runs,
        share=wilson(decided, runs),
        modes=dict(modes.most_common()),
    )


def _reasons(decisions: Iterable[Decision]) -> dict[str, int]:
    counts = Counter(
        decision.reason or "unknown" for decision in decisions if decision.step is None
    )
    return dict(counts.most_common())
