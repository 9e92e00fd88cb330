"""One frozen settings object: keyword > MASTWATCH_* variable > file > default.

The file is ``mastwatch.toml``, else the table ``[tool.mastwatch]`` of ``pyproject.toml``, looked
for in the working directory only. A value that cannot be read is reported in ``problems`` and the
next source down counts: a typo in a variable must not stop the host.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What ``instrument()`` was asked to do.

    Attributes:
        frameworks: Names of instrumentors to use; None for all that apply.
        detectors: Names of detectors to run; None for all.
        judge: Judge finished runs (a later release); off unless asked for.
        store: Keep finished runs (a later release); off unless asked for.
        metrics: ``prometheus`` or ``none``.
        release: The host's release, on every run's span.
        environment: The host's environment (``production``), on every run's span.
        metric_labels: Names of run tags to add as metric labels; at most 4.
        prometheus_host: Where ``/metrics`` is served.
        prometheus_port: Its port; 0 serves none; a taken one is tried up to +9.
        flush_timeout: Longest that the process's exit waits for exports, in seconds.
        capture_content: Export message text on spans.
        run_idle_timeout: A run without an event for so many seconds is closed as ``unknown``.
        max_runs: Runs watched at once; beyond that the longest idle one is closed.
        problems: What could not be read, one sentence each.
    """

    frameworks: tuple[str, ...] | None = None
    detectors: tuple[str, ...] | None = None
    judge: str = ""
    store: str = ""
    metrics: str = "prometheus"
    release: str = ""
    environment: str = ""
    metric_labels: tuple[str, ...] = ()
    prometheus_host: str = "127.0.0.1"
    prometheus_port: int = 9464
    flush_timeout: float = 2.0
    capture_content: bool = False
    run_idle_timeout: float = 3_600.0
    max_runs: int = 1_024
    problems: tuple[str, ...] = field(default=(), compare=False)


def load(
    keywords: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> Settings:
    """Put the settings together.

    Args:
        keywords: What the caller of ``instrument()`` gave; None values count as not given.
        environ: The process's environment by default.
        directory: Where the file is looked for; the working directory by default.

    Raises:
        TypeError: A keyword names no setting.

    >>> load({"prometheus_port": 0}, environ={"MASTWATCH_RELEASE": "1.2"}).release
    '1.2'
    """
    problems: list[str] = []
    environ = os.environ if environ is None else environ
    given = {key: value for key, value in (keywords or {}).items() if value is not None}
    unknown = sorted(set(given) - set(_READERS))
    if unknown:
        raise TypeError(f"instrument() has no setting {', '.join(unknown)}")
    layers = [
        ("", given),
        ("variable MASTWATCH_", _from_environment(environ)),
        ("setting ", _from_file(directory or Path.cwd(), problems)),
    ]
    values: dict[str, Any] = {}
    for name, read in _READERS.items():
        for source, layer in layers:
            raw = layer.get(name)
            if raw is None:
                continue
            try:
                values[name] = read(raw)
                break
            except (TypeError, ValueError) as error:
                label = name.upper() if source.endswith("_") else name
                problems.append(f"{source}{label}: {error}; it is ignored")
    return Settings(**values, problems=tuple(problems))


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    layer: dict[str, Any] = {
        name: environ[f"MASTWATCH_{name.upper()}"]
        for name in _READERS
        if environ.get(f"MASTWATCH_{name.upper()}")
    }
    mode = environ.get(CAPTURE_VARIABLE, "").strip().upper()
    if mode in ("SPAN_ONLY", "SPAN_AND_EVENT"):
        layer.setdefault("capture_content", True)
    return layer


def _from_file(directory: Path, problems: list[str]) -> dict[str, Any]:
    for name, table in (("mastwatch.toml", ()), ("pyproject.toml", ("tool", "mastwatch"))):
        path = directory / name
        try:
            data: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            problems.append(f"{path} cannot be read ({error}); it is ignored")
            continue
        for key in table:
            data = data.get(key, {}) if isinstance(data, dict) else {}
        if isinstance(data, dict) and data:
            for key in sorted(set(data) - set(_READERS)):
                problems.append(f"{path}: {key} is no setting; it is ignored")
            return data
    return {}


def _names(raw: Any) -> tuple[str, ...]:
    if isinstance(raw, str):
        raw = [part for part in raw.replace(",", " ").split() if part]
    if not all(isinstance(part, str) for part in raw):
        raise TypeError(f"expected names, not {raw!r}")
    return tuple(raw)


def _four_names(raw: Any) -> tuple[str, ...]:
    names = _names(raw)
    if len(names) > 4:
        raise ValueError(f"at most 4 labels, not {len(names)}")
    return names


def _text(raw: Any) -> str:
    if raw is True:
        return "1"
    return "" if raw is False else str(raw)


def _flag(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"expected true or false, not {raw!r}")


def _number(kind: Callable[[Any], Any], low: float, high: float) -> Callable[[Any], Any]:
    def read(raw: Any) -> Any:
        value = kind(raw)
        if not low <= value <= high:
            raise ValueError(f"expected a number from {low:g} to {high:g}, not {raw!r}")
        return value

    return read


def _metrics(raw: Any) -> str:
    word = str(raw).strip().lower() if raw is not False else "none"
    if word not in ("prometheus", "none"):
        raise ValueError(f"expected prometheus or none, not {raw!r}")
    return word


_READERS: dict[str, Callable[[Any], Any]] = {
    "frameworks": _names,
    "detectors": _names,
    "judge": _text,
    "store": _text,
    "metrics": _metrics,
    "release": _text,
    "environment": _text,
    "metric_labels": _four_names,
    "prometheus_host": _text,
    "prometheus_port": _number(int, 0, 65_535),
    "flush_timeout": _number(float, 0, 60),
    "capture_content": _flag,
    "run_idle_timeout": _number(float, 1, 86_400 * 30),
    "max_runs": _number(int, 1, 100_000),
}
assert set(_READERS) == {f.name for f in fields(Settings)} - {"problems"}
