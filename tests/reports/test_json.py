"""The JSON of a report: the promised keys, and the schema that describes it."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from mastwatch import taxonomy
from mastwatch.reports import report_document, report_line, report_schema
from mastwatch.store import Report
from mastwatch.store.codec import report_from_json
from reports.hostile import hostile_report
from reports.sample import sample_report

KINDS = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
    "integer": int, "number": (int, float),
}  # fmt: skip


def faults(value, schema, root, path="$"):
    """What a value breaks of the part of JSON Schema that ours uses."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    unknown = set(schema) - {
        "$schema", "$defs", "title", "description", "type", "required", "properties", "enum",
        "const", "additionalProperties", "items", "minimum", "maximum",
    }  # fmt: skip
    assert not unknown, f"this check does not know {unknown}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(
        isinstance(value, KINDS[kind]) and (kind == "boolean") == isinstance(value, bool)
        for kind in kinds
    ):
        return [f"{path}: {value!r} is none of {kinds}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {value!r}")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{path}: {value!r}")
    if isinstance(value, list):
        for at, item in enumerate(value):
            found += faults(item, schema.get("items", {}), root, f"{path}[{at}]")
    if isinstance(value, dict):
        found += [
            f"{path}.{key} is missing" for key in schema.get("required", ()) if key not in value
        ]
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if inner is None:
                found.append(f"{path}.{key} is not in the schema")
            else:
                found += faults(item, inner, root, f"{path}.{key}")
    return found


def test_a_line_has_the_promised_keys_first() -> None:
    line = report_line(sample_report())
    assert "\n" not in line
    told = json.loads(line)
    assert list(told)[:5] == ["run", "coverage", "task_completed", "verdicts", "usage"]
    assert list(told["verdicts"]) == [mode.slug for mode in taxonomy.MODES]
    verdict = told["verdicts"]["step_repetition"]
    assert {"mode", "verdict", "reason", "confidence", "evidence", "why"} <= set(verdict)
    assert (verdict["mode"], verdict["verdict"]) == ("FM-1.3", "present")
    assert verdict["evidence"][0]["message_index"] == 5
    assert verdict["evidence"][0]["quote"] == "I will ask it again."
    assert told["verdicts"]["task_derailment"]["reason"] == "schema"


@pytest.mark.parametrize(
    "report",
    [
        sample_report(),
        hostile_report(),
        Report(run_id="r", verdicts={}),
        replace(sample_report(), usage=replace(sample_report().usage, usd=None)),
    ],
    ids=["sample", "hostile", "empty", "no price"],
)
def test_reports_hold_to_the_schema_and_come_back(report) -> None:
    text = report_document(report)
    schema = report_schema()
    assert faults(json.loads(text), schema, schema) == []
    assert report_from_json(text) == report


def test_the_schema_knows_every_field_of_a_report() -> None:
    known = set(report_schema()["properties"])
    assert known == {f.name for f in fields(Report)} - {"run_id"} | {"run", "schema", "attribution"}


def test_the_schema_refuses_what_is_wrong() -> None:
    schema = report_schema()
    told = json.loads(report_line(sample_report()))
    told["verdicts"]["step_repetition"]["verdict"] = "maybe"
    told["coverage"] = 1.2
    del told["usage"]["calls"]
    assert len(faults(told, schema, schema)) == 3
