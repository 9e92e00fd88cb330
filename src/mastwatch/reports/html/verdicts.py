"""The verdicts, what matters first, each with its evidence one click away."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.reports import wording
from mastwatch.reports.html.evidence import quotes
from mastwatch.reports.html.marks import Marks, in_reading_order, verdict_anchor
from mastwatch.reports.html.markup import Html, el
from mastwatch.store import Report, Verdict


def verdicts(report: Report, marks: Marks) -> Html:
    """All verdicts of a report; those that say ``absent`` are folded."""
    ordered = in_reading_order(report)
    said = [v for v in ordered if v.verdict in ("present", "unsure")]
    unread = [v for v in ordered if v.verdict == "not_evaluated"]
    absent = [v for v in ordered if v.verdict == "absent"]
    return el(
        "section",
        el("h2", "Verdicts"),
        [_card(verdict, marks) for verdict in said],
        _none(report) if not said else None,
        _group("Not evaluated", unread, marks, open=True),
        _group("Absent", absent, marks, open=False),
        id="verdicts",
        aria_label="Verdicts",
    )


def _none(report: Report) -> Html:
    read = [v for v in report.verdicts.values() if v.verdict == "absent"]
    text = f"None of the {len(read)} evaluated modes is present." if read else "No mode was judged."
    return el("p", text, class_="note")


def _group(label: str, members: Sequence[Verdict], marks: Marks, *, open: bool) -> Html | None:
    if not members:
        return None
    head = el("summary", f"{label} ({len(members)})")
    cards = [_card(verdict, marks) for verdict in members]
    return el("details", head, cards, class_="group", open=open)


def _card(verdict: Verdict, marks: Marks) -> Html:
    fatal = wording.fatal(verdict.slug) and verdict.verdict in ("present", "unsure")
    return el(
        "article",
        el(
            "h3",
            el("span", wording.WORDS[verdict.verdict], class_=f"word {verdict.verdict}"),
            " ",
            wording.mode_name(verdict),
            " ",
            el("small", verdict.mode),
        ),
        el("p", verdict.why, class_="why", dir="auto") if verdict.why else None,
        el("p", _beside(verdict, fatal), class_="note") if _beside(verdict, fatal) else None,
        quotes(verdict_anchor(verdict.slug), marks),
        id=verdict_anchor(verdict.slug),
        class_=f"verdict {verdict.verdict}",
    )


def _beside(verdict: Verdict, fatal: bool) -> str:
    """What else is known of a verdict, in one line."""
    parts = [wording.reason(verdict.reason)] if verdict.reason else []
    if verdict.confidence is not None:
        parts.append(f"confidence {verdict.confidence:.2f}")
    if verdict.votes:
        parts.append(f"votes {verdict.votes}")
    if verdict.detector:
        parts.append(f"live detector: {verdict.detector}")
    if fatal:
        parts.append("occurs almost only in failed runs")
    return " · ".join(parts)
