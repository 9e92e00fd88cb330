"""Series of everything that is exported, made up: two apps and a judge."""

from __future__ import annotations

import math
import random
import subprocess
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from zlib import crc32

from mastwatch import metric_names as names
from mastwatch import taxonomy
from mastwatch.events import OUTCOMES
from mastwatch.metric_names import METRICS, Metric
from mastwatch.panels.check import JUDGE

MODES = [mode.code for mode in taxonomy.MODES]
LIVE = ["FM-1.3", "FM-1.4", "FM-1.5", "FM-2.1", "FM-2.4", "FM-2.5", "FM-2.6", "FM-3.1", "FM-3.2"]
SURE = ["FM-1.3", "FM-1.5", "FM-2.1"]
VALUES: dict[str, list[str]] = {
    "framework": ["autogen", "langgraph"],
    "outcome": list(OUTCOMES),
    "agent": ["Planner", "Coder", "Reviewer", "User_Proxy"],
    "tool": ["search", "read_file", "run_tests"],
    "status": ["ok", "error"],
    "model": ["gpt-large", "gpt-small"],
    "type": ["input", "output"],
    "severity": ["suspect", "warn", "alert"],
    "by": ["allow", "ignore"],
    "name": ["retry_storm", "replan", "compaction"],
    "detector": ["step_repetition", "termination_unawareness", "conversation_reset", "judge"],
    "hook": ["messages", "tools"],
    "where": ["watch"],
    "success": ["true", "false"],
    "action": ["webhook", "halt", "nudge"],
    "result": ["done", "dry_run"],
    "method": ["propose_verify", "all_at_once"],
    "version": ["0.1.0"],
    "taxonomy_version": [taxonomy.TAXONOMY_VERSION],
}
BY_METRIC: dict[tuple[str, str], list[str]] = {
    (names.RUN_OUTCOMES.name, "source"): ["code"],
    (names.JUDGE_VERDICTS.name, "verdict"): ["present", "absent", "unsure", "not_evaluated"],
    (names.JUDGE_VERDICTS.name, "mode"): MODES,
    (names.JUDGE_TASK_COMPLETED.name, "verdict"): ["yes", "no", "unclear"],
    (names.JUDGE_NOT_EVALUATED.name, "reason"): ["budget", "schema", "timeout"],
    (names.JUDGE_EVIDENCE.name, "status"): ["verified", "repaired", "rejected"],
    (names.JUDGE_AGREEMENT.name, "mode"): MODES[:6],
    (names.EVENTS_DROPPED.name, "reason"): ["events"],
    (names.ATTRIBUTIONS.name, "result"): ["attributed", "unverified", "none", "not_evaluated"],
    (names.TOKENS_AFTER_FINDING.name, "mode"): SURE,
}
PER_SECOND = {
    names.TOKENS.name: 900.0,
    names.TOKENS_AFTER_FINDING.name: 60.0,
    names.MESSAGES.name: 0.6,
    names.MODEL_CALLS.name: 0.7,
    names.TOOL_CALLS.name: 0.3,
    names.RUNS.name: 0.02,
    names.FLAGGED_RUNS.name: 0.001,
    names.FINDINGS.name: 0.0008,
    names.JUDGE_TOKENS.name: 120.0,
    names.JUDGE_COST.name: 0.0002,
    names.JUDGE_VERDICTS.name: 0.004,
    names.AGENT_FINDINGS.name: 0.0002,
    names.SUPPRESSED_FINDINGS.name: 0.00003,
    names.NOTICES.name: 0.0004,
    names.ACTIONS.name: 0.00003,
    names.DUPLICATE_EVENTS.name: 0.0005,
    names.EVENTS_DROPPED.name: 0.0,
    names.INTERNAL_ERRORS.name: 0.0001,
    names.ATTRIBUTIONS.name: 0.0004,
    names.ATTRIBUTION_TOKENS.name: 40.0,
}
RARE = {"error": 0.06, "paused": 0.2, "abandoned": 0.1, "cancelled": 0.1, "unknown": 0.1,
        "limit": 0.25, "present": 0.08, "not_evaluated": 0.05, "unsure": 0.15, "alert": 0.4,
        "suspect": 1.6, "no": 0.4, "unclear": 0.15, "rejected": 0.1, "output": 0.2,
        "repaired": 0.2, "false": 0.3, "unverified": 0.3, "none": 0.15, "Coder": 2.0,
        "all_at_once": 0.2}  # fmt: skip
BUCKETS = {
    names.RUN_DURATION.name: (5, 30, 60, 120, 300, 600, 1800),
    names.RUN_MESSAGES.name: (5, 10, 20, 40, 80, 160),
    names.DETECTOR_SECONDS.name: (1e-6, 1e-5, 5e-5, 1e-4, 1e-3),
    names.JUDGE_SECONDS.name: (1, 5, 10, 20, 40, 80),
    names.ATTRIBUTION_SECONDS.name: (1, 5, 10, 20, 40, 80),
}
CALLS = (0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96)
GAUGES = {
    names.HOOK_STATUS.name: 1.0,
    names.BUILD_INFO.name: 1.0,
    names.RUNS_WITHOUT_TEXT.name: 0.0,
}


