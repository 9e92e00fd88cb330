"""The names and labels of all metrics; exporters, rules and dashboards take them from here.

They are a promise to whoever wrote an alert on them. What is exported, what the alerts ask for and
what the panels show all come from this table, so none of them can be renamed alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]
PREFIX = "mastwatch_"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric family.

    Attributes:
        kind: How it is counted.
        name: As Prometheus shows it.
        help: What it counts.
        labels: Its labels, in the order the exporter gives their values.
        tagged: Whether labels made of run tags (``metric_labels``) are added.
    """

    kind: Kind
    name: str
    help: str
    labels: tuple[str, ...] = ()
    tagged: bool = False

    def __str__(self) -> str:
        return self.name

    def part(self, suffix: Literal["bucket", "sum", "count"]) -> Metric:
        """A series of a histogram, as a counter: ``_bucket`` has the label ``le`` too.

        >>> JUDGE_SECONDS.part("bucket").labels
        ('le',)
        """
        extra = ("le",) if suffix == "bucket" else ()
        return Metric("counter", f"{self.name}_{suffix}", self.help, (*self.labels, *extra))


def _counter(name: str, text: str, *labels: str, tagged: bool = False) -> Metric:
    return Metric("counter", f"{PREFIX}{name}_total", text, labels, tagged)


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric("gauge", PREFIX + name, text, labels)


def _histogram(name: str, text: str, *labels: str) -> Metric:
    return Metric("histogram", PREFIX + name, text, labels)


# fmt: off
# Runs.
RUNS = _counter("runs", "Runs that ended or paused", "framework", "outcome", tagged=True)
RUNS_ACTIVE = _gauge("runs_active", "Runs going on", "framework")
RUN_OLDEST_IDLE = _gauge(
    "run_oldest_idle_seconds", "Seconds since the last event of the longest idle active run",
    "framework",
)
RUNS_WITHOUT_TEXT = _gauge(
    "runs_without_text", "Active runs watched without message text", "framework"
)
RUN_OUTCOMES = _counter("run_outcomes", "Outcomes the host reported", "success", "source")
RUN_DURATION = _histogram("run_duration_seconds", "Runs, start to end", "framework")
RUN_MESSAGES = _histogram("run_messages", "Utterances per run", "framework")

# Messages and calls.
MESSAGES = _counter("messages", "Utterances", "framework", "agent", tagged=True)
TOOL_CALLS = _counter(
    "tool_calls", "Tool calls that came back", "framework", "tool", "status", tagged=True
)
TOOL_CALL_SECONDS = _histogram("tool_call_seconds", "Tool calls", "framework", "tool")
MODEL_CALLS = _counter("model_calls", "Model calls that came back", "model", "status")
MODEL_CALL_SECONDS = _histogram("model_call_seconds", "Model calls", "model")
TOKENS = _counter("tokens", "Tokens", "model", "type")
TOKENS_AFTER_FINDING = _counter(
    "tokens_after_finding",
    "Tokens spent in a run after its first finding (warn or above) of the mode",
    "mode", "model",
)

# Findings.
FINDINGS = _counter(
    "findings", "Findings: each rise of severity in an episode",
    "mode", "slug", "category", "severity", "source", "framework", tagged=True,
)
AGENT_FINDINGS = _counter(
    "agent_findings", "Findings by agent", "agent", "mode", "severity", "detector"
)
FLAGGED_RUNS = _counter(
    "flagged_runs", "Runs that reached the severity for the mode, each counted once per level",
    "mode", "severity", "framework", tagged=True,
)
SUPPRESSED_FINDINGS = _counter(
    "suppressed_findings",
    "Findings the host suppressed: by a rule's ignore or by allow() in its code",
    "mode", "severity", "by",
)
ACTIONS = _counter(
    "actions", "Done on findings: callbacks, webhooks, interventions", "action", "mode", "result"
)
NOTICES = _counter("notices", "Notices that are no failure mode", "name", "framework")
DETECTOR_SECONDS = _histogram(
    "detector_seconds", "One event in one detector (every 16th is measured)", "detector"
)

# mastwatch itself.
HOOK_STATUS = _gauge("hook_status", "1: hook in place, 0: missing", "framework", "hook")
EVENTS_DROPPED = _counter("events_dropped", "Lost at one of our bounds", "reason")
DUPLICATE_EVENTS = _counter("duplicate_events", "Events reported more than once")
INTERNAL_ERRORS = _counter("internal_errors", "Errors of mastwatch itself", "where")
BUILD_INFO = _gauge("build_info", "Always 1", "version", "taxonomy_version")

# The judge.
JUDGE_VERDICTS = _counter("judge_verdicts", "Verdicts", "mode", "verdict")
JUDGE_TASK_COMPLETED = _counter(
    "judge_task_completed", "Whether runs did their task", "verdict"
)
JUDGE_SECONDS = _histogram("judge_seconds", "Judging a run")
JUDGE_TOKENS = _counter("judge_tokens", "Tokens the judge took", "type")
JUDGE_COST = _counter(
    "judge_cost_usd", "What the judge and attribution cost, where prices are given"
)
JUDGE_QUEUE_DEPTH = _gauge(
    "judge_queue_depth",
    "Jobs of the whole store, to judge or attribute a run, that wait or are being done",
)
JUDGE_NOT_EVALUATED = _counter(
    "judge_not_evaluated", "Verdicts that could not be reached", "reason"
)
JUDGE_EVIDENCE = _counter("judge_evidence", "Quotes, checked against the run", "status")
JUDGE_AGREEMENT = _gauge(
    "judge_agreement_kappa", "Agreement with people, from the calibration in use", "mode"
)

# Attribution.
ATTRIBUTIONS = _counter(
    "attributions", "Failed runs asked for the step that decided them",
    "method", "framework", "agent", "result",
)
ATTRIBUTION_SECONDS = _histogram("attribution_seconds", "Attributing a run", "method")
ATTRIBUTION_TOKENS = _counter("attribution_tokens", "Tokens that attribution took", "type")
# fmt: on

METRICS: tuple[Metric, ...] = tuple(m for m in globals().copy().values() if isinstance(m, Metric))
"""All of them."""
