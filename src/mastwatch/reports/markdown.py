"""A report to paste into an issue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mastwatch.judge.render import visible
from mastwatch.reports import wording
from mastwatch.store import Attribution, Candidate, Evidence, Report, Trace, Verdict

QUOTE_CHARS = 240
# A quote may hold what makes a link, an image, a mention or a block elsewhere.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()+!|~&-])")
# Hosts link these after Markdown is done, so that no backslash helps: a joiner of no width does.
_LINKED = re.compile(r"([#@](?=\w)|\bwww(?=\.)|:(?=//))")


def markdown(trace: Trace, report: Report | None, attribution: Attribution | None = None) -> str:
    """Write a report as Markdown.

    Args:
        trace: The run.
        report: What the judge says of it, if it was judged.
        attribution: Who decided that it failed, and where, if that was asked.
    """
    parts = [
        f"## {_plain(wording.title(trace))}",
        _summary(trace, report),
        *(_attribution(attribution) if attribution is not None else ()),
        *(_said(report) if report is not None else ()),
        _live(trace),
        _method(report) if report is not None else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(trace: Trace, report: Report | None) -> str:
    ended = f"{trace.outcome} ({_plain(trace.reason)})" if trace.reason else trace.outcome
    framework = f", {_plain(trace.framework)}" if trace.framework else ""
    said = f"Run {_plain(trace.run_id)}{framework}. Ended: {ended}."
    if report is None:
        return f"{said} Not judged."
    counts = Counter(verdict.verdict for verdict in report.verdicts.values())
    words = ", ".join(
        f"{counts[word]} {wording.WORDS[word]}"
        for word in ("present", "unsure", "not_evaluated", "absent")
        if counts[word]
    )
    done = wording.WORDS[report.task_completed]
    return f"{said} Task completed: {done}.  \nVerdicts: {words or 'none'}."


def _attribution(found: Attribution) -> Iterator[str]:
    yield f"### {_decision(found)}"
    if found.step is not None:
        yield _plain(found.reason)
    if found.counterfactual:
        yield f"Instead: {_plain(found.counterfactual)}"
    yield _quotes(found.evidence)
    others = [each for each in found.candidates if each.step != found.step]
    yield "\n".join(f"- also weighed: {_plain(_weighed(each))}" for each in others)
    yield (
        f"Attributed by {_plain(found.model) or 'no model'}, {wording.METHODS[found.method]}: "
        f"{wording.share(found.coverage)} of the messages read; "
        f"{wording.count(found.usage.calls, 'call')}, {wording.money(found.usage.usd)}, "
        f"tokens: {wording.tokens(found.usage)}."
    )


def _decision(found: Attribution) -> str:
    if found.step is None:
        return _plain(wording.decision(found).capitalize())
    word = wording.DECISIONS[found.result].capitalize()
    return f"{word}: message {found.step}, {_plain(wording.agent_name(found.agent))}"


def _weighed(candidate: Candidate) -> str:
    why = f": {candidate.objection}" if candidate.objection else ""
    agent = wording.agent_name(candidate.agent)
    return f"message {candidate.step}, {agent}, {wording.CHECKS[candidate.check]}{why}"


def _said(report: Report) -> Iterator[str]:
    said = [v for v in report.verdicts.values() if v.verdict in ("present", "unsure")]
    yield from map(_verdict, sorted(said, key=lambda v: v.verdict != "present"))
    yield _rest(report)


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
    if verdict.evidence:
        lines += ["", _quotes(verdict.evidence)]
    return "\n".join(lines)


def _quotes(evidence: Iterable[Evidence]) -> str:
    return "\n".join(f"- message {item.message_index}: “{_short(item.quote)}”" for item in evidence)


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
