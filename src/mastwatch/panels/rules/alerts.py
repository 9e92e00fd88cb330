"""All other alerts: loops, stalled runs, restarts, regressions, the judge, mastwatch itself."""

from __future__ import annotations

from mastwatch import metric_names as names
from mastwatch.panels.promql import gained, select, total
from mastwatch.panels.rules.alert import Alert
from mastwatch.panels.rules.parameters import Parameters
from mastwatch.panels.rules.recording import (
    APART,
    BY_MODE,
    flagged,
    flagged_share,
    judged,
    oldest_idle,
    present,
    runs,
)

LOOP, RESET = "FM-1.3", "FM-2.1"
STANDARD_ERRORS = 4
"""How far beyond chance a rise must be. With every mode looked at all week, three standard errors
would be passed by chance now and then; four are not."""
LEAST_RISE = 1.5
LEAST_FLAGGED = 10
LEAST_VERDICTS = 20
NOT_EVALUATED_SHARE = 0.25


def other_alerts(p: Parameters) -> list[Alert]:
    """The alerts that do not depend on the form chosen for the fatal modes."""
    return [*_runs(p), *_regressions(p), *_judge(p), *_own(p)]


def _runs(p: Parameters) -> list[Alert]:
    burnt = gained(names.TOKENS_AFTER_FINDING, p.short, by=BY_MODE, matchers={"mode": LOOP})
    return [
        Alert(
            name="LoopBurnsTokens",
            expr=f"{burnt} > {p.loop_tokens}",
            severity="warning",
            mode=LOOP,
            hold=p.hold,
            summary="Runs of {{ $labels.job }} spend tokens in loops",
            description=f"{{{{ $value | humanize }}}} tokens in {p.short} after step repetition "
            "was found in their runs.",
        ),
        Alert(
            name="RunStalled",
            expr=f"{oldest_idle()} > {p.idle_seconds}",
            severity="warning",
            hold=p.hold,
            summary="A {{ $labels.framework }} run of {{ $labels.job }} stands still",
            description="No event for {{ $value | humanizeDuration }}; it waits for no person.",
        ),
        Alert(
            name="ResetStorm",
            expr=f'{flagged_share(p.short)}{{mode="{RESET}"}} > {p.share}\n'
            f'and {flagged(p.short)}{{mode="{RESET}"}} >= {p.least_runs}',
            severity="warning",
            mode=RESET,
            hold=p.hold,
            linger=p.linger,
            summary="Conversations of {{ $labels.job }} start over",
            description=f"{{{{ $value | humanizePercentage }}}} of the runs in {p.short}.",
        ),
    ]


def _regressions(p: Parameters) -> list[Alert]:
    """Against the same time before: of what detectors flag, and of what the judge finds."""
    found = f"{{{{ $value | humanizePercentage }}}} of the runs in {p.compared}, more than chance "
    beside = f"explains beside the same time {p.period} ago."
    now, ended = flagged(p.compared), runs(p.compared)
    on = f"+ on ({', '.join(APART)}) group_left ()"
    return [
        Alert(
            name="FailureRateRegression",
            # Runs are not counted by mode: each mode is given the number of all of them.
            expr=_risen(
                now,
                f"(0 * {now} {on} {ended})",
                f"(0 * {now} offset {p.period} {on} {ended} offset {p.period})",
                p,
            ),
            severity="warning",
            mode="",
            hold=p.hold,
            summary="{{ $labels.mode }} is more frequent in {{ $labels.job }} than it was",
            description=found + beside,
        ),
        Alert(
            name="JudgedRateRegression",
            expr=_risen(
                present(p.compared),
                judged(p.compared),
                f"{judged(p.compared)} offset {p.period}",
                p,
            ),
            severity="warning",
            mode="",
            source="judge",
            hold=p.hold,
            summary="The judge finds {{ $labels.mode }} in more runs of {{ $labels.job }}",
            description=found.replace("the runs", "the judged runs") + beside,
        ),
    ]


def _risen(now: str, of_now: str, of_then: str, p: Parameters) -> str:
    """A share has risen by many standard errors: the test of two proportions.

    Args:
        now: Runs with the mode, by mode.
        of_now: Of how many, by mode.
        of_then: The same a period ago.
        p: The period.
    """
    then = f"{now} offset {p.period}"
    share_now, share_then = f"{now} / {of_now}", f"{then} / {of_then}"
    pooled = f"(({now} + {then}) / ({of_now} + {of_then}))"
    error = f"sqrt({pooled} * (1 - {pooled}) * (1 / {of_now} + 1 / {of_then}))"
    return (
        f"{share_now} > {LEAST_RISE} * ({share_then})\n"
        f"and ({share_now} - {share_then})\n  > {STANDARD_ERRORS} * {error}\n"
        f"and {now} >= {LEAST_FLAGGED}"
    )


def _judge(p: Parameters) -> list[Alert]:
    depth = select(names.JUDGE_QUEUE_DEPTH, window=p.judge_window)
    waiting = total(names.JUDGE_QUEUE_DEPTH, f"min_over_time({depth})", APART, "min")
    done_runs = names.JUDGE_SECONDS.part("count")
    done = gained(done_runs, p.judge_window, by=APART)
    missed = gained(names.JUDGE_VERDICTS, p.long, by=APART, matchers={"verdict": "not_evaluated"})
    asked = gained(names.JUDGE_VERDICTS, p.long, by=APART)
    return [
        Alert(
            name="JudgeStopped",
            expr=f"{waiting} > 0\nand {done} == 0",
            severity="warning",
            hold=p.hold,
            summary="The judge of {{ $labels.job }} has stopped",
            description=f"{{{{ $value }}}} runs wait, and none was judged in {p.judge_window}.",
        ),
        Alert(
            name="JudgeSpendsTooFast",
            expr=f"{gained(names.JUDGE_COST, p.long, by=APART)} > {p.judge_usd}",
            severity="warning",
            hold=p.hold,
            summary="The judge of {{ $labels.job }} spends too fast",
            description=f"{{{{ $value | humanize }}}} US dollars in {p.long}.",
        ),
        Alert(
            name="JudgeNotEvaluated",
            expr=f"{missed}\n/ {asked} > {NOT_EVALUATED_SHARE}\nand {asked} >= {LEAST_VERDICTS}",
            severity="warning",
            hold=p.hold,
            summary="The judge of {{ $labels.job }} reaches no verdict",
            description=f"{{{{ $value | humanizePercentage }}}} of its verdicts in {p.long}.",
        ),
    ]


def _own(p: Parameters) -> list[Alert]:
    dropped = gained(names.EVENTS_DROPPED, p.short, by=(*APART, "reason"))
    errors = gained(names.INTERNAL_ERRORS, p.short, by=(*APART, "where"))
    return [
        Alert(
            name="EventsDropped",
            expr=f"{dropped} > 0",
            severity="warning",
            summary="mastwatch in {{ $labels.job }} loses events ({{ $labels.reason }})",
            description=f"{{{{ $value | humanize }}}} in {p.short}; figures are too low.",
        ),
        Alert(
            name="InternalErrors",
            expr=f"{errors} > 0",
            severity="warning",
            summary="mastwatch in {{ $labels.job }} has errors of its own ({{ $labels.where }})",
            description=f"{{{{ $value | humanize }}}} in {p.short}; the log has the first one.",
        ),
    ]
