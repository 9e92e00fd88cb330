"""All rows of the table: people, chance, baselines and methods, on every subset and on all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mastwatch.evaluation.attribution.baselines import BASELINES, by_chance
from mastwatch.evaluation.attribution.cases import CRAFTED, GENERATED, Labelled
from mastwatch.evaluation.attribution.run import Key, failed, open_keys
from mastwatch.evaluation.attribution.score import answered, between_people, same_agent, score
from mastwatch.store import Attribution, Method

ALL = "all"
_ORDER = (GENERATED, CRAFTED)


def report(
    cases: Sequence[Labelled], methods: Sequence[Method], found: Mapping[Key, Attribution]
) -> dict[str, Any]:
    """Score everything.

    Args:
        cases: The runs.
        methods: Those that were asked.
        found: What they said, and maybe others. A run without an answer, the server's failures
            among them, is left out of its method's row and counted as missing.
    """
    wanted = {(method, case.trace.run_id) for method in methods for case in cases}
    asked = {key: said for key, said in found.items() if key in wanted}
    answers = {key: said for key, said in asked.items() if not failed(said)}
    by_subset: dict[str, list[Labelled]] = {name: [] for name in _ORDER}
    for case in cases:
        by_subset.setdefault(case.subset, []).append(case)
    parts = {name: members for name, members in by_subset.items() if members}
    if len(parts) > 1:
        parts[ALL] = list(cases)
    return {
        "subsets": [
            {"subset": name, "runs": len(part), "rows": _rows(part, methods, answers)}
            for name, part in parts.items()
        ],
        "asked": _asked(list(asked.values())),
        "missing": len(open_keys(cases, methods, found)),
        "answers": _answers(cases, methods, answers),
    }


def _rows(
    cases: Sequence[Labelled], methods: Sequence[Method], found: Mapping[Key, Attribution]
) -> list[dict[str, Any]]:
    rows = []
    if any(case.again for case in cases):
        rows.append({"who": "two annotators", "kind": "people", **between_people(cases)})
    rows.append({"who": "by chance", "kind": "baseline", **by_chance(cases)})
    subsets = list(dict.fromkeys(case.subset for case in cases))
    if CRAFTED in subsets:  # elsewhere names are logged as they are
        row = by_chance(cases, str)
        rows.append({"who": "by chance, names as logged", "kind": "baseline", **row})
    for baseline in BASELINES:
        if name := baseline.called(subsets):
            row = score(cases, [baseline.answer(case) for case in cases], baseline.metrics)
            rows.append({"who": name, "kind": "baseline", **row})
    for method in methods:
        pairs = [(case, found.get((method, case.trace.run_id))) for case in cases]
        done = [(case, answered(said)) for case, said in pairs if said is not None]
        row = score([case for case, _ in done], [said for _, said in done])
        rows.append({"who": method, "kind": "method", **row})
    return rows


def _asked(found: Sequence[Attribution]) -> dict[str, Any]:
    if not found:
        return {}
    return {
        "model": sorted({item.model for item in found if item.model}),
        "provider": found[0].provider,
        "prompt_version": sorted({item.prompt_version for item in found}),
        "ground_truth": any(item.ground_truth for item in found),
        "not_evaluated": _reasons(found),
    }


def _reasons(found: Sequence[Attribution]) -> dict[str, int]:
    reasons = [item.reason for item in found if item.result == "not_evaluated"]
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def _answers(
    cases: Sequence[Labelled], methods: Sequence[Method], found: Mapping[Key, Attribution]
) -> list[dict[str, Any]]:
    """Every answer beside its label; no text of the runs."""
    return [
        {
            "run": case.trace.run_id,
            "subset": case.subset,
            "method": method,
            "result": said.result,
            "step": said.step,
            "agent": said.agent,
            "label_step": case.step,
            "label_agent": case.agent,
            "step_right": said.step == case.step,
            "agent_right": same_agent(said.agent, case.agent),
        }
        for method in methods
        for case in cases
        if (said := found.get((method, case.trace.run_id))) is not None
    ]
