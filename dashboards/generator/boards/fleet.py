"""Fleet: what failures cost, and whether all is well."""

from __future__ import annotations

from generator.boards.common import (
    ENVIRONMENT,
    FATAL,
    FRAMEWORK,
    JOB,
    SURE,
    completed,
    flagged,
    share,
    wasted,
)
from generator.spec import Dashboard, Panel, Query, Row, Scope
from mastwatch import metric_names as names

_VARIABLES = (JOB, ENVIRONMENT, FRAMEWORK)
_SCOPE = Scope(_VARIABLES)


def board() -> Dashboard:
    """The dashboard."""
    return Dashboard(
        name="fleet",
        title="mastwatch: Fleet",
        description="What failures cost, which failure modes there are, and whether runs, judge "
        "and mastwatch itself are well.",
        rows=(_cost(), _modes(), _fatal(), _runs(), _health()),
        variables=_VARIABLES,
    )


def _cost() -> Row:
    s = _SCOPE
    return Row(
        "What failures cost",
        (
            Panel(
                "Tokens after the first finding",
                "Tokens that runs spent after a failure mode had been found in them, at warn or "
                "above. A run may show several modes, so this is the mode with the most: the "
                "least that was spent too late.",
                "stat", (Query(wasted(s, "gained")),), width=6, colour="bad",
            ),
            Panel(
                "Share of all tokens",
                "The same, of all tokens. What stopping at the first finding would have saved.",
                "stat", (Query(f"{wasted(s, 'gained')}\n/ {s.gained(names.TOKENS)}"),),
                unit="percentunit", width=6, colour="bad",
            ),
            Panel(
                "Completed, by the judge",
                "Runs that did their task, of those that the judge could decide on. Empty without "
                "a judge.",
                "stat", (Query(completed(s, "gained")),),
                unit="percentunit", width=6, colour="good",
            ),
            Panel(
                "Runs ended",
                "Runs that ended, pauses left out.",
                "stat", (Query(s.gained(names.RUNS, outcome="!paused")),), width=6,
            ),
            Panel(
                "Tokens after the first finding, by mode",
                "Per minute. The same tokens count for each mode that was found in their run.",
                "stack",
                (Query(s.per_minute(names.TOKENS_AFTER_FINDING, "mode"), "{{mode}}"),), width=12,
            ),
            Panel(
                "Completed, by the judge, over time",
                "Share of judged runs that did their task, in a sliding hour.",
                "lines", (Query(completed(s, "hourly"), "completed"),),
                unit="percentunit", width=12, most=1,
            ),
        ),
    )  # fmt: skip


def _modes() -> Row:
    s = _SCOPE
    ended = s.hourly(names.RUNS, outcome="!paused")
    return Row(
        "Failure modes",
        (
            Panel(
                "Failure mode by time",
                "Runs at warn or above in each stretch of time. A row that lights up at a release "
                "is the release's.",
                "heat", (Query(flagged(s, "each"), "{{mode}}"),), width=24,
            ),
            Panel(
                "Share of runs, by mode",
                "Runs at warn or above per run that ended, in a sliding hour. Above 100 % when "
                "runs are flagged and do not end.",
                "lines",
                (Query(f"{flagged(s, 'hourly')}\n/ on () group_left () {ended}", "{{mode}}"),),
                unit="percentunit", width=12,
            ),
            Panel(
                "Findings per run, by category",
                "System design, misalignment between agents, verification: the categories of MAST "
                "have different remedies. Live and judge together, in a sliding hour.",
                "lines",
                (
                    Query(
                        f"{s.hourly(names.FINDINGS, 'category', severity=SURE)}\n"
                        f"/ on () group_left () {ended}",
                        "{{category}}",
                    ),
                ),
                width=12,
            ),
        ),
    )  # fmt: skip


def _fatal() -> Row:
    s = _SCOPE
    live, judged = FATAL.split("|")
    return Row(
        "Fatal modes: they occur almost only in failed runs",
        (
            Panel(
                f"{live}, live",
                "Runs that went on after they were over.",
                "stat", (Query(s.gained(names.FLAGGED_RUNS, mode=live, severity="alert")),),
                width=6, colour="bad",
            ),
            Panel(
                f"{judged}, by the judge",
                "Runs in which an agent kept from another what it needed.",
                "stat", (Query(s.gained(names.JUDGE_VERDICTS, mode=judged, verdict="present")),),
                width=6, colour="bad",
            ),
            Panel(
                "Fatal modes over time",
                "Findings at warn or above in a sliding hour, detectors and judge. A mark on the "
                "axis is an alert.",
                "stack",
                (
                    Query(
                        s.hourly(names.FINDINGS, "mode source", mode=f"~{FATAL}", severity=SURE),
                        "{{mode}} {{source}}", exemplars=True,
                    ),
                ),
                width=12,
            ),
        ),
    )  # fmt: skip


def _runs() -> Row:
    s = _SCOPE
    return Row(
        "Runs, tokens, models",
        (
            Panel(
                "Runs, by how they ended",
                "Per minute. `limit`: a cap ended it; `abandoned`: nobody did.",
                "stack", (Query(s.per_minute(names.RUNS, "outcome"), "{{outcome}}"),),
            ),
            Panel(
                "Tokens",
                "Per minute, what models were sent and what they wrote.",
                "stack", (Query(s.per_minute(names.TOKENS, "model type"), "{{model}} {{type}}"),),
            ),
            Panel(
                "Model calls that failed",
                "Share of calls.",
                "lines",
                (Query(share(s, "rate", names.MODEL_CALLS, "model", "error", status="~.+"),
                       "{{model}}"),),
                unit="percentunit",
            ),
        ),
    )  # fmt: skip


def _health() -> Row:
    s = _SCOPE
    return Row(
        "Health of the judge and of mastwatch",
        (
            Panel(
                "Judge: runs waiting",
                "Of the whole store. Rises for hours: give it more workers or a smaller sample.",
                "stat", (Query(s.now(names.JUDGE_QUEUE_DEPTH, operator="max")),), width=4,
            ),
            Panel(
                "Judge: no verdict",
                "Share of verdicts that could not be reached.",
                "stat",
                (Query(share(s, "gained", names.JUDGE_VERDICTS, "", "not_evaluated",
                             verdict="~.+")),),
                unit="percentunit", width=4, colour="bad",
            ),
            Panel(
                "Judge: cost",
                "Where prices are given.",
                "stat", (Query(s.gained(names.JUDGE_COST)),), unit="currencyUSD", width=4,
            ),
            Panel(
                "Events dropped",
                "Lost at a bound of mastwatch: other figures are too low.",
                "stat", (Query(f"{s.gained(names.EVENTS_DROPPED)} or vector(0)"),),
                width=4, colour="bad",
            ),
            Panel(
                "Errors of mastwatch",
                "Caught, counted, and no harm to the app. The log has the first of each kind.",
                "stat", (Query(f"{s.gained(names.INTERNAL_ERRORS)} or vector(0)"),),
                width=4, colour="bad",
            ),
            Panel(
                "Hooks missing",
                "Places of a framework that could not be watched; often a new version of it.",
                "stat",
                (Query(f"count({s.now(names.HOOK_STATUS, 'job framework hook', 'min')} == 0) "
                       "or vector(0)"),),
                width=4, colour="bad",
            ),
        ),
    )  # fmt: skip
