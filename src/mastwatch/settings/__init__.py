"""One frozen settings object: keyword > MASTWATCH_* variable > file > default.

The file is ``mastwatch.toml``, else the table ``[tool.mastwatch]`` of ``pyproject.toml``, in the
working directory, or the one that ``MASTWATCH_CONFIG`` names. A value that cannot be read is
reported in ``problems`` and the next source down counts: a typo in a variable must not stop the
host.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from mastwatch.settings.readers import READERS
from mastwatch.settings.sources import (
    CAPTURE_VARIABLE,
    CONFIG_VARIABLE,
    Layer,
    from_directory,
    from_environment,
    from_file,
    judge_apart,
)

__all__ = ["CAPTURE_VARIABLE", "CONFIG_VARIABLE", "DEFAULT", "NAMES", "Settings", "load"]

DEFAULT = "default"
"""The origin of a setting that nobody set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What ``instrument()`` was asked to do.

    Attributes:
        frameworks: Names of instrumentors to use; None for all that apply.
        detectors: Names of detectors to run; None for all.
        judge: Judge finished runs: a word for yes, a model's name, or a model; off unless asked
            for.
        judge_options: How (the table ``[judge]``); ``mastwatch.judge.configure`` reads them.
        store: Keep finished runs: a file, or a word for yes for the default one; off unless asked
            for.
        store_max_days: Runs are forgotten so many days after they were stored; 0 for never.
        store_max_mb: Bound of the store in MB, the oldest runs are forgotten first; 0 for none.
        metrics: ``prometheus``, ``otlp``, ``both`` or ``none``.
        release: The host's release, on every run's span.
        environment: The host's environment (``production``), on every run's span.
        metric_labels: Names of run tags to add as metric labels; at most 4.
        prometheus_host: Where ``/metrics`` is served.
        prometheus_port: Its port; 0 serves none; a taken one is tried up to +9.
        prometheus_sd_dir: A folder in which each process announces its port to Prometheus.
        flush_timeout: Longest that the process's exit waits for exports, in seconds.
        capture_content: Export message text on spans.
        bridge: Read the spans of others, where no hook of ours sees the same.
        propagate: Name the run in the W3C baggage of what the host calls from it.
        run_idle_timeout: A run without an event for so many seconds is closed as ``unknown``.
        max_runs: Runs watched at once; beyond that the longest idle one is closed.
        thresholds: Parameters of detectors, by the detector's name or its mode.
        rules: What holds for some findings only, as written; ``mastwatch.policy`` reads them.
        actions: What is done on findings (webhooks, interventions), as written;
            ``mastwatch.sinks.actions`` reads it.
        origins: Where each setting that is no default was written.
        problems: What could not be read, one sentence each.
    """

    frameworks: tuple[str, ...] | None = None
    detectors: tuple[str, ...] | None = None
    judge: Any = ""
    judge_options: Mapping[str, Any] = field(default_factory=dict)
    store: str = ""
    store_max_days: float = 30.0
    store_max_mb: float = 1_024.0
    metrics: str = "prometheus"
    release: str = ""
    environment: str = ""
    metric_labels: tuple[str, ...] = ()
    prometheus_host: str = "127.0.0.1"
    prometheus_port: int = 9464
    prometheus_sd_dir: str = ""
    flush_timeout: float = 2.0
    capture_content: bool = False
    bridge: bool = True
    propagate: bool = False
    run_idle_timeout: float = 3_600.0
    max_runs: int = 1_024
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[Any, ...] = ()
    actions: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    problems: tuple[str, ...] = field(default=(), compare=False)

    def origin(self, name: str) -> str:
        """Where the setting ``name`` was written, for people."""
        return self.origins.get(name, DEFAULT)


NAMES = tuple(READERS)
"""The settings' names."""
assert set(NAMES) == {f.name for f in fields(Settings)} - {"origins", "problems"}


def load(
    keywords: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    directory: Path | None = None,
    file: Path | None = None,
) -> Settings:
    """Put the settings together.

    Args:
        keywords: What the caller of ``instrument()`` gave; None values count as not given.
        environ: The process's environment by default.
        directory: Where the file is looked for; the working directory by default.
        file: The file, where it is known; its absence is a problem.

    Raises:
        TypeError: A keyword names no setting.

    >>> load({"prometheus_port": 0}, environ={"MASTWATCH_RELEASE": "1.2"}).release
    '1.2'
    """
    problems: list[str] = []
    environ = os.environ if environ is None else environ
    given = {key: value for key, value in (keywords or {}).items() if value is not None}
    unknown = sorted(set(given) - set(READERS))
    if unknown:
        raise TypeError(f"instrument() has no setting {', '.join(unknown)}")
    if file is None and environ.get(CONFIG_VARIABLE):
        file = Path(environ[CONFIG_VARIABLE])
    layers = [
        Layer("instrument({}=)", judge_apart(given, asked=True)),
        from_environment(environ),
        from_file(file, problems) if file else from_directory(directory or _here(), problems),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, read in READERS.items():
        for layer in layers:
            raw = layer.values.get(name)
            if raw is None:
                continue
            try:
                values[name] = read(raw)
            except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
                problems.append(f"{layer.where(name)}: {error}; it is ignored")
                continue
            origins[name] = layer.where(name)
            break
    if "judge_options" in values:  # the one setting whose sources add up, name by name
        values["judge_options"] = _together(layers)
    return Settings(**values, origins=origins, problems=tuple(problems))


def _together(layers: Sequence[Layer]) -> dict[str, Any]:
    together: dict[str, Any] = {}
    for layer in reversed(layers):
        options = layer.values.get("judge_options")
        together |= options if isinstance(options, Mapping) else {}
    return together


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was deleted under the process
        return Path()
