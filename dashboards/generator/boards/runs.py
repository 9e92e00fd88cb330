"""Run and agent: what runs do, how long it takes, and where they stand still."""

from __future__ import annotations

from generator.boards.common import (
    AGENT,
    ENVIRONMENT,
    FRAMEWORK,
    JOB,
    LINKS,
    NONE_ATTRIBUTED,
    TEXTS,
    deciding,
    or_none,
    share,
)
from generator.spec import Dashboard, Panel, Query, Row, Scope
from mastwatch import metric_names as names
from mastwatch.panels.promql import select

_VARIABLES = (JOB, ENVIRONMENT, FRAMEWORK, AGENT)
_SCOPE = Scope(_VARIABLES)


def board() -> Dashboard:
    """The dashboard."""
    return Dashboard(
        name="run-and-agent",
        title="mastwatch: Run and agent",
        description="Messages, tool calls, latencies and stalled runs. Put a trace id, or the name "
        "of a report's file, into the head of the page: the links lead there.",
        rows=(_now(), _runs(), _agents(), _calls(), _own()),
        variables=_VARIABLES,
        texts=TEXTS,
        links=LINKS,
    )


def _now() -> Row:
    s = _SCOPE
    return Row(
        "Now",
        (
            Panel(
                "Runs going on", "Those that wait for a person included.", "stat",
                (Query(s.now(names.RUNS_ACTIVE)),), width=6,
            ),
            Panel(
                "Longest without an event",
                "Of runs that wait for no person. Minutes here are a run that stands still.",
                "stat", (Query(s.now(names.RUN_OLDEST_IDLE, operator="max")),),
                unit="s", width=6,
            ),
            Panel(
                "Watched without text",
                "Runs whose messages carry no text: detectors that read cannot speak of them.",
                "stat", (Query(s.now(names.RUNS_WITHOUT_TEXT)),), width=6,
            ),
            Panel(
                "Success, as the app says",
                "Share of the outcomes that the app reported with `mastwatch.outcome()`.",
                "stat",
                (Query(share(s, "gained", names.RUN_OUTCOMES, "", "true", success="~true|false")),),
                unit="percentunit", width=6, colour="good", empty="nothing reported",
            ),
        ),
    )  # fmt: skip


def _runs() -> Row:
    s = _SCOPE
    return Row(
        "Runs",
        (
            Panel(
                "Runs going on, by framework", "A line that only rises: runs that never end.",
                "lines", (Query(s.now(names.RUNS_ACTIVE, "framework"), "{{framework}}"),), width=6,
            ),
            Panel(
                "Longest without an event, by framework",
                "A line that climbs steadily is one run that stands still.",
                "lines", (Query(s.now(names.RUN_OLDEST_IDLE, "framework", "max"),
                                "{{framework}}"),),
                unit="s", width=6,
            ),
            Panel(
                "Duration of runs", "Start to end.", "lines", s.quantiles(names.RUN_DURATION),
                unit="s", width=6,
            ),
            Panel(
                "Messages per run", "Utterances as a reader of the transcript counts them.",
                "lines", s.quantiles(names.RUN_MESSAGES), width=6,
            ),
        ),
    )  # fmt: skip


def _agents() -> Row:
    s = _SCOPE
    found = s.gained(names.AGENT_FINDINGS, "agent severity")
    return Row(
        "Agents",
        (
            Panel(
                "Messages, by agent", "Per minute. One agent that speaks alone is worth a look.",
                "stack", (Query(s.per_minute(names.MESSAGES, "agent"), "{{agent}}"),),
            ),
            Panel(
                "Findings, by agent", "The fifteen with the most, in the time shown.",
                "bars", (Query(f"topk(15, {found})", "{{agent}} {{severity}}"),),
            ),
            Panel(
                "Failures decided, by agent",
                "Failed runs whose deciding step is this agent's, sure or likely, of those that "
                "were attributed. The fifteen with the most, in the time shown.",
                "bars", (Query(f"topk(15, {deciding(s, 'agent')})", "{{agent}}"),),
                empty=NONE_ATTRIBUTED,
            ),
        ),
    )  # fmt: skip


def _calls() -> Row:
    s = _SCOPE
    return Row(
        "Tools and models",
        (
            Panel(
                "Tool calls", "Per minute, those that came back.", "stack",
                (Query(s.per_minute(names.TOOL_CALLS, "tool status"), "{{tool}} {{status}}"),),
            ),
            Panel(
                "Tool calls that failed", "Share of calls, by tool.", "lines",
                (Query(share(s, "rate", names.TOOL_CALLS, "tool", "error", status="~.+"),
                       "{{tool}}"),),
                unit="percentunit",
            ),
            Panel(
                "Time of tool calls", "Median and 95th percentile, by tool.", "lines",
                s.quantiles(names.TOOL_CALL_SECONDS, "tool"), unit="s",
            ),
            Panel(
                "Model calls", "Per minute, those that came back.", "stack",
                (Query(s.per_minute(names.MODEL_CALLS, "model status"), "{{model}} {{status}}"),),
                width=12,
            ),
            Panel(
                "Time of model calls", "Median and 95th percentile, by model.", "lines",
                s.quantiles(names.MODEL_CALL_SECONDS, "model"), unit="s", width=12,
            ),
        ),
    )  # fmt: skip


def _own() -> Row:
    s = _SCOPE
    hooks = select(names.HOOK_STATUS, s.matchers(names.HOOK_STATUS, {}))
    return Row(
        "mastwatch itself",
        (
            Panel(
                "Hooks",
                "Places of a framework that are watched, and those that it does not have any more. "
                "Which ones: `mastwatch doctor`.",
                "bars",
                (
                    Query(s.now(names.HOOK_STATUS, "framework"), "{{framework}} in place"),
                    Query(f"count by (framework) ({hooks}) - sum by (framework) ({hooks})",
                          "{{framework}} missing"),
                ),
            ),
            Panel(
                "Time of detectors", "95th percentile of one event in one detector.", "lines",
                (Query(s.quantile(0.95, names.DETECTOR_SECONDS, "detector"), "{{detector}}"),),
                unit="s",
            ),
            Panel(
                "Dropped, repeated, errors",
                "Events lost at a bound, events reported more than once, errors of our own, in the "
                "time shown.",
                "bars",
                (
                    Query(or_none(s.gained(names.EVENTS_DROPPED, "reason"), "reason"),
                          "dropped: {{reason}}"),
                    Query(s.gained(names.DUPLICATE_EVENTS), "repeated"),
                    Query(or_none(s.gained(names.INTERNAL_ERRORS, "where"), "where"),
                          "errors in: {{where}}"),
                ),
            ),
            Panel(
                "Versions", "What runs where.", "table",
                (Query(s.now(names.BUILD_INFO, "job instance version taxonomy_version", "max")),),
                width=24,
            ),
        ),
    )  # fmt: skip
