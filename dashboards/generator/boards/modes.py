"""Failure modes: where they come from, by framework, agent, severity, detector against judge."""

from __future__ import annotations

from generator.boards.common import (
    ENVIRONMENT,
    FLAGGED_AGENT,
    FRAMEWORK,
    JOB,
    LINKS,
    MODE,
    SEVERITY,
    TEXTS,
    flagged,
    or_none,
)
from generator.spec import Dashboard, Panel, Query, Row, Scope
from mastwatch import metric_names as names

_VARIABLES = (JOB, ENVIRONMENT, FRAMEWORK, MODE, SEVERITY, FLAGGED_AGENT)
_SCOPE = Scope(_VARIABLES)


def board() -> Dashboard:
    """The dashboard."""
    return Dashboard(
        name="failure-modes",
        title="mastwatch: Failure modes",
        description="One failure mode or all: since when, in which framework, by which agent, and "
        "whether detectors and judge agree. A point on a line is an exemplar: it leads to a trace.",
        rows=(_found(), _where(), _agreement(), _aside()),
        variables=_VARIABLES,
        texts=TEXTS,
        links=LINKS,
    )


def _found() -> Row:
    s = _SCOPE
    by_level = s.hourly(names.FINDINGS, "severity")
    return Row(
        "What was found",
        (
            Panel(
                "Runs flagged, by mode",
                "Runs at warn or above, in the time shown.",
                "bars", (Query(flagged(s, "gained"), "{{mode}}"),),
            ),
            Panel(
                "Findings, by mode",
                "In a sliding hour, each rise of severity. Points are exemplars: they lead to the "
                "trace.",
                "lines",
                (Query(s.hourly(names.FINDINGS, "mode"), "{{mode}}", exemplars=True),),
            ),
            Panel(
                "Findings, by severity",
                "In a sliding hour. Many `suspect` and few `warn` are work for the judge, not for "
                "you.",
                "stack", (Query(by_level, "{{severity}}"),),
            ),
        ),
    )  # fmt: skip


def _where() -> Row:
    s = _SCOPE
    agents = s.gained(names.AGENT_FINDINGS, "agent mode")
    return Row(
        "Where",
        (
            Panel(
                "By framework",
                "Findings in a sliding hour.",
                "stack", (Query(s.hourly(names.FINDINGS, "framework"), "{{framework}}"),),
            ),
            Panel(
                "By agent",
                "The fifteen agents and modes with the most findings. An agent without a name is a "
                "fault that is no single agent's.",
                "bars", (Query(f"topk(15, {agents})", "{{agent}} {{mode}}"),),
            ),
            Panel(
                "By detector",
                "Findings in the time shown; `judge` is the judge.",
                "bars", (Query(s.gained(names.AGENT_FINDINGS, "detector"), "{{detector}}"),),
            ),
            Panel(
                "Tokens after the finding",
                "Per minute, by mode and model.",
                "stack",
                (Query(s.per_minute(names.TOKENS_AFTER_FINDING, "mode model"),
                       "{{mode}} {{model}}"),),
                width=12,
            ),
            Panel(
                "Findings by mode, framework and severity",
                "In the time shown.",
                "table", (Query(s.gained(names.FINDINGS, "mode slug framework severity source")
                                + " > 0"),),
                width=12,
            ),
        ),
    )  # fmt: skip


def _agreement() -> Row:
    s = _SCOPE
    verdicts = s.gained(names.JUDGE_VERDICTS, "mode", verdict="present")
    return Row(
        "Detectors against judge",
        (
            Panel(
                "Live and judge, by mode",
                "Findings in the time shown. The judge reads finished runs, and not all of them; "
                "modes without a live detector are its alone.",
                "bars", (Query(s.gained(names.FINDINGS, "mode source"), "{{mode}} {{source}}"),),
            ),
            Panel(
                "Found by the judge",
                "Runs in which the judge found the mode.",
                "bars", (Query(verdicts, "{{mode}}"),),
            ),
            Panel(
                "Agreement of the judge with people",
                "Cohen's kappa of the calibration in use; below 0.4 do not act on it alone.",
                "bars", (Query(s.now(names.JUDGE_AGREEMENT, "mode", "max"), "{{mode}}"),),
                most=1, empty="no calibration",
            ),
        ),
    )  # fmt: skip


def _aside() -> Row:
    s = _SCOPE
    suppressed = s.gained(names.SUPPRESSED_FINDINGS, "mode by")
    notices = or_none(s.gained(names.NOTICES, "name"), "name")
    done = or_none(s.gained(names.ACTIONS, "action result"), "action")
    return Row(
        "What was done, and what is not counted above",
        (
            Panel(
                "Actions",
                "Callbacks, webhooks and interventions, and what came of them.",
                "bars", (Query(done, "{{action}} {{result}}"),),
            ),
            Panel(
                "Suppressed",
                "Findings that a rule (`ignore`) or the code (`allow`) keeps silent.",
                "bars", (Query(suppressed, "{{mode}} {{by}}"),),
            ),
            Panel(
                "Notices",
                "Worth knowing, but no failure mode: retry storms, mismatched contracts, plans "
                "made anew.",
                "bars", (Query(notices, "{{name}}"),),
            ),
        ),
    )  # fmt: skip
