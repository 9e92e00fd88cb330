"""Reports as JSON: for programs, with a version and a schema."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from mastwatch.store import Report
from mastwatch.store.codec import report_as_dict

_FIRST = ("run", "coverage", "task_completed", "verdicts", "usage")


def report_dict(report: Report) -> dict[str, Any]:
    """A report as plain values, as ``report.schema.json`` describes it."""
    told = report_as_dict(report)
    return {name: told[name] for name in _FIRST} | told


def report_line(report: Report) -> str:
    """A report as one line of JSON, as ``mastwatch judge --json`` prints it."""
    # Escapes: lone surrogates occur in logs and no encoding takes them.
    return json.dumps(report_dict(report))


def report_document(report: Report) -> str:
    """A report as a JSON file."""
    return json.dumps(report_dict(report), indent=2) + "\n"


def report_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a report.

    >>> report_schema()["properties"]["schema"]
    {'const': 1, 'description': 'Version of this schema.'}
    """
    text = resources.files("mastwatch.reports").joinpath("report.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
