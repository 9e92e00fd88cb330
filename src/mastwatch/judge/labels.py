"""What people say of runs: labels by failure mode, in our scheme or in another one.

Tools number the modes differently, and 3.2 and 3.3 most of all. A slug is unmistakable, ``FM-3.2``
is ours unless another scheme is named, and a bare ``3.2`` is refused until somebody says whose.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mastwatch import taxonomy
from mastwatch.formats import Problem
from mastwatch.formats.source import Source

_NUMBER = re.compile(r"(FM-)?(\d\.\d)")
OURS = "mastwatch"


@dataclass(frozen=True, slots=True)
class Heir:
    """What a foreign mode became here.

    Attributes:
        slug: Ours; empty where there is none, and the label is dropped.
        lossy: Theirs holds more or less than ours.
    """

    slug: str
    lossy: bool = False


def _numbers() -> dict[str, Heir]:
    return {mode.code.removeprefix("FM-"): Heir(mode.slug) for mode in taxonomy.MODES}


_NOT_CHECKED, _WRONGLY_CHECKED = "no_or_incomplete_verification", "incorrect_verification"
SCHEMES: Mapping[str, Mapping[str, Heir]] = {
    OURS: _numbers(),
    # 3.2 "No or Incorrect Verification", 3.3 "Weak Verification".
    "agentdash": {
        **_numbers(),
        "3.2": Heir(_NOT_CHECKED, lossy=True),
        "3.3": Heir(_WRONGLY_CHECKED, lossy=True),
    },
    # definitions.txt of the MAST repository: 3.2 "Weak", 3.3 "No or Incorrect Verification".
    "mast-repository": {
        **_numbers(),
        "3.2": Heir(_NOT_CHECKED, lossy=True),
        "3.3": Heir(_WRONGLY_CHECKED, lossy=True),
    },
    # Rounds of the human labels. Of their other modes the heirs are not certain: dropped.
    "mast-17": {
        "3.2": Heir(_NOT_CHECKED, lossy=True),  # lack of critical verification
        "3.3": Heir(_NOT_CHECKED, lossy=True),  # lack of result verification
    },
    "mast-18": {
        "3.2": Heir("information_withholding"),
        "3.3": Heir("ignored_agent_input"),
        "4.2": Heir(_NOT_CHECKED, lossy=True),
        "4.3": Heir(_NOT_CHECKED, lossy=True),
    },
}
"""By name: what the numbers of a scheme mean here."""


class BadLabels(ValueError):
    """Labels cannot be used; the message says where, why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """What one person says of one run.

    Attributes:
        run: Its id.
        labels: By slug, whether the mode is present; only what was said.
        lossy: Slugs whose label came from a mode that holds more or less than ours.
        labeller: Who says so; empty when unknown.
        evidence: By slug, ``{"message_index", "quote"}``, where it was given.
        notes: By slug, in words.
        group: Runs of one problem are kin; the run itself where this is not said.
    """

    run: str
    labels: Mapping[str, bool]
    lossy: frozenset[str] = frozenset()
    labeller: str = ""
    evidence: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    group: str = ""


@dataclass(slots=True)
class Read:
    """The labels of some files, and how many had no heir, by the name they came under."""

    found: list[Labelled] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def read(path: str, scheme: str = "", slugs: frozenset[str] = frozenset()) -> Read:
    """Read a file of labels (JSONL, gzipped or not), or of labelled records.

    Args:
        path: ``{"run", "labels": {slug or FM-code: 0 or 1}, "source_scheme"?, "labeller"?}`` per
            line, or records with ``labels.fm``.
        scheme: What bare numbers mean where a line does not say; one of ``SCHEMES``.
        slugs: Modes of your own that are known beside MAST's.

    Raises:
        BadLabels: The file cannot be read, or a line of it is not as expected.
    """
    result = Read()
    for where, value in _lines(path):
        labels = value.get("labels")
        if not isinstance(labels, dict):
            raise BadLabels(f"{where}: 'labels' is missing or no object")
        is_record = isinstance(value.get("messages"), list)
        said = labels.get("fm") if is_record else labels
        run = value.get("id" if is_record else "run")
        if not isinstance(said, dict):
            continue  # a recorded run that nobody labelled
        if not isinstance(run, str) or not run:
            raise BadLabels(f"{where}: the id of the run that is labelled is missing")
        named = value.get("source_scheme") or scheme
        result.found.append(_labelled(run, said, named, value, slugs, where, result.dropped))
    return result


def _lines(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        stream = open(path, "rb")  # noqa: SIM115 - closed below; the error is only of opening
    except OSError as error:
        raise BadLabels(f"{path}: cannot be opened ({error.strerror})") from None
    with stream:
        source = Source(stream, path)
        if source.problem is not None:
            raise BadLabels(str(source.problem))
        for item in source.values():
            if isinstance(item, Problem):
                raise BadLabels(str(item))
            if not isinstance(item.value, dict):
                raise BadLabels(f"{item.where}: no object")
            yield str(item.where), item.value


def _labelled(
    run: str,
    said: Mapping[str, Any],
    scheme: str,
    line: Mapping[str, Any],
    slugs: frozenset[str],
    where: str,
    dropped: Counter[str],
) -> Labelled:
    labels: dict[str, bool] = {}
    lossy = set()
    for key, value in said.items():
        if value is None:
            continue
        if value not in (0, 1):
            raise BadLabels(f"{where}: {key}: a label is 0 or 1, or null for none")
        heir = _heir(key, scheme, slugs, where)
        if not heir.slug:
            dropped[key] += 1
            continue
        # Two modes of theirs may be one of ours: it is present where either is.
        labels[heir.slug] = labels.get(heir.slug, False) or bool(value)
        if heir.lossy:
            lossy.add(heir.slug)
    return Labelled(
        run=run,
        labels=labels,
        lossy=frozenset(lossy),
        labeller=str(line.get("labeller") or ""),
        evidence=_objects(line.get("evidence")),
        notes={key: str(note) for key, note in _object(line.get("notes")).items() if note},
        group=str(line.get("group") or line.get("question_id") or ""),
    )


def _heir(key: str, scheme: str, slugs: frozenset[str], where: str) -> Heir:
    if scheme and scheme not in SCHEMES:
        raise BadLabels(f"{where}: scheme {scheme!r} is unknown; known: {', '.join(SCHEMES)}")
    number = _NUMBER.fullmatch(key)
    if number is None:
        try:
            return Heir(key if key in slugs else taxonomy.mode(key).slug)
        except KeyError:
            known = ", ".join(mode.slug for mode in taxonomy.MODES)
            raise BadLabels(f"{where}: {key!r} is no failure mode; known: {known}") from None
    if not number[1] and not scheme:
        raise BadLabels(
            f"{where}: {key!r} means different modes in different tools: write FM-{key} or the "
            f"mode's name, or say whose numbers these are (--scheme {' or '.join(SCHEMES)})"
        )
    return SCHEMES[scheme or OURS].get(number[2], Heir(""))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> dict[str, Mapping[str, Any]]:
    return {key: item for key, item in _object(value).items() if isinstance(item, dict)}


def as_line(labelled: Labelled) -> str:
    """Labels as a line of a file."""
    return json.dumps(
        {
            "run": labelled.run,
            "source_scheme": OURS,
            "labeller": labelled.labeller,
            "labels": {slug: int(value) for slug, value in labelled.labels.items()},
            "evidence": dict(labelled.evidence),
            "notes": dict(labelled.notes),
        },
        ensure_ascii=False,
    )
