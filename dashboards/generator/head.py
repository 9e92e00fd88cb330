"""The head of a dashboard in Grafana's terms: variables, links, annotations."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as model

from generator.spec import Link, TextVariable, Variable
from mastwatch.panels.promql import select

TAG = "mastwatch"
SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")


def datasource() -> dashboard.DatasourceVariable:
    """Which Prometheus."""
    return dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus")


def filter_by(variable: Variable) -> dashboard.QueryVariable:
    """A filter by the values of a label."""
    # One filter, not all: a chain of filters that filter each other hides values without a word.
    inside = select(variable.metric, {} if variable.label == "job" else {"job": "~$job"})
    everything = model.VariableOption(text="All", value="$__all", selected=True)
    return (
        dashboard.QueryVariable(variable.label)
        .label(variable.title)
        .datasource(SOURCE)
        .query(f"label_values({inside}, {variable.label})")
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")  # also matches series that have no such label
        .current(everything)
    )


def field_for(variable: TextVariable) -> dashboard.TextBoxVariable:
    """A field that people fill in."""
    return (
        dashboard.TextBoxVariable(variable.name)
        .label(variable.title)
        .default_value(variable.default)
    )


def links_to_others() -> dashboard.DashboardLink:
    """Links to the other dashboards."""
    return (
        dashboard.DashboardLink("mastwatch")
        .type(model.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(False)
        .keep_time(True)
        .include_vars(True)
    )


def link_out(link: Link) -> dashboard.DashboardLink:
    """A link that leads out."""
    return (
        dashboard.DashboardLink(link.title)
        .type(model.DashboardLinkType.LINK)
        .url(link.url)
        .tooltip(link.tooltip)
        .icon("external link")
        .target_blank(True)
    )


def alert_marks() -> dashboard.AnnotationQuery:
    """Alerts that fired, as marks on the time axis."""
    firing = 'ALERTS{alertname=~"Mastwatch.*",alertstate="firing",job=~"$job"}'
    return (
        dashboard.AnnotationQuery()
        .name("Alerts")
        .datasource(SOURCE)
        .enable(True)
        .icon_color("red")
        .expr(firing)
    )
