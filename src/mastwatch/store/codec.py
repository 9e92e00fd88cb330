"""Traces and reports as JSON, and back; older versions are brought up to date on reading."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from mastwatch.events import Contract, ToolRequest
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.store.attribution import ATTRIBUTION_SCHEMA, Attribution, Candidate
from mastwatch.store.report import REPORT_SCHEMA, Evidence, Report, Usage, Verdict
from mastwatch.store.trace import TRACE_SCHEMA, ModelInput, Trace, TraceRow


class UnknownSchema(ValueError):
    """The text was written by a newer mastwatch."""


def trace_to_json(trace: Trace) -> str:
    """Write a trace as one line of JSON; what has its default is left out."""
    return _dump({"schema": TRACE_SCHEMA, **trace_as_dict(trace)})


def trace_as_dict(trace: Trace) -> dict[str, Any]:
    """A trace as plain values; what has its default is left out."""
    shown: dict[str, Any] = _plain(trace)
    return shown


def trace_from_json(text: str | bytes) -> Trace:
    """Read a trace.

    Raises:
        UnknownSchema: It is newer than this release.
        ValueError: It is no trace.
    """
    data = _load(text, TRACE_SCHEMA)
    try:
        return _trace(data)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no trace of a run: {error}") from error


def report_as_dict(report: Report) -> dict[str, Any]:
    """A report as plain values: the versioned JSON schema that users read."""
    shown = asdict(report)
    verdicts = shown["verdicts"].values()
    shown["verdicts"] = {verdict.pop("slug"): verdict for verdict in verdicts}
    return {"schema": REPORT_SCHEMA, "run": shown.pop("run_id"), **shown}


def report_from_json(text: str | bytes) -> Report:
    """Read a report.

    Raises:
        UnknownSchema: It is newer than this release.
        ValueError: It is no report.
    """
    data = _load(text, REPORT_SCHEMA)
    try:
        return _report(data)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no report of a run: {error}") from error


def attribution_as_dict(attribution: Attribution) -> dict[str, Any]:
    """An attribution as plain values: the versioned JSON schema that users read."""
    shown = asdict(attribution)
    return {"schema": ATTRIBUTION_SCHEMA, "run": shown.pop("run_id"), **shown}


def result_to_json(result: Report | Attribution) -> str:
    """Write a report or an attribution as one line of JSON."""
    if isinstance(result, Report):
        return _dump(report_as_dict(result))
    return _dump(attribution_as_dict(result))


def attribution_from_json(text: str | bytes) -> Attribution:
    """Read an attribution.

    Raises:
        UnknownSchema: It is newer than this release.
        ValueError: It is no attribution.
    """
    data = _load(text, ATTRIBUTION_SCHEMA)
    try:
        return _attribution(data)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no attribution of a run: {error}") from error


def _attribution(data: dict[str, Any]) -> Attribution:
    return Attribution(
        **{
            **{name: value for name, value in data.items() if name != "run"},
            "run_id": data["run"],
            "evidence": tuple(Evidence(**item) for item in data["evidence"]),
            "candidates": tuple(
                Candidate(**{**item, "evidence": tuple(Evidence(**e) for e in item["evidence"])})
                for item in data["candidates"]
            ),
            "modes": tuple(data["modes"]),
            "usage": Usage(**data["usage"]),
            "problems": tuple(data["problems"]),
        }
    )


def _trace(data: dict[str, Any]) -> Trace:
    contract = data.get("contract", {})
    tools = data.get("tools", {})
    return Trace(
        **{
            **data,
            "rows": tuple(_row(row) for row in data.get("rows", ())),
            "inputs": tuple(ModelInput(**item) for item in data.get("inputs", ())),
            "contract": Contract(**{**contract, "tokens": tuple(contract.get("tokens", ()))}),
            "tools": {agent: tuple(names) for agent, names in tools.items()},
            "models": tuple(data.get("models", ())),
            "findings": tuple(Finding(**_verdict(item)) for item in data.get("findings", ())),
            "notices": tuple(Notice(**_verdict(item)) for item in data.get("notices", ())),
        }
    )


def _row(item: Mapping[str, Any]) -> TraceRow:
    calls = tuple(ToolRequest(**call) for call in item.get("tool_calls", ()))
    recipients = tuple(item.get("recipients", ()))
    return TraceRow(**{**item, "tool_calls": calls, "recipients": recipients})


def _verdict(item: Mapping[str, Any]) -> dict[str, Any]:
    severity = Severity.parse(item.get("severity", "info"))
    return {**item, "severity": severity, "evidence": tuple(item.get("evidence", ()))}


def _report(data: dict[str, Any]) -> Report:
    verdicts = {
        slug: Verdict(
            **{**item, "slug": slug, "evidence": tuple(Evidence(**e) for e in item["evidence"])}
        )
        for slug, item in data["verdicts"].items()
    }
    return Report(
        **{
            # The file of a run holds its attribution, too.
            **{name: value for name, value in data.items() if name not in ("run", "attribution")},
            "run_id": data["run"],
            "verdicts": verdicts,
            "usage": Usage(**data["usage"]),
            "problems": tuple(data["problems"]),
        }
    )


def _defaults(kind: type[Any]) -> tuple[tuple[str, object], ...]:
    """The fields of a dataclass with the value that need not be written."""
    return tuple(
        (f.name, f.default_factory() if f.default_factory is not MISSING else f.default)
        for f in fields(kind)
    )


_KINDS = {
    kind: _defaults(kind)
    for kind in (Trace, TraceRow, ToolRequest, ModelInput, Contract, Finding, Notice)
}


def _plain(value: object) -> Any:
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is tuple or kind is list:
        return [_plain(item) for item in value]  # type: ignore[attr-defined]
    if kind in _KINDS:
        shown = {}
        for name, default in _KINDS[kind]:
            item = getattr(value, name)
            # By identity first: arguments may be anything, also what cannot be compared.
            if item is not default and (default is None or item != default):
                shown[name] = _plain(item)
        return shown
    if isinstance(value, Severity):
        return value.label
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _dump(value: object) -> str:
    # Lone surrogates occur in logs; as escapes they survive every encoding.
    return json.dumps(value, ensure_ascii=True, default=str, separators=(",", ":"))


def _load(text: str | bytes, schema: int) -> dict[str, Any]:
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise ValueError("no 'schema' number: this was not written by mastwatch")
    if data["schema"] > schema:
        raise UnknownSchema(
            f"schema {data['schema']} is newer than {schema}, which this release reads"
        )
    del data["schema"]
    return data
