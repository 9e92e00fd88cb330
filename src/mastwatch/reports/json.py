"""Reports as JSON: for programs, with a version and a schema."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from mastwatch.store import Attribution, Report
from mastwatch.store.codec import attribution_as_dict, report_as_dict

_FIRST = ("run", "coverage", "task_completed", "verdicts", "usage")
_ATTRIBUTION_FIRST = ("run", "result", "step", "agent", "reason", "counterfactual")


def report_dict(report: Report) -> dict[str, Any]:
    """A report as plain values, as ``report.schema.json`` describes it."""
    told = report_as_dict(report)
    return {name: told[name] for name in _FIRST} | told


def report_line(report: Report) -> str:
    """A report as one line of JSON, as ``mastwatch judge --json`` prints it."""
    # Escapes: lone surrogates occur in logs and no encoding takes them.
    return json.dumps(report_dict(report))


def attribution_dict(attribution: Attribution) -> dict[str, Any]:
    """An attribution as plain values, as ``attribution.schema.json`` describes it."""
    told = attribution_as_dict(attribution)
    return {name: told[name] for name in _ATTRIBUTION_FIRST} | told


def attribution_line(attribution: Attribution) -> str:
    """An attribution as one line of JSON, as ``mastwatch attribute --json`` prints it."""
    return json.dumps(attribution_dict(attribution))


def report_document(report: Report | None, attribution: Attribution | None = None) -> str:
    """What is known of a run as a JSON file: its report, and in it the attribution.

    A run that was attributed and not judged has ``run`` and ``attribution`` only.

    Args:
        report: The judge's, if the run was judged.
        attribution: Who decided that it failed, and where, if that was asked.
    """
    told: dict[str, Any] = {} if report is None else report_dict(report)
    if attribution is not None:
        told = {"run": attribution.run_id, **told, "attribution": attribution_dict(attribution)}
    return json.dumps(told, indent=2) + "\n"


def report_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a report.

    >>> report_schema()["properties"]["schema"]
    {'const': 1, 'description': 'Version of this schema.'}
    """
    return _schema("report")


def attribution_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of an attribution.

    >>> attribution_schema()["title"]
    'mastwatch attribution of one run'
    """
    return _schema("attribution")


def _schema(name: str) -> dict[str, Any]:
    file = resources.files("mastwatch.reports").joinpath(f"{name}.schema.json")
    schema: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return schema
