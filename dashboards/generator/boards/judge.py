"""Judge: what it says, who decides failures, what it costs, and whether people agree."""

from __future__ import annotations

from generator.boards.common import (
    JUDGE_ENVIRONMENT,
    JUDGE_JOB,
    JUDGED_MODE,
    LINKS,
    NONE_ATTRIBUTED,
    TEXTS,
    completed,
    deciding,
    share,
)
from generator.spec import Dashboard, Panel, Query, Row, Scope
from mastwatch import metric_names as names

_VARIABLES = (JUDGE_JOB, JUDGE_ENVIRONMENT, JUDGED_MODE)
_SCOPE = Scope(_VARIABLES)


def board() -> Dashboard:
    """The dashboard."""
    return Dashboard(
        name="judge",
        title="mastwatch: Judge",
        description="Verdicts on finished runs: what was found, who decided the failures, what "
        "could not be decided and why, the queue, the spending, and how far people agree.",
        rows=(_verdicts(), _attribution(), _not_evaluated(), _queue(), _cost()),
        variables=_VARIABLES,
        texts=TEXTS,
        links=LINKS,
    )


def _verdicts() -> Row:
    s = _SCOPE
    decided = "!not_evaluated"
    present = share(s, "gained", names.JUDGE_VERDICTS, "mode", "present", verdict=decided)
    return Row(
        "Verdicts",
        (
            Panel(
                "Completed", "Runs that did their task, of those it could decide on.", "stat",
                (Query(completed(s, "gained")),), unit="percentunit", width=6, colour="good",
            ),
            Panel(
                "Runs judged", "In the time shown.", "stat",
                (Query(s.gained(names.JUDGE_SECONDS.part("count"))),), width=6,
            ),
            Panel(
                "Modes found per run", "Verdicts `present` per judged run.", "stat",
                (Query(f"{s.gained(names.JUDGE_VERDICTS, verdict='present')}\n"
                       f"/ {s.gained(names.JUDGE_SECONDS.part('count'))}"),),
                unit="none", width=6,
            ),
            Panel(
                "No verdict", "Share of verdicts that could not be reached.", "stat",
                (Query(share(s, "gained", names.JUDGE_VERDICTS, "", "not_evaluated",
                             verdict="~.+")),),
                unit="percentunit", width=6, colour="bad",
            ),
            Panel(
                "Verdicts", "In a sliding hour, all modes.", "stack",
                (Query(s.hourly(names.JUDGE_VERDICTS, "verdict"), "{{verdict}}"),),
            ),
            Panel(
                "Share of runs with the mode", "Of those it could decide on.", "bars",
                (Query(present, "{{mode}}"),), unit="percentunit", most=1,
            ),
            Panel(
                "Task completed", "Runs in a sliding hour.", "stack",
                (Query(s.hourly(names.JUDGE_TASK_COMPLETED, "verdict"), "{{verdict}}"),),
            ),
        ),
    )  # fmt: skip


