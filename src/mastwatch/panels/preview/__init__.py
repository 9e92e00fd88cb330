"""Every panel's query drawn on one page, for those without Grafana; a preview, not Grafana.

One file that loads nothing and runs nothing: pictures are SVG, the policy in its head allows its
own style sheet only.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from mastwatch.panels.preview import flat
from mastwatch.panels.preview.data import Shown, ask, thresholds
from mastwatch.panels.preview.lines import chart
from mastwatch.panels.preview.units import clock
from mastwatch.panels.queries import Times, panel_queries, panels
from mastwatch.panels.server import Prometheus
from mastwatch.reports.html.markup import Child, Html, el

COLUMN = 56
"""Width of one of the 24 columns in the units of a picture."""


def page(server: Prometheus, boards: Iterable[Mapping[str, Any]], times: Times) -> str:
    """The page.

    Args:
        server: Where the queries are asked.
        boards: Dashboards as Grafana takes them.
        times: How long the time axis is.

    Raises:
        ServerError: The server cannot be asked.
    """
    now = server.now()
    boards = list(boards)
    sections = [_section(server, board, now, times) for board in boards]
    links = [el("a", str(b["title"]), href=f"#{b['uid']}") for b in boards]
    span = f"{clock(now - times.seconds, 1e6)} to {clock(now, 1e6)} UTC"
    head = el(
        "header",
        el("h1", "mastwatch dashboards: preview"),
        el(
            "p",
            "Every panel's query, asked of a Prometheus and drawn by mastwatch. This is no "
            f"Grafana: there, panels look otherwise and can be filtered. {span}.",
        ),
        el("nav", links),
    )
    return _document(el("body", head, el("main", sections)))


def _section(server: Prometheus, board: Mapping[str, Any], now: float, times: Times) -> Html:
    inside: list[Html] = []
    for panel in panels(board):
        if panel["type"] == "row":
            inside.append(el("h3", panel["title"], class_="w24"))
        else:
            inside.append(_card(server, board, panel, now, times))
    return el(
        "section",
        el("h2", board["title"]),
        el("p", board.get("description", ""), class_="quiet"),
        el("div", inside, class_="panels"),
        id=board["uid"],
    )


def _card(
    server: Prometheus, board: Mapping[str, Any], panel: dict[str, Any], now: float, times: Times
) -> Html:
    queries = panel_queries(board, panel, times)
    data = ask(server, queries, now, times)
    if data.problem:
        drawn = el("p", data.problem, class_="problem")
    elif not data.series:
        nothing = panel["fieldConfig"]["defaults"].get("noValue") or "No data"
        drawn = el("p", nothing, class_="empty")
    else:
        drawn = _draw(panel, data)
    asked = el("details", el("summary", "query"), [el("pre", query.expr) for query in queries])
    width = panel["gridPos"]["w"]
    return el(
        "article",
        el("h4", panel["title"]),
        el("p", _with_code(panel.get("description", "")), class_="about"),
        drawn,
        asked,
        class_=f"w{width}",
    )


def _with_code(text: str) -> list[Child]:
    """Descriptions are Markdown in Grafana; of it they use words in back quotes only."""
    parts = text.split("`")
    return [el("code", part) if n % 2 else part for n, part in enumerate(parts)]


def _draw(panel: dict[str, Any], data: Shown) -> Html:
    kind, width = panel["type"], panel["gridPos"]["w"] * COLUMN - 34
    defaults = panel["fieldConfig"]["defaults"]
    most = defaults.get("max")
    unit = "count" if defaults.get("decimals") == 0 else defaults.get("unit", "short")
    if kind == "stat":
        return flat.stat(data, unit, thresholds(panel))
    if kind == "bargauge":
        return flat.bars(data, width, unit, most)
    if kind == "status-history":
        return flat.heat(data, width, unit)
    if kind == "table":
        return flat.table(data, unit)
    custom = defaults.get("custom") or {}
    stacked = (custom.get("stacking") or {}).get("mode") == "normal"
    return chart(data, width, unit, most, stacked)


def _document(body: Html) -> str:
    style = Html(resources.files(__name__).joinpath("style.css").read_text(encoding="utf-8"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", "mastwatch dashboards: preview"),
        el("style", style),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"
