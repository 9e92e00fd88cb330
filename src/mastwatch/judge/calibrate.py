"""How well a judge agrees with people: measured once, kept in a file, stamped on every report.

A calibration holds for one taxonomy, one prompt and one model. Anything else is uncalibrated, and
says so. ``mastwatch.evaluation.calibration`` measures; this module keeps and stamps.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

UNCALIBRATED = "uncalibrated"
SCHEMA = 1
SUFFIX = ".calibration.json"


class BadCalibration(ValueError):
    """A file with calibrations cannot be used; the message says which and why."""


def digest(taxonomy_version: str, prompt_version: str, model: str) -> str:
    """What a calibration is kept under.

    >>> digest("mast14", "1", "m") == digest("mast14", "2", "m")
    False
    """
    told = json.dumps([taxonomy_version, prompt_version, model])
    return blake2b(told.encode(), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was measured of one judge.

    Attributes:
        taxonomy_version, prompt_version, model: What judged.
        date: Day on which it was measured, ``2026-11-21``.
        runs: Runs with a label and a report.
        modes: By slug: ``n``, ``positives``, ``kappa``, ... and ``threshold``, the confidence from
            which ``present`` is believed; figures are missing where there are too few labels.
    """

    taxonomy_version: str
    prompt_version: str
    model: str
    date: str
    runs: int
    modes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """What it is kept under."""
        return digest(self.taxonomy_version, self.prompt_version, self.model)

    @property
    def stamp(self) -> str:
        """How it stands on reports."""
        return f"{self.digest} of {self.date}, n={self.runs}"

    @property
    def kappas(self) -> dict[str, float]:
        """Kappa by slug, for ``mastwatch_judge_agreement_kappa``; only those that are known."""
        return self._figures("kappa")

    @property
    def thresholds(self) -> dict[str, float]:
        """Confidence by mode below which a verdict is asked again."""
        return self._figures("threshold")

    def _figures(self, name: str) -> dict[str, float]:
        return {
            slug: figures[name]
            for slug, figures in self.modes.items()
            if isinstance(figures.get(name), (int, float))
        }


class Calibrations:
    """All calibrations of one file.

    Args:
        known: By digest.

    >>> Calibrations().stamp("mast14", "1", "some-model")
    'uncalibrated'
    """

    def __init__(self, known: Mapping[str, Calibration] | None = None) -> None:
        self._known = dict(known or {})

    def of(self, taxonomy_version: str, prompt_version: str, model: str) -> Calibration | None:
        """The calibration of a judge, if it was calibrated."""
        return self._known.get(digest(taxonomy_version, prompt_version, model))

    def stamp(self, taxonomy_version: str, prompt_version: str, model: str) -> str:
        """What its reports say of it: digest, date and number of runs, or ``uncalibrated``."""
        found = self.of(taxonomy_version, prompt_version, model)
        return UNCALIBRATED if found is None else found.stamp

    def add(self, calibration: Calibration) -> None:
        """Take one in; an older one of the same judge is replaced."""
        self._known[calibration.digest] = calibration

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibrations:
        """Read a file; where there is none nothing is calibrated.

        Raises:
            BadCalibration: It is no such file, or a newer release wrote it.
        """
        try:
            value = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError) as error:
            raise BadCalibration(f"{path}: cannot be read: {error}") from None
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            raise BadCalibration(f"{path}: no calibrations of schema {SCHEMA}")
        try:
            found = [Calibration(**item) for item in value["calibrations"]]
        except (TypeError, KeyError) as error:
            raise BadCalibration(f"{path}: a calibration is not as expected: {error}") from None
        return cls({calibration.digest: calibration for calibration in found})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, all of it or nothing."""
        value = {"schema": SCHEMA, "calibrations": [asdict(c) for c in self._known.values()]}
        target = Path(path)
        draft = target.with_name(f"{target.name}.new")
        draft.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        draft.replace(target)


def beside(store: str | os.PathLike[str]) -> Path:
    """Where the calibrations of a store are kept.

    >>> beside("/data/runs.sqlite").name
    'runs.calibration.json'
    """
    return Path(store).with_suffix(SUFFIX)
