"""From settings to a judge with its model, its calibrations and its store."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from mastwatch.judge import clients
from mastwatch.judge.calibrate import Calibrations, beside
from mastwatch.judge.judge import Judge
from mastwatch.judge.settings import JudgeSettings
from mastwatch.store import Limits, Store

_YES = ("1", "true", "yes", "on")


def chosen_model(asked: Any, settings: JudgeSettings) -> tuple[Any, JudgeSettings]:
    """The model meant by ``judge=``, and the settings with its name.

    Args:
        asked: A word for yes, which leaves the model to the settings; a name; or a model itself.
        settings: As configured.

    >>> chosen_model("small", JudgeSettings(model="large"))[0]
    'small'
    """
    if isinstance(asked, str):
        name = settings.model if asked.lower() in _YES else asked
        return name, replace(settings, model=name)
    return asked, settings


def make_judge(
    model: Any,
    settings: JudgeSettings,
    store: Store | None = None,
    calibrations: Calibrations | None = None,
    limits: Limits | None = None,
) -> Judge:
    """Make a judge; the library of its model is imported when it is first asked.

    Raises:
        ValueError: No model is named, or a file that the settings name cannot be used.
        TypeError: The model is nothing that can be asked.
    """
    client = clients.make(model, settings)
    return Judge(client, settings, store, calibrations=calibrations, limits=limits)


def calibrations_of(store: str | os.PathLike[str]) -> Calibrations:
    """The calibrations kept beside a store.

    Raises:
        mastwatch.judge.calibrate.BadCalibration: Their file cannot be used.
    """
    return Calibrations.load(beside(store))
