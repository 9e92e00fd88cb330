"""Quotes as links to the words in the conversation."""

from __future__ import annotations

from mastwatch.reports.html.marks import Mark, Marks
from mastwatch.reports.html.markup import Html, el

QUOTE_CHARS = 320


def quotes(anchor: str, marks: Marks) -> Html | None:
    """The quotes behind a claim, by the name of its place; None when there are none."""
    found = marks.of(anchor)
    if not found:
        return None
    return el("ol", [el("li", _quote(mark, marks)) for mark in found], class_="evidence")


def _quote(mark: Mark, marks: Marks) -> Html:
    item = mark.evidence
    quote = item.quote
    if len(quote) > QUOTE_CHARS:
        quote = f"{quote[:QUOTE_CHARS]} …"
    inside = [el("span", f"#{item.message_index}", class_="number"), el("q", quote, dir="auto")]
    if item.status == "repaired":
        inside.append(el("small", "put right: the judge gave another message or other words"))
    target = marks.target(mark)
    if target is None:
        return el("span", inside, el("small", "this message is not in the stored run"))
    return el("a", inside, href=target, class_="quote")