def openmetrics(start: int, end: int, step: int, metrics: Iterable[Metric] = METRICS) -> str:
    """All metrics over a time, as text."""
    times = range(start, end + 1, step)
    lines = [line for metric in metrics for line in _family(metric, times)]
    return "\n".join([*lines, "# EOF\n"])


def block(folder: Path, text: str) -> Path:
    """Prometheus' own format of it; returns where it is."""
    source, target = folder / "data.om", folder / "tsdb"
    source.write_text(text)
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(source), str(target)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return target


def _family(metric: Metric, times: range) -> Iterator[str]:
    yield f"# TYPE {metric.name.removesuffix('_total')} {metric.kind}"
    extra = ("environment",) if metric.tagged else ()
    choices = [
        BY_METRIC.get((metric.name, label)) or VALUES.get(label) or _other(label)
        for label in (*metric.labels, *extra)
    ]
    job = "judge" if metric.name.startswith(JUDGE) else "agents"
    for values in product(*choices):
        labels = dict(zip((*metric.labels, *extra), values, strict=True))
        if "category" in labels:
            mode = taxonomy.mode(labels["mode"])
            if (labels["slug"], labels["category"]) != (mode.slug, mode.category.value):
                continue
        labels |= {"job": job, "instance": "127.0.0.1:9464"}
        yield from _series(metric, labels, times)


def _other(label: str) -> list[str]:
    return {
        "mode": LIVE,
        "slug": [mode.slug for mode in taxonomy.MODES],
        "category": [category.value for category in taxonomy.Category],
        "source": ["detector", "judge"],
        "environment": ["production"],
    }.get(label, ["one", "other"])


def _series(metric: Metric, labels: dict[str, str], times: range) -> Iterator[str]:
    key = ",".join(f'{name}="{value}"' for name, value in labels.items())
    seed = crc32(f"{metric.name}{key}".encode())
    rng = random.Random(seed)
    if metric.kind == "gauge":
        for at in times:
            yield f"{metric.name}{{{key}}} {_gauge(metric, seed, at):.4g} {at}"
    elif metric.kind == "counter":
        total = 0.0
        for at, grown in _growth(metric, labels, times, rng):
            total += grown
            yield f"{metric.name}{{{key}}} {total:.6g} {at}"
    else:
        yield from _histogram(metric, key, times, rng)


def _growth(
    metric: Metric, labels: dict[str, str], times: range, rng: random.Random
) -> Iterator[tuple[int, float]]:
    rate = PER_SECOND.get(metric.name, 0.004) * math.prod(RARE.get(v, 1.0) for v in labels.values())
    rate *= _happens(labels) * (0.3 + 1.4 * rng.random())
    whole = metric.name != names.JUDGE_COST.name
    for at in times:
        expected = max(0.0, rate * times.step * (1 + 0.6 * math.sin(at / 2_400 + rng.random())))
        grown = expected * rng.uniform(0.7, 1.3)
        yield at, float(int(grown + rng.random())) if whole else grown


def _happens(labels: dict[str, str]) -> bool:
    """Whether it can come to this: hints stay suspicions, and a detector has one mode."""
    if "severity" not in labels:
        return True
    mode, severity = taxonomy.mode(labels["mode"]), labels["severity"]
    told_by = labels.get("detector") or labels.get("source", "detector")
    if told_by == "judge":
        return severity == ("alert" if mode.fatal else "warn")
    possible = mode.code in SURE or severity == "suspect"
    return possible and told_by in ("detector", mode.slug)


def _gauge(metric: Metric, seed: int, at: int) -> float:
    if metric.name in GAUGES:
        return GAUGES[metric.name]
    if metric is names.JUDGE_AGREEMENT:
        return 0.4 + 0.5 * (seed % 100) / 100
    if metric is names.RUN_OLDEST_IDLE:
        return (at + seed) % 1_500 / 10
    return round(4 + 3 * math.sin(at / 900 + seed % 7))


def _histogram(metric: Metric, key: str, times: range, rng: random.Random) -> Iterator[str]:
    bounds = [*BUCKETS.get(metric.name, CALLS), math.inf]
    counts, total, glue = [0.0] * len(bounds), 0.0, "," if key else ""
    lines: list[str] = []
    for at in times:
        for n in range(len(bounds)):
            counts[n] += rng.random() * math.exp(-abs(n - len(bounds) / 2)) * times.step / 30
        total += times.step / 10
        running = 0.0
        for bound, count in zip(bounds, counts, strict=True):
            running += count
            le = "+Inf" if math.isinf(bound) else repr(float(bound))
            lines.append(f'{metric.name}_bucket{{{key}{glue}le="{le}"}} {running:.5g} {at}')
        lines.append(f"{metric.name}_count{{{key}}} {running:.5g} {at}")
        lines.append(f"{metric.name}_sum{{{key}}} {total:.5g} {at}")
    yield from lines
