"""``mastwatch dashboards check``: what a live Prometheus answers to every query."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastwatch.panels.check import Result

_MARKS = {"ok": "ok     ", "empty": "EMPTY  ", "failed": "FAILED ", "missing": "MISSING"}


def run_check(args: argparse.Namespace) -> int:
    """Print what came of the queries.

    Returns:
        0, or 1 when one failed or had nothing to say.
    """
    bad = total = 0
    for result in _results(args):
        total += 1
        bad += not result.good
        if args.json:
            sys.stdout.write(json.dumps(_as_dict(result)) + "\n")
        elif args.verbose or not result.good:
            sys.stdout.write(_line(result))
    if not args.json:
        sys.stdout.write(f"{total} queries, {total - bad} answer, {bad} do not\n")
    return 1 if bad else 0


def _results(args: argparse.Namespace) -> Iterator[Result]:
    from mastwatch.panels.check import check, check_rules, without_judge
    from mastwatch.panels.files import dashboards
    from mastwatch.panels.queries import Times
    from mastwatch.panels.rules import Parameters
    from mastwatch.panels.server import Prometheus

    server = Prometheus(args.prometheus)
    results = check(server, dashboards(args.dashboard), Times(args.range))
    yield from without_judge(results) if args.no_judge else results
    if args.rules:
        given = {field.name: getattr(args, field.name) for field in fields(Parameters)}
        rules = check_rules(server, args.form, Parameters(**given))
        yield from without_judge(rules) if args.no_judge else rules


def _line(result: Result) -> str:
    query = result.query
    ref = f" ({query.ref})" if query.ref else ""
    mark = "ok     " if result.good else _MARKS[result.status]
    text = "" if result.status == "empty" else f": {result.text}"
    return f"{mark}  {query.where} / {query.kind} {query.title}{ref}{text}\n"


def _as_dict(result: Result) -> dict[str, object]:
    query = result.query
    return {
        "status": result.status,
        "good": result.good,
        "kind": query.kind,
        "where": query.where,
        "title": query.title,
        "ref": query.ref,
        "text": result.text,
        "expr": query.expr,
    }
