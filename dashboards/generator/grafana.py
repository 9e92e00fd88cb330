"""From the description of a dashboard to Grafana's JSON, by grafana-foundation-sdk.

The builders leave empty what Grafana wants filled: panel ids, ref ids, datasources, positions. All
of it is set here.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from typing import Any

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    prometheus,
    stat,
    statushistory,
    table,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as common_model
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import prometheus as prometheus_model

from generator.head import (
    SOURCE,
    TAG,
    alert_marks,
    datasource,
    field_for,
    filter_by,
    link_out,
    links_to_others,
)
from generator.spec import WIDTH, Dashboard, Panel, Query

_COLOURS: dict[str, list[tuple[str, float | None]]] = {
    "plain": [("blue", None)],
    "bad": [("green", None), ("red", 0.000001)],
    "good": [("red", None), ("orange", 0.5), ("green", 0.8)],
}


def to_json(board: Dashboard) -> str:
    """The file of a dashboard; the same for the same description."""
    builder = (
        dashboard.Dashboard(board.title)
        .uid(f"{TAG}-{board.name}")
        .description(board.description)
        .tags([TAG])
        .timezone("browser")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .refresh("30s")
        .time("now-6h", "now")
        .variables([datasource(), *map(filter_by, board.variables), *map(field_for, board.texts)])
        .links([links_to_others(), *map(link_out, board.links)])
        .annotation(alert_marks())
    )
    for place in _places(board):
        builder = place(builder)
    return JSONEncoder(sort_keys=True, indent=2).encode(builder.build()) + "\n"


_Step = Callable[[dashboard.Dashboard], dashboard.Dashboard]


def _places(board: Dashboard) -> Iterator[_Step]:
    """Put rows and panels on the grid, from left to right, with ids from 1."""
    number, y = 1, 0
    for row in board.rows:
        heading = dashboard.Row(row.title).id(number)
        at = model.GridPos(h=1, w=WIDTH, x=0, y=y)
        yield _with_row(heading.collapsed(False).grid_pos(at))
        number, y, x, tallest = number + 1, y + 1, 0, 0
        for panel in row.panels:
            if x + panel.width > WIDTH:
                x, y, tallest = 0, y + tallest, 0
            at = model.GridPos(h=panel.height, w=panel.width, x=x, y=y)
            yield _with_panel(_panel(panel).id(number).grid_pos(at))
            number, x, tallest = number + 1, x + panel.width, max(tallest, panel.height)
        y += tallest


def _with_row(row: dashboard.Row) -> _Step:
    return lambda builder: builder.with_row(row)


def _with_panel(panel: Any) -> _Step:
    return lambda builder: builder.with_panel(panel)


def _panel(panel: Panel) -> Any:
    """The builders of the panel types share no base class, hence Any."""
    builder: Any = _KINDS[panel.kind](panel)
    builder = (
        builder.title(panel.title)
        .description(panel.description)
        .datasource(SOURCE)
        .unit(panel.unit)
        .min(0)
        .thresholds(_thresholds(panel))
    )
    if panel.empty:
        builder = builder.no_value(panel.empty)
    if panel.decimals is not None:
        builder = builder.decimals(panel.decimals)
    if panel.most is not None:
        builder = builder.max(panel.most)
    instant = panel.kind in ("stat", "bars", "table")
    for letter, query in zip(string.ascii_uppercase, panel.queries, strict=False):
        builder = builder.with_target(_target(letter, query, instant, panel.kind == "table"))
    return builder


def _target(letter: str, query: Query, instant: bool, as_table: bool) -> prometheus.Dataquery:
    target = (
        prometheus.Dataquery()
        .ref_id(letter)
        .datasource(SOURCE)
        .expr(query.expr)
        .legend_format(query.legend or "__auto")
        .exemplar(query.exemplars)
        .editor_mode(prometheus_model.QueryEditorMode.CODE)
        .format(prometheus_model.PromQueryFormat("table" if as_table else "time_series"))
    )
    return target.instant() if instant else target.range()


def _stat(panel: Panel) -> stat.Panel:
    return (
        stat.Panel()
        .reduce_options(_last())
        .color_mode(common_model.BigValueColorMode.VALUE)
        .graph_mode(common_model.BigValueGraphMode.NONE)
    )


def _lines(panel: Panel) -> timeseries.Panel:
    return (
        timeseries.Panel()
        .legend(_legend())
        .tooltip(_tooltip())
        .line_width(2)
        .fill_opacity(8)
        .show_points(common_model.VisibilityMode.AUTO)
    )


def _stack(panel: Panel) -> timeseries.Panel:
    stacking = common.StackingConfig().mode(common_model.StackingMode.NORMAL).group("A")
    return (
        _lines(panel)
        .draw_style(common_model.GraphDrawStyle.LINE)
        .stacking(stacking)
        .line_width(1)
        .fill_opacity(60)
    )


def _bars(panel: Panel) -> bargauge.Panel:
    return (
        bargauge.Panel()
        .reduce_options(_last())
        .orientation(common_model.VizOrientation.HORIZONTAL)
        .display_mode(common_model.BarGaugeDisplayMode.BASIC)
        .show_unfilled(True)
    )


def _heat(panel: Panel) -> statushistory.Panel:
    scheme = dashboard.FieldColor().mode(model.FieldColorModeId("continuous-YlRd"))
    return (
        statushistory.Panel()
        .color_scheme(scheme)
        .show_value(common_model.VisibilityMode.NEVER)
        .row_height(0.9)
        .col_width(0.95)
        .legend(_legend())
        .max_data_points(60)
        .interval("1m")
    )


def _table(panel: Panel) -> table.Panel:
    merged = model.DataTransformerConfig(id_val="merge", options={})
    hidden = model.DataTransformerConfig(
        id_val="organize", options={"excludeByName": {"Time": True}}
    )
    return table.Panel().with_transformation(merged).with_transformation(hidden).filterable(True)


_KINDS: dict[str, Callable[[Panel], Any]] = {
    "stat": _stat,
    "lines": _lines,
    "stack": _stack,
    "bars": _bars,
    "heat": _heat,
    "table": _table,
}


def _last() -> common.ReduceDataOptions:
    return common.ReduceDataOptions().calcs(["lastNotNull"]).values(False)


def _legend() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(common_model.LegendDisplayMode.LIST)
        .placement(common_model.LegendPlacement.BOTTOM)
        .calcs([])
    )


def _tooltip() -> common.VizTooltipOptions:
    return (
        common.VizTooltipOptions()
        .mode(common_model.TooltipDisplayMode.MULTI)
        .sort(common_model.SortOrder.DESCENDING)
    )


def _thresholds(panel: Panel) -> dashboard.ThresholdsConfig:
    steps = [model.Threshold(color=c, value=value) for c, value in _COLOURS[panel.colour]]
    return dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps)
