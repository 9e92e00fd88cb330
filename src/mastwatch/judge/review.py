"""Runs for people to judge: a form to fill in, and what comes back.

The form is one HTML file that works without a network and saves its answers as JSONL, or JSONL to
be edited by hand. What the judge said is left out unless asked for: who has seen a verdict tends to
agree with it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import resources
from typing import Any

from mastwatch.judge.examples import as_line
from mastwatch.judge.labels import Labelled
from mastwatch.judge.modes import Taxonomy
from mastwatch.judge.render import header, row_text, visible
from mastwatch.store import Report, Trace

SCHEMA = "mastwatch.review/1"


def form(trace: Trace, taxonomy: Taxonomy, report: Report | None = None) -> dict[str, Any]:
    """What a labeller needs to judge a run, and where the answers go.

    Args:
        trace: The run.
        taxonomy: The modes that are asked about.
        report: The judge's, to be shown beside; None keeps the labeller unbiased.
    """
    return {
        "schema": SCHEMA,
        "run": trace.run_id,
        "source_scheme": "mastwatch",
        "labeller": "",
        "labels": dict.fromkeys(taxonomy.slugs),
        "evidence": {},
        "notes": {},
        "task": visible(trace.task or ""),
        "rows": [
            {"index": row.index, "head": header(row), "text": visible(row_text(row))}
            for row in trace.rows
        ],
        "modes": [
            {
                "slug": mode.slug,
                "code": mode.code,
                "name": mode.name,
                "definition": mode.definition,
                "not_this": mode.not_this,
            }
            for mode in taxonomy.modes
        ],
        "judge": None if report is None else _said(report),
    }


def _said(report: Report) -> dict[str, Any]:
    return {
        slug: {
            "verdict": verdict.verdict,
            "why": verdict.why,
            "evidence": [
                {"message_index": item.message_index, "quote": item.quote}
                for item in verdict.evidence
            ],
        }
        for slug, verdict in report.verdicts.items()
    }


def as_jsonl(forms: Iterable[Mapping[str, Any]]) -> str:
    """The forms to be edited: one line each, the labels first."""
    return "".join(json.dumps(dict(each), ensure_ascii=False) + "\n" for each in forms)


def as_html(forms: Iterable[Mapping[str, Any]]) -> str:
    """The forms as one page. Text of the runs is data in it and never markup or script."""
    # In a script element only "<" could end it; as an escape it is the same JSON.
    data = json.dumps(list(forms), ensure_ascii=False).replace("<", "\\u003c")
    script = _file("review.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        _file("review.html")
        .replace("{{policy}}", policy)
        .replace("{{script}}", script)
        .replace("{{data}}", data)
    )


def _file(name: str) -> str:
    return resources.files("mastwatch.judge").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Correction:
    """A run on which a person and the judge differ.

    Attributes:
        run: Its id.
        wrong: By slug, what the judge should have said.
        labelled: Their word, with the proof they gave.
    """

    run: str
    wrong: Mapping[str, bool]
    labelled: Labelled


def corrections(labelled: Iterable[Labelled], reports: Mapping[str, Report]) -> list[Correction]:
    """Where people differ from the judge; verdicts that were not reached are none.

    A run that several people labelled differently corrects nothing: they have to agree first.
    """
    by_run: dict[str, list[Labelled]] = {}
    for one in labelled:
        by_run.setdefault(one.run, []).append(one)
    found = []
    for run, said in by_run.items():
        report = reports.get(run)
        if report is None:
            continue
        wrong = {
            slug: value
            for slug, value in _agreed(said).items()
            if slug in report.verdicts
            and report.verdicts[slug].verdict != "not_evaluated"
            and (report.verdicts[slug].verdict == "present") is not value
        }
        if wrong:
            found.append(Correction(run, wrong, _together(said)))
    return found


def _together(said: Iterable[Labelled]) -> Labelled:
    """What several people gave as proof, the first one's where they gave the same."""
    first, *others = said
    for other in others:
        first = replace(
            first,
            evidence={**other.evidence, **first.evidence},
            notes={**other.notes, **first.notes},
        )
    return first


def _agreed(said: Iterable[Labelled]) -> dict[str, bool]:
    votes: dict[str, set[bool]] = {}
    for one in said:
        for slug, value in one.labels.items():
            votes.setdefault(slug, set()).add(value)
    return {slug: values.pop() for slug, values in votes.items() if len(values) == 1}


def example(correction: Correction, trace: Trace) -> str:
    """The correction as a few-shot example, a line for the examples file."""
    verdicts = {
        slug: _verdict(slug, present, correction.labelled)
        for slug, present in correction.wrong.items()
    }
    return as_line(trace, verdicts)


def _verdict(slug: str, present: bool, labelled: Labelled) -> dict[str, Any]:
    shown = labelled.evidence.get(slug) or {}
    index, quote = shown.get("message_index"), str(shown.get("quote") or "")
    quoted = [{"msg": index, "quote": quote}] if present and isinstance(index, int) else []
    return {
        "verdict": "present" if present else "absent",
        "confidence": 1.0,
        "evidence": quoted,
        "why": labelled.notes.get(slug, ""),
    }
