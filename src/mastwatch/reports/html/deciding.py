"""Who decides failures, on the page over many runs."""

from __future__ import annotations

from mastwatch.reports import wording
from mastwatch.reports.cases import Case
from mastwatch.reports.deciders import Decider, Deciders
from mastwatch.reports.html.marks import ATTRIBUTION_ANCHOR
from mastwatch.reports.html.markup import Child, Html, el
from mastwatch.reports.html.tables import bar, of, table

MAX_ROWS = 20
"""Agents that are shown; the JSON has all."""
_MODES_SHOWN = 4


def deciding(found: Deciders) -> Html:
    """The agents that decide failures, those who do most first."""
    rows = [_row(agent, found.agents[agent]) for agent in list(found.agents)[:MAX_ROWS]]
    head = ("Agent", "", "Decided, of the attributed runs it took part in", "Perhaps",
            "Failure modes in its deciding messages")  # fmt: skip
    return el(
        "section",
        el("h2", "Who decides failures"),
        table(head, rows, _note(found)) if rows else el("p", _note(found), class_="note"),
        id="deciding",
    )


def decided(run: Case) -> Child:
    """Who decided one run, as a link to it."""
    found = run.decision
    if found is None:
        return None
    if found.step is None:
        return el("span", wording.DECISIONS[found.result], class_="note")
    perhaps = "perhaps " if found.result == "unverified" else ""
    text = f"{perhaps}{wording.agent_name(found.agent)} #{found.step}"
    return el("a", text, href=f"{run.link}#{ATTRIBUTION_ANCHOR}") if run.link else text


def _row(agent: str, found: Decider) -> Html:
    modes = [f"{wording.slug_name(slug)} ({n})" for slug, n in found.modes.items()]
    return el(
        "tr",
        el("th", wording.agent_name(agent), scope="row"),
        el("td", bar(found.share)),
        el("td", of(found.decided, found.runs), class_="figure"),
        el("td", str(found.perhaps), class_="figure"),
        el("td", ", ".join(modes[:_MODES_SHOWN])),
    )


def _note(found: Deciders) -> str:
    results = found.results
    words = [
        f"{results[result]} {word}"
        for result, word in (
            ("attributed", "with a deciding step"),
            ("unverified", "with a likeliest step that did not survive its check"),
            ("none", "without a deciding step"),
            ("not_evaluated", "not evaluated"),
        )
        if results.get(result)
    ]
    reasons = "; ".join(f"{wording.reason(name)} ({n})" for name, n in found.reasons.items())
    note = (
        "The step that decides a run is the earliest one whose correction would have saved it; who "
        f"decided is who speaks there. Runs attributed: {', '.join(words)}."
    )
    return f"{note} Without a step: {reasons}." if reasons else note
