"""A report to paste into an issue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mastwatch.judge.render import visible
from mastwatch.reports import wording
from mastwatch.store import Report, Trace, Verdict

QUOTE_CHARS = 240
# A quote may hold what makes a link, an image, a mention or a block elsewhere.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()+!|~&-])")
# Hosts link these after Markdown is done, so that no backslash helps: a joiner of no width does.
_LINKED = re.compile(r"([#@](?=\w)|\bwww(?=\.)|:(?=//))")


def markdown(trace: Trace, report: Report) -> str:
    """Write a report as Markdown.

    Args:
        trace: The run.
        report: What the judge says of it.
    """
    said = [v for v in report.verdicts.values() if v.verdict in ("present", "unsure")]
    said.sort(key=lambda v: v.verdict != "present")
    parts = [
        f"## {_plain(wording.title(trace))}",
        _summary(trace, report),
        *[_verdict(verdict) for verdict in said],
        _rest(report),
        _live(trace),
        _method(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(trace: Trace, report: Report) -> str:
    counts = Counter(verdict.verdict for verdict in report.verdicts.values())
    words = ", ".join(
        f"{counts[word]} {wording.WORDS[word]}"
        for word in ("present", "unsure", "not_evaluated", "absent")
        if counts[word]
    )
    ended = f"{trace.outcome} ({_plain(trace.reason)})" if trace.reason else trace.outcome
    done = wording.WORDS[report.task_completed]
    framework = f", {_plain(trace.framework)}" if trace.framework else ""
    return (
        f"Run {_plain(trace.run_id)}{framework}. Ended: {ended}. Task completed: {done}.  \n"
        f"Verdicts: {words or 'none'}."
    )


def _verdict(verdict: Verdict) -> str:
    head = f"### {wording.WORDS[verdict.verdict].capitalize()}: {wording.mode_name(verdict)}"
    notes = [_plain(wording.reason(verdict.reason))] if verdict.reason else []
    if verdict.confidence is not None:
        notes.append(f"confidence {verdict.confidence:.2f}")
    if verdict.votes:
        notes.append(f"votes {verdict.votes}")
    if verdict.detector:
        notes.append(f"live detector: {verdict.detector}")
    lines = [f"{head} ({_plain(verdict.mode)})"]
    if verdict.why or notes:
        lines.append("")
        lines.append(" ".join(filter(None, [_plain(verdict.why), _in_brackets(notes)])))
    quotes = [
        f"- message {item.message_index}: “{_short(item.quote)}”" for item in verdict.evidence
    ]
    return "\n".join([*lines, *([""] if quotes else []), *quotes])


def _rest(report: Report) -> str:
    unread = [v for v in report.verdicts.values() if v.verdict == "not_evaluated"]
    absent = [v for v in report.verdicts.values() if v.verdict == "absent"]
    lines = []
    if unread:
        told = [f"{_plain(v.mode)} ({_plain(wording.reason(v.reason))})" for v in unread]
        lines.append(f"Not evaluated: {', '.join(told)}.")
    if absent:
        lines.append(f"Absent: {', '.join(_plain(v.mode) for v in absent)}.")
    return "  \n".join(lines)


def _live(trace: Trace) -> str:
    if not trace.findings:
        return ""
    lines = [
        f"- {f.mode} {f.severity.label} at message {f.message_index}: {_plain(f.explanation)}"
        for f in trace.findings[:20]
    ]
    if len(trace.findings) > len(lines):
        lines.append(f"- and {len(trace.findings) - len(lines)} more")
    return "\n".join(["### Live findings", "", *lines])


def _method(report: Report) -> str:
    counts = report.evidence_counts
    return (
        f"Judged by {_plain(report.model) or 'no model'}: "
        f"{wording.share(report.coverage)} of the messages read; quotes: "
        f"{counts.get('verified', 0)} verified, {counts.get('repaired', 0)} put right, "
        f"{counts.get('rejected', 0)} rejected; {wording.money(report.usage.usd)}, "
        f"tokens: {wording.tokens(report.usage)}; calibration: {_plain(report.calibration)}; "
        f"{_plain(report.taxonomy_version)}, prompt {_plain(report.prompt_version) or 'unknown'}."
    )


def _in_brackets(notes: Sequence[str]) -> str:
    return f"({', '.join(notes)})" if notes else ""


def _short(text: str) -> str:
    return _plain(text if len(text) <= QUOTE_CHARS else f"{text[:QUOTE_CHARS]} …")


def _plain(text: str) -> str:
    r"""Text on one line in which nothing is Markdown or HTML.

    >>> _plain("<img src=x>\n# *now*")
    '\\<img src=x\\> \\# \\*now\\*'
    """
    escaped = _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))
    return _LINKED.sub("\\1\u2060", escaped.replace("# ", "\\# "))
