"""Writes the files that ship into a folder of the user's.

Rules and dashboards are generated, so they are written anew each time. The rest are examples, which
people fill in with their pager and their ports: what is there is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mastwatch.panels.files import folder
from mastwatch.panels.rules import Form, Parameters, rule_files

EXAMPLES = ("alertmanager", "provisioning")
COMPOSE = "compose/compose.yml"
_FORM_LINE = "  - fatal-ratio.yml"


class Exported(NamedTuple):
    """What came of the files.

    Attributes:
        written: Those that were written.
        kept: Examples that were there already, and say something else than ours.
    """

    written: list[Path]
    kept: list[Path]


def export(target: Path, parameters: Parameters, form: Form = "ratio") -> Exported:
    """Write dashboards, rules, and examples for Prometheus, Alertmanager and Grafana.

    Args:
        target: Made where it is missing.
        parameters: Of the rules.
        form: Of the alerts on fatal modes, the one that ``prometheus.yml`` loads.

    Raises:
        OSError: They cannot be written.
    """
    return _written(target, *_files(parameters, form))


def prepare(target: Path, parameters: Parameters, form: Form = "ratio") -> Exported:
    """Write the same, and a compose file that starts all of it.

    Raises:
        OSError: They cannot be written.
    """
    generated, examples = _files(parameters, form)
    examples.update({name: text for name, text in _below("compose") if name != COMPOSE})
    # At the top, so that its paths are those of the folder.
    examples["compose.yml"] = _read(COMPOSE)
    done = _written(target, generated, examples)
    (target / "prometheus" / "targets").mkdir(exist_ok=True)
    return done


def _files(parameters: Parameters, form: Form) -> tuple[dict[str, str], dict[str, str]]:
    generated = {f"prometheus/{name}": text for name, text in rule_files(parameters).items()}
    generated.update(_below("grafana"))
    example = _read("prometheus/prometheus.yml")
    examples = {"prometheus/prometheus.yml": example.replace(_FORM_LINE, f"  - fatal-{form}.yml")}
    for name in EXAMPLES:
        examples.update(_below(name))
    return generated, examples


def _written(target: Path, generated: dict[str, str], examples: dict[str, str]) -> Exported:
    kept = [name for name, text in examples.items() if _is_another(target / name, text)]
    files = {name: text for name, text in (generated | examples).items() if name not in kept}
    written = [_write(target / name, text) for name, text in files.items()]
    return Exported(written, [target / name for name in kept])


def _is_another(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() != text.encode()


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
