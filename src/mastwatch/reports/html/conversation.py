"""The run as it was said, with the quoted words marked in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from mastwatch.judge.render import row_text
from mastwatch.reports import wording
from mastwatch.reports.html.attribution import in_place
from mastwatch.reports.html.marks import Mark, Marks, hues, row_anchor
from mastwatch.reports.html.markup import Child, Html, el, join
from mastwatch.store import Attribution, Trace, TraceRow

FOLDED_CHARS = 4_000
"""Messages longer than this are shown in part; the rest is one click away."""
SHOWN_CHARS = 1_500


def conversation(trace: Trace, marks: Marks, attribution: Attribution | None) -> Html:
    """The rows of a run, and what is known beside them."""
    colours = hues(trace)
    rows = [
        _row(row, trace, marks, colours.get(row.agent, ""), _decided(row, attribution))
        for row in trace.rows
    ]
    lost = None
    if trace.left_out:
        lost = f"{wording.count(trace.left_out, 'row')} beyond the recorder's bound are not here."
    return el(
        "section",
        el("h2", "Conversation ", el("small", wording.count(len(trace.rows), "message"))),
        el("p", lost, class_="note") if lost else None,
        _beside(trace),
        el("ol", rows, class_="rows") if rows else el("p", "No message was recorded."),
        id="conversation",
        aria_label="Conversation",
    )


def _beside(trace: Trace) -> Html:
    """Task, prompts, and what models were sent that stands in no row."""
    prompts = [(f"System prompt of {agent}", text) for agent, text in trace.prompts.items()]
    sent = [
        (f"Sent to the model of {item.agent} before #{item.before}, {item.role}", item.text)
        for item in trace.inputs
    ]
    task = el(
        "div",
        el("h3", "Task"),
        _said(trace.task, ()) if trace.task else el("p", "Not recorded.", class_="note"),
        class_="task",
    )
    return join(task, _folded("System prompts", prompts), _folded("Other model input", sent))


def _folded(label: str, texts: Sequence[tuple[str, str]]) -> Html | None:
    if not texts:
        return None
    shown = [join(el("h4", name), _said(text, ())) for name, text in texts]
    return el("details", el("summary", f"{label} ({len(texts)})"), shown, class_="beside")


def _decided(row: TraceRow, attribution: Attribution | None) -> Attribution | None:
    """The attribution, where this is its row."""
    return attribution if attribution is not None and attribution.step == row.index else None


def _row(row: TraceRow, trace: Trace, marks: Marks, hue: str, decided: Attribution | None) -> Html:
    quoted = marks.of_row(row.index)
    classes = ["row", row.kind, hue, "quoted" if quoted else "", "decisive" if decided else ""]
    return el(
        "li",
        _head(row, trace, marks),
        _body(row, quoted),
        in_place(decided) if decided else None,
        id=row_anchor(row.index),
        class_=" ".join(filter(None, classes)),
    )


def _head(row: TraceRow, trace: Trace, marks: Marks) -> Html:
    kind = row.kind.replace("_", " ")
    if row.kind == "tool" and row.tool:
        kind = f"result of {row.tool}"
    flags: list[Child] = [
        el(
            "a",
            claim.tag,
            href=f"#{claim.anchor}",
            class_=f"tag {claim.tone}",
            title=f"Evidence of {claim.name}: back to it",
        )
        for claim in dict.fromkeys(mark.claim for mark in marks.of_row(row.index))
    ]
    flags += [
        el("span", f"live {f.mode} {f.severity.label}", class_=f"tag live {f.severity.label}")
        for f in marks.findings(row.index)
    ]
    return el(
        "div",
        el("a", f"#{row.index}", href=f"#{row_anchor(row.index)}", class_="number"),
        el("b", wording.agent_name(row.agent), class_="agent"),
        el("span", f"→ {', '.join(row.recipients)}", class_="to") if row.recipients else None,
        el("span", kind, class_="kind") if kind != "reply" else None,
        el("span", f"in {row.branch}", class_="kind") if row.branch else None,
        el("span", flags, class_="flags") if flags else None,
        _time(row, trace),
        class_="who",
    )


def _time(row: TraceRow, trace: Trace) -> Html | None:
    if row.at is None or trace.started is None or row.at < trace.started:
        return None
    return el("span", f"+{wording.duration(row.at - trace.started)}", class_="at")


def _body(row: TraceRow, quoted: Sequence[Mark]) -> Html:
    """The row's text in its parts: words, calls, error; marks count from the start of it all."""
    text = row_text(row)
    words = len(row.text or "")
    if row.text is None and not row.tool_calls and not row.error:
        return el("p", "Text withheld.", class_="note")
    parts: list[Child] = []
    if words:
        parts.append(_text(text, 0, words, quoted, "said"))
    rest = words + 1 if words else 0
    if rest < len(text):
        parts.append(_text(text, rest, len(text), quoted, "error" if row.error else "call"))
    return join(parts)


def _said(text: str, quoted: Sequence[Mark]) -> Html:
    return _text(text, 0, len(text), quoted, "said")


def _text(text: str, begin: int, end: int, quoted: Sequence[Mark], kind: str) -> Html:
    fold = _fold_at(text, begin, end)
    shown = el("div", _marked(text, begin, fold, quoted), class_=kind, dir="auto")
    if fold == end:
        return shown
    inside = any(mark.found and mark.end > fold and mark.begin < end for mark in quoted)
    rest = el("div", _marked(text, fold, end, quoted), class_=kind, dir="auto")
    label = f"{end - fold:,} more characters"
    return join(shown, el("details", el("summary", label), rest, class_="rest", open=inside))


def _fold_at(text: str, begin: int, end: int) -> int:
    if end - begin <= FOLDED_CHARS:
        return end
    at = text.rfind("\n", begin + SHOWN_CHARS // 2, begin + SHOWN_CHARS)
    return at + 1 if at > 0 else begin + SHOWN_CHARS


def _marked(text: str, begin: int, end: int, quoted: Sequence[Mark]) -> Iterator[Html | str]:
    """A piece of text; quotes may overlap, so it is cut at every begin and end."""
    found = [mark for mark in quoted if mark.found and mark.begin < end and mark.end > begin]
    cuts = {begin, end}
    for mark in found:
        cuts |= {max(begin, mark.begin), min(end, mark.end)}
    edges = sorted(cuts)
    for start, stop in itertools.pairwise(edges):
        over = [mark for mark in found if mark.begin <= start and mark.end >= stop]
        if not over:
            yield text[start:stop]
            continue
        # A name may stand once in a page: the first piece of a quote has it.
        for mark in over[1:]:
            if mark.begin == start:
                yield el("span", id=mark.anchor, class_="place")
        first = over[0]
        yield el(
            "mark",
            text[start:stop],
            id=first.anchor if first.begin == start else None,
            class_=" ".join(dict.fromkeys(mark.claim.tone for mark in over)),
            data_quotes=" ".join(mark.anchor for mark in over),
            title=", ".join(dict.fromkeys(mark.claim.name for mark in over)),
        )