def _attribution() -> Row:
    s = _SCOPE
    found = deciding(s, "agent result")
    return Row(
        "Who decides failures",
        (
            Panel(
                "Failed runs attributed",
                "Asked for the step that decided them, in the time shown.", "stat",
                (Query(s.gained(names.ATTRIBUTIONS)),), width=6, empty=NONE_ATTRIBUTED,
            ),
            Panel(
                "With a deciding step", "Share of the failed runs that were attributed.", "stat",
                (Query(share(s, "gained", names.ATTRIBUTIONS, "", "attributed", result="~.+")),),
                unit="percentunit", width=6, colour="good", empty=NONE_ATTRIBUTED,
            ),
            Panel(
                "Not attributed",
                "Share that could not be asked, or gave nothing that can be used.", "stat",
                (Query(share(s, "gained", names.ATTRIBUTIONS, "", "not_evaluated", result="~.+")),),
                unit="percentunit", width=6, colour="bad", empty=NONE_ATTRIBUTED,
            ),
            Panel(
                "Tokens of attribution", "In the time shown.", "stat",
                (Query(s.gained(names.ATTRIBUTION_TOKENS)),), width=6,
            ),
            Panel(
                "Who decides failures, by agent",
                "Runs in the time shown whose deciding step is this agent's, the fifteen agents "
                "with the most. `unverified`: the likeliest, no candidate survived its check.",
                "bars", (Query(f"topk(15, {found})", "{{agent}} {{result}}"),),
                empty=NONE_ATTRIBUTED,
            ),
            Panel(
                "Attributions", "Runs in a sliding hour. `none`: no deciding step was seen.",
                "stack", (Query(s.hourly(names.ATTRIBUTIONS, "result"), "{{result}}"),),
                empty=NONE_ATTRIBUTED,
            ),
            Panel(
                "Time per attribution", "Median and 95th percentile, by method.", "lines",
                s.quantiles(names.ATTRIBUTION_SECONDS, "method"), unit="s", empty=NONE_ATTRIBUTED,
            ),
        ),
    )  # fmt: skip


def _not_evaluated() -> Row:
    s = _SCOPE
    return Row(
        "What could not be said",
        (
            Panel(
                "Why there is no verdict",
                "`budget`: the limit was reached; `schema`, `unparsable`: the model answers out of "
                "form; `rate_limited`, `timeout`: the provider.",
                "bars", (Query(s.gained(names.JUDGE_NOT_EVALUATED, "reason"), "{{reason}}"),),
            ),
            Panel(
                "Quotes checked against the run",
                "In a sliding hour. A verdict needs quotes that stand in the run. Many `rejected`: "
                "the model invents.",
                "stack", (Query(s.hourly(names.JUDGE_EVIDENCE, "status"), "{{status}}"),),
            ),
            Panel(
                "Agreement with people",
                "Cohen's kappa by mode, from the calibration in use.",
                "bars", (Query(s.now(names.JUDGE_AGREEMENT, "mode", "max"), "{{mode}}"),),
                most=1, empty="no calibration",
            ),
        ),
    )  # fmt: skip


def _queue() -> Row:
    s = _SCOPE
    return Row(
        "Queue",
        (
            Panel(
                "Runs waiting",
                "To be judged or attributed, of the whole store; those under way included.",
                "lines",
                (Query(s.now(names.JUDGE_QUEUE_DEPTH, operator="max"), "waiting"),), width=12,
            ),
            Panel(
                "Time per run", "From the first question to the report.", "lines",
                s.quantiles(names.JUDGE_SECONDS), unit="s", width=12,
            ),
        ),
    )  # fmt: skip


def _cost() -> Row:
    s = _SCOPE
    runs = s.gained(names.JUDGE_SECONDS.part("count"))
    return Row(
        "Spending",
        (
            Panel(
                "Cost", "In the time shown, where prices are given; attribution included.", "stat",
                (Query(s.gained(names.JUDGE_COST)),), unit="currencyUSD", width=4,
            ),
            Panel(
                "Cost per judged run", "In the time shown, attribution included.", "stat",
                (Query(f"{s.gained(names.JUDGE_COST)}\n/ {runs}"),),
                unit="currencyUSD", width=4,
            ),
            Panel(
                "Cost per hour", "At the rate of the moment.", "lines",
                (Query(f"3600 * {s.rate(names.JUDGE_COST)}", "US dollars per hour"),),
                unit="currencyUSD",
            ),
            Panel(
                "Tokens", "Per minute, of the judge and of attribution.", "stack",
                (
                    Query(s.per_minute(names.JUDGE_TOKENS, "type"), "judge {{type}}"),
                    Query(s.per_minute(names.ATTRIBUTION_TOKENS, "type"), "attribution {{type}}"),
                ),
            ),
        ),
    )  # fmt: skip
