"""Writes the files that ship into a folder of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mastwatch.panels.files import folder
from mastwatch.panels.rules import Form, Parameters, rule_files

SHARED = ("grafana", "alertmanager", "provisioning")
COMPOSE = "compose/compose.yml"
_FORM_LINE = "  - fatal-ratio.yml"


def export(target: Path, parameters: Parameters, form: Form = "ratio") -> list[Path]:
    """Write dashboards, rules, and examples for Prometheus, Alertmanager and Grafana.

    Args:
        target: Made where it is missing; files of the same names are overwritten.
        parameters: Of the rules.
        form: Of the alerts on fatal modes, the one that ``prometheus.yml`` loads.

    Returns:
        The files.

    Raises:
        OSError: They cannot be written.
    """
    files = {f"prometheus/{name}": text for name, text in rule_files(parameters).items()}
    example = _read("prometheus/prometheus.yml")
    files["prometheus/prometheus.yml"] = example.replace(_FORM_LINE, f"  - fatal-{form}.yml")
    for name in SHARED:
        files.update(_below(name))
    return [_write(target / name, text) for name, text in files.items()]


def prepare(target: Path, parameters: Parameters, form: Form = "ratio") -> list[Path]:
    """Write the same, and a compose file that starts all of it.

    Returns:
        The files.

    Raises:
        OSError: They cannot be written.
    """
    files = {name: text for name, text in _below("compose") if name != COMPOSE}
    # At the top, so that its paths are those of the folder.
    files["compose.yml"] = _read(COMPOSE)
    written = export(target, parameters, form)
    (target / "prometheus" / "targets").mkdir(exist_ok=True)
    return written + [_write(target / name, text) for name, text in files.items()]


def _below(name: str) -> Iterator[tuple[str, str]]:
    for path in sorted((folder() / name).rglob("*")):
        if path.is_file():
            yield path.relative_to(folder()).as_posix(), path.read_text(encoding="utf-8")


def _read(name: str) -> str:
    return (folder() / name).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
