"""The head of a run's page: what happened, and how far the judgement can be trusted."""

from __future__ import annotations

from collections import Counter

from mastwatch.reports import wording
from mastwatch.reports.html.attribution import header_link
from mastwatch.reports.html.markup import Child, Html, el
from mastwatch.store import Attribution, Report, Trace

Fact = tuple[str, str, str]
"""Label, value, and a class: ``bad`` and ``good`` are coloured."""


def header(trace: Trace, report: Report | None, attribution: Attribution | None) -> Html:
    """The head of the page."""
    return el(
        "header",
        el("p", "mastwatch · run report", class_="brand"),
        el("h1", wording.title(trace)),
        el("p", _origin(trace), class_="origin"),
        el(
            "p",
            header_link(attribution) if attribution is not None else None,
            _result(report) if report is not None else el("span", "not judged", class_="word"),
            class_="result",
        ),
        _list([*_ending(trace), *(_facts(report) if report is not None else ())], "facts"),
        el("details", el("summary", "How this was judged"), _list(_method(report), "facts small"))
        if report is not None
        else None,
        _problems(report) if report is not None else None,
    )


def _origin(trace: Trace) -> str:
    agents = wording.count(len(trace.agents), "agent")
    messages = wording.count(len(trace.rows), "message")
    parts = [f"run {trace.run_id}", trace.framework, agents, messages]
    parts += [trace.release and f"release {trace.release}", trace.environment]
    parts += [", ".join(trace.models), wording.moment(trace.started)]
    if trace.started is not None and trace.ended is not None:
        parts.append(wording.duration(max(0.0, trace.ended - trace.started)))
    return " · ".join(part for part in parts if part)


def _result(report: Report) -> list[Child]:
    counts = Counter(verdict.verdict for verdict in report.verdicts.values())
    return [
        el("span", f"{counts[word]} {wording.WORDS[word]}", class_=f"word {word}")
        for word in ("present", "unsure", "not_evaluated", "absent")
        if counts[word]
    ]


def _ending(trace: Trace) -> list[Fact]:
    ended = f"{trace.outcome}: {trace.reason}" if trace.reason else trace.outcome
    if trace.error:
        ended += f" ({trace.error})"
    facts = [("Ended", ended, "bad" if trace.error else "")]
    if trace.success is not None:
        said = "success" if trace.success else "failure"
        facts.append(("Outcome, says the host", said, "good" if trace.success else "bad"))
    return facts


def _facts(report: Report) -> list[Fact]:
    done = {"yes": "good", "no": "bad"}.get(report.task_completed, "")
    counts = report.evidence_counts
    return [
        ("Task completed, says the judge", wording.WORDS[report.task_completed], done),
        ("Coverage", _coverage(report), "" if report.coverage >= 1 else "bad"),
        (
            "Quotes",
            f"{counts.get('verified', 0)} verified, {counts.get('repaired', 0)} put right, "
            f"{counts.get('rejected', 0)} rejected",
            "",
        ),
        ("Judged by", report.model or "no model answered", ""),
        ("Cost", wording.money(report.usage.usd), ""),
        ("Tokens", wording.tokens(report.usage), ""),
        ("Calibration", report.calibration, ""),
    ]


def _coverage(report: Report) -> str:
    parts = f"in {report.windows} parts" if report.windows > 1 else "in one piece"
    return f"{wording.share(report.coverage)} of the messages read, {parts}"


def _method(report: Report) -> list[Fact]:
    usage = report.usage
    calls = wording.count(usage.calls, "call")
    cached = f", {usage.cached_calls} from memory" if usage.cached_calls else ""
    facts = [
        ("Judged", wording.moment(report.created)),
        ("Because of", report.trigger),
        ("Profile", report.profile),
        ("Provider", report.provider),
        ("Replies held to the schema by", report.rung),
        ("Model calls", f"{calls}{cached}, {wording.duration(usage.seconds)}"),
        ("Taxonomy", report.taxonomy_version),
        ("Prompt", report.prompt_version),
        ("Verdicts on unknown modes, dropped", str(report.ghosts) if report.ghosts else ""),
    ]
    return [(label, value, "") for label, value in facts if value]


def _problems(report: Report) -> Html | None:
    if not report.problems:
        return None
    items = [el("li", problem) for problem in report.problems]
    label = f"{wording.count(len(items), 'problem')} on the way"
    return el("details", el("summary", label), el("ul", items), class_="problems")


def _list(facts: list[Fact], kind: str) -> Html:
    items = [
        el("div", el("dt", label), el("dd", value, class_=mark or None))
        for label, value, mark in facts
    ]
    return el("dl", items, class_=kind)
