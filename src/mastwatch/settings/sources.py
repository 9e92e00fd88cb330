"""Where settings are written: the caller's keywords, variables, a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mastwatch.settings.readers import READERS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EXPORTER_VARIABLE = "OTEL_METRICS_EXPORTER"
CONFIG_VARIABLE = "MASTWATCH_CONFIG"
"""Names the file to read instead of those of the working directory."""


_SD_VARIABLE = "MASTWATCH_SD_DIR"
"""A short name for ``MASTWATCH_PROMETHEUS_SD_DIR``."""

_JUDGE_PREFIX = "MASTWATCH_JUDGE_"
_OTHER_VARIABLES = ("MASTWATCH_JUDGE_PROMETHEUS_PORT",)
"""Of the worker's process, not of the judge."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings.

    Attributes:
        origin: Says where a setting stands; ``{}`` is the setting's name.
        values: The raw values by setting.
        origins: Settings that stand elsewhere than ``origin`` says.
    """

    origin: str
    values: Mapping[str, Any]
    origins: Mapping[str, str] = field(default_factory=dict)

    def where(self, name: str) -> str:
        """Where the setting ``name`` stands, for people."""
        return self.origins.get(name) or self.origin.format(name)


def from_environment(environ: Mapping[str, str]) -> Layer:
    """The variables that are set and not empty."""
    variables = {name: f"MASTWATCH_{name.upper()}" for name in READERS if name != "judge_options"}
    values: dict[str, Any] = {
        name: environ[variable] for name, variable in variables.items() if environ.get(variable)
    }
    origins = {name: f"variable {variable}" for name, variable in variables.items()}
    if environ.get(_SD_VARIABLE) and "prometheus_sd_dir" not in values:
        values["prometheus_sd_dir"] = environ[_SD_VARIABLE]
        origins["prometheus_sd_dir"] = f"variable {_SD_VARIABLE}"
    exporter = _exporter(environ.get(EXPORTER_VARIABLE, ""))
    if exporter and "metrics" not in values:
        values["metrics"] = exporter
        origins["metrics"] = f"variable {EXPORTER_VARIABLE}"
    mode = environ.get(CAPTURE_VARIABLE, "").strip().upper()
    if mode in ("SPAN_ONLY", "SPAN_AND_EVENT") and "capture_content" not in values:
        values["capture_content"] = True
        origins["capture_content"] = f"variable {CAPTURE_VARIABLE}"
    options = {
        variable.removeprefix(_JUDGE_PREFIX).lower(): value
        for variable, value in environ.items()
        if value and variable.startswith(_JUDGE_PREFIX) and variable not in _OTHER_VARIABLES
    }
    if options:
        values["judge_options"] = options
        origins["judge_options"] = f"variables {_JUDGE_PREFIX}*"
    return Layer("", values, origins)


def _exporter(said: str) -> str:
    """What OpenTelemetry's list of metrics exporters means for ours; empty if nothing.

    >>> _exporter("otlp,prometheus"), _exporter("console"), _exporter("none")
    ('both', '', 'none')
    """
    named = {part.strip().lower() for part in said.split(",")}
    if {"otlp", "prometheus"} <= named:
        return "both"
    return next((word for word in ("otlp", "prometheus", "none") if word in named), "")


def judge_apart(values: Mapping[str, Any], *, asked: bool) -> dict[str, Any]:
    """Take a table under ``judge`` apart: whether to judge, and how.

    Args:
        values: A layer's.
        asked: Whether the table itself asks for judging. One in a file only says how, unless it
            has ``enabled = true``: nothing is sent to a model because somebody noted its name.
    """
    table = values.get("judge")
    if not isinstance(table, Mapping):
        return dict(values)
    options = {name: value for name, value in table.items() if name != "enabled"}
    enabled = table.get("enabled", True if asked else None)
    return {**values, "judge": enabled, "judge_options": options}


def from_directory(directory: Path, problems: list[str]) -> Layer:
    """The file of a working directory: ``mastwatch.toml``, else the table of ``pyproject.toml``."""
    for name in ("mastwatch.toml", "pyproject.toml"):
        layer = from_file(directory / name, problems, must_exist=False)
        if layer.values:
            return layer
    return Layer("", {})


def from_file(path: Path, problems: list[str], *, must_exist: bool = True) -> Layer:
    """One file; of a ``pyproject.toml`` the table ``[tool.mastwatch]``.

    Args:
        path: The file.
        problems: What cannot be read is added here.
        must_exist: Whether a missing file is a problem.
    """
    try:
        data: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        # A working directory that is a file has no settings in it either.
        if must_exist or not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            why = getattr(error, "strerror", None) or error
            problems.append(f"{path} cannot be read ({why}); it is ignored")
        return Layer("", {})
    prefix = ""
    if path.name == "pyproject.toml":
        prefix = "tool.mastwatch."
        for key in ("tool", "mastwatch"):
            data = data.get(key, {}) if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            problems.append(f"{path}: tool.mastwatch: expected a table; it is ignored")
            return Layer("", {})
    data = judge_apart(data, asked=False)
    for key in sorted(set(data) - set(READERS)):
        problems.append(f"{path}: {prefix}{key} is no setting; it is ignored")
    shown = str(path).replace("{", "{{").replace("}", "}}")
    return Layer(f"{shown}: {prefix}{{}}", data, {"judge_options": f"{path}: [{prefix}judge]"})
