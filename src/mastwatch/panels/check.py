"""Asks a live Prometheus every query of every panel, variable and rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from mastwatch.metric_names import PREFIX
from mastwatch.panels.queries import Query, Times, dashboard_queries
from mastwatch.panels.rules import Form, Parameters, alerts
from mastwatch.panels.rules.recording import recordings
from mastwatch.panels.server import Prometheus, QueryError, Series

JUDGE = (f"{PREFIX}judge", f"{PREFIX}attribution")
"""How the names of all metrics of the judge and of attribution begin."""
Status = Literal["ok", "empty", "failed", "missing"]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one query.

    Attributes:
        query: The query.
        status: ``empty``: nothing to show; ``failed``: refused; ``missing``: the rule is not
            loaded.
        text: What the server says, or how many series there are.
    """

    query: Query
    status: Status
    text: str

    @property
    def good(self) -> bool:
        """Whether nothing needs to be done."""
        return self.status == "ok" or (self.status == "empty" and self.query.may_be_empty)


def check(
    server: Prometheus, boards: Iterable[Mapping[str, Any]], times: Times
) -> Iterator[Result]:
    """Ask every query of dashboards."""
    now = server.now()
    for board in boards:
        for query in dashboard_queries(board, times):
            yield _asked(server, query, now, times)


def check_rules(
    server: Prometheus, form: Form = "ratio", parameters: Parameters | None = None
) -> Iterator[Result]:
    """Ask every expression of the rules, and whether the server has them loaded.

    An alert that is silent has nothing to show, so its expression may be empty.
    """
    now, times, loaded = server.now(), Times(), server.rules()
    for query in rule_queries(form, parameters):
        result = _asked(server, query, now, times)
        state = loaded.get(query.title)
        if result.status != "failed" and state is None:
            result = Result(query, "missing", "the server has not loaded this rule")
        elif result.status != "failed" and state not in ("ok", "unknown"):
            result = Result(query, "failed", str(state))
        yield result


def rule_queries(form: Form = "ratio", parameters: Parameters | None = None) -> Iterator[Query]:
    """The expressions of recording and alerting rules.

    Args:
        form: Of the alerts on fatal modes, the one that is loaded.
        parameters: As the rules were exported.
    """
    known: dict[str, str] = {}
    for name, expr in recordings(parameters or Parameters()):
        # A rule on other rules is asked whole: those may not have been evaluated yet.
        for other, meaning in known.items():
            expr = expr.replace(other, f"({meaning})")
        known[name] = expr
        yield Query("rule", "rules", name, "", expr)
    for alert in alerts(parameters, [form]):
        yield Query("rule", "rules", f"Mastwatch{alert.name}", "", alert.expr, may_be_empty=True)


def without_judge(results: Iterable[Result]) -> Iterator[Result]:
    """The same where there is no judge: what is about it may be empty."""
    for result in results:
        query = result.query
        about_judge = any(name in query.expr or name in query.title for name in JUDGE)
        yield replace(result, query=replace(query, may_be_empty=True)) if about_judge else result


def _asked(server: Prometheus, query: Query, now: float, times: Times) -> Result:
    try:
        found: list[Series]
        if query.instant:
            found = server.query(query.expr, now)
        else:
            found = server.query_range(query.expr, now - times.seconds, now, query.step)
    except QueryError as error:
        return Result(query, "failed", str(error))
    if query.kind != "rule":
        # A share of nothing is a series, too: a panel shows nothing, a rule is no worse for it.
        found = [s for s in found if any(not math.isnan(value) for _, value in s.points)]
    return Result(query, "ok" if found else "empty", f"{len(found)} series")
