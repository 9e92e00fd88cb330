"""The page over many runs."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.reports import wording
from mastwatch.reports.cases import Case
from mastwatch.reports.html.deciding import decided, deciding
from mastwatch.reports.html.document import document
from mastwatch.reports.html.markup import Child, Html, el
from mastwatch.reports.html.tables import bar, cell, odds, of, share, table
from mastwatch.reports.html.trend import sparkline, trend
from mastwatch.reports.summary import MIN_RUNS, Summary

MAX_ROWS = 20
"""Values of a dimension that are shown; the JSON has all."""
MAX_RUNS = 500
_TITLES = {
    "framework": "By framework",
    "release": "By release",
    "agent": "By agent",
    "model": "By model",
    "judge": "By judging model",
}


def summary_page(summary: Summary) -> str:
    """One file that needs nothing else; it links to the pages of the runs.

    Args:
        summary: What is known of the runs.
    """
    body = [
        _header(summary),
        el(
            "main",
            deciding(summary.deciders) if summary.deciders.results else None,
            _modes(summary),
            trend(summary.trend),
            _fatality(summary),
            [_group(name, summary) for name in summary.groups],
            _together(summary),
            _unread(summary),
            _runs(summary.cases),
        ),
    ]
    return document("Runs · mastwatch", body, css=("base.css", "overview.css"))


def _header(summary: Summary) -> Html:
    runs = len(summary.cases)
    judged = sum(bool(run.verdicts) for run in summary.cases)
    flagged = sum(bool(run.present) for run in summary.cases)
    failed = [run.failed for run in summary.cases if run.failed is not None]
    attributed = sum(summary.deciders.results.values())
    facts = [
        ("Runs judged", f"{judged:,}"),
        ("With a failure mode", of(flagged, judged)),
        ("Failed", f"{of(sum(failed), len(failed))} whose outcome is known"),
        ("Failures attributed", f"{attributed:,}"),
        ("Read whole by the judge", of(summary.whole, judged)),
        ("Cost", _cost(summary)),
        ("Tokens", f"{summary.tokens:,}"),
    ]
    items = [el("div", el("dt", name), el("dd", value)) for name, value in facts]
    return el(
        "header",
        el("p", "mastwatch · summary", class_="brand"),
        el("h1", wording.count(runs, "run")),
        el("p", _span(summary), class_="origin"),
        el("dl", items, class_="facts"),
    )


def _span(summary: Summary) -> str:
    times = [run.at for run in summary.cases if run.at]
    return f"{wording.moment(min(times))} to {wording.moment(max(times))}" if times else ""


def _cost(summary: Summary) -> str:
    if summary.usd is None:
        return wording.money(None)
    text = (
        f"{wording.money(summary.usd)}; per run median {wording.money(summary.usd_median)}, "
        f"most {wording.money(summary.usd_max)}"
    )
    unknown = len(summary.cases) - summary.usd_runs
    return f"{text}; no price known for {wording.count(unknown, 'run')}" if unknown else text


def _modes(summary: Summary) -> Html | None:
    if not summary.modes and summary.cases:
        return None
    order = sorted(summary.modes, key=lambda slug: -summary.tallies[slug].present)
    rows = [
        el(
            "tr",
            el("th", _name(slug, summary), scope="row"),
            el("td", bar(tally.share)),
            el("td", share(tally), class_="figure"),
            el("td", str(tally.unsure), class_="figure"),
            el("td", str(tally.not_evaluated), class_="figure"),
            el("td", sparkline(summary.trend, slug)),
        )
        for slug in order
        for tally in (summary.tallies[slug],)
    ]
    head = ("Mode", "", "Present of evaluated, 95 % interval", "Unsure", "Not evaluated", "Trend")
    note = "A mode that was not evaluated in a run is left out of that run's counts."
    return el("section", el("h2", "Failure modes"), table(head, rows, note), id="modes")


def _name(slug: str, summary: Summary) -> list[Child]:
    return [wording.slug_name(slug), " ", el("small", summary.modes[slug])]


def _fatality(summary: Summary) -> Html | None:
    if not summary.modes and summary.cases:
        return None

    def weight(slug: str) -> tuple[bool, float]:
        known = summary.fatality[slug].odds
        return known is None, -(known.low if known else 0.0)

    rows = [
        el(
            "tr",
            el("th", _name(slug, summary), scope="row"),
            el("td", of(found.with_failed, found.with_failed + found.with_ok), class_="figure"),
            el(
                "td",
                of(found.without_failed, found.without_failed + found.without_ok),
                class_="figure",
            ),
            el("td", odds(found.odds), class_="figure"),
        )
        for slug in sorted(summary.modes, key=weight)
        for found in (summary.fatality[slug],)
    ]
    told = summary.outcomes
    note = (
        f"Whether a run failed was said by the host for {told.get('host', 0)} runs, by an error "
        f"for {told.get('error', 0)}, by the judge for {told.get('judge', 0)}; unknown for "
        f"{told.get('unknown', 0)}, which are left out. Odds ratio corrected after Haldane; "
        f"“too few” below {MIN_RUNS} runs with, without, failed or not. Unsure verdicts are left "
        "out. An association: what goes with failure need not cause it."
    )
    head = ("Mode", "Failed with it", "Failed without it", "Odds ratio, 95 % interval")
    return el("section", el("h2", "Which modes go with failure"), table(head, rows, note))


def _group(name: str, summary: Summary) -> Html | None:
    groups = summary.groups[name]
    if not groups or (len(groups) < 2 and name in ("model", "judge", "release", "framework")):
        return None
    seen = [slug for slug in summary.modes if summary.tallies[slug].present]
    if not seen:
        return None
    rows = [
        el(
            "tr",
            el("th", value, scope="row"),
            [el("td", cell(tallies[slug]), class_="figure") for slug in seen],
        )
        for value, tallies in list(groups.items())[:MAX_ROWS]
    ]
    more = len(groups) - len(rows)
    note = "Present of evaluated runs."
    if name == "agent":
        note = (
            "Runs in which evidence of the mode stands in the agent's messages, of those it took "
            "part in."
        )
    note += f" {more} more in the JSON." if more > 0 else ""
    codes = [el("abbr", summary.modes[slug], title=wording.slug_name(slug)) for slug in seen]
    head = (name.capitalize(), *codes)
    return el("section", el("h2", _TITLES[name]), table(head, rows, note))


def _together(summary: Summary) -> Html | None:
    if not summary.together:
        return None
    rows = [
        el(
            "tr",
            el("th", wording.slug_name(one), scope="row"),
            el("td", wording.slug_name(other)),
            el("td", of(both, n), class_="figure"),
        )
        for (one, other), (both, n) in list(summary.together.items())[:MAX_ROWS]
    ]
    head = ("Mode", "And", "Runs with both, of those evaluated for both")
    return el("section", el("h2", "Modes that occur together"), table(head, rows))


def _unread(summary: Summary) -> Html | None:
    if not summary.reasons:
        return None
    rows = [
        el("tr", el("th", wording.reason(name), scope="row"), el("td", str(n), class_="figure"))
        for name, n in summary.reasons.items()
    ]
    return el("section", el("h2", "Not evaluated, and why"), table(("Reason", "Verdicts"), rows))


def _runs(cases: Sequence[Case]) -> Html:
    rows = [_run(run) for run in cases[:MAX_RUNS]]
    more = len(cases) - len(rows)
    note = f"{more} older runs are in the JSON." if more > 0 else ""
    head = ("Run", "Ended", "Framework", "Failed", "Decided by", "Modes present", "Cost")
    return el("section", el("h2", "Runs"), table(head, rows, note), id="runs")


def _run(run: Case) -> Html:
    name = el("a", run.name, href=run.link) if run.link else run.name
    own = el("small", run.run_id)
    failed = {True: "yes", False: "no", None: "unknown"}[run.failed]
    tags = [
        el("span", run.modes[slug], class_="tag present", title=wording.slug_name(slug))
        for slug in run.present
    ]
    return el(
        "tr",
        el("th", name, " ", own if run.name != run.run_id else None, scope="row"),
        el("td", wording.moment(run.at)),
        el("td", run.framework),
        el("td", failed),
        el("td", decided(run)),
        el("td", el("span", tags, class_="tags")),
        el("td", wording.money(run.usage.usd), class_="figure"),
    )
