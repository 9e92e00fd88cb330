"""Rules as promtool tests them: made-up series, and which alerts fire when."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mastwatch.panels.rules import Parameters, rule_files
from mastwatch.panels.yaml import dump
from services.conftest import missing

ORDER = ["mastwatch-recording", "mastwatch-recording-compared", "mastwatch-alerts",
         "mastwatch-fatal-ratio", "mastwatch-fatal-any"]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One story of an alert.

    Attributes:
        alert: Its name without the prefix.
        kind: ``firing`` (and resolving), ``quiet``, or ``first``: the first finding of a process.
        series: Values by series, in promtool's notation, one per interval.
        firing: Intervals after which it fires.
        silent: Intervals after which it does not.
        labels: That it has beside ``job``.
        interval: Between two values.
        why: For people.
    """

    alert: str
    kind: str
    series: Mapping[str, str]
    firing: Sequence[int] = ()
    silent: Sequence[int] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    minutes: int = 1
    why: str = ""

    def test(self) -> dict:
        return {
            "interval": f"{self.minutes}m",
            "input_series": [{"series": s, "values": v} for s, v in self.series.items()],
            "promql_expr_test": [
                self._at(when, expected)
                for expected, whens in ((True, self.firing), (False, self.silent))
                for when in whens
            ],
        }

    def _at(self, when: int, expected: bool) -> dict:
        name = f"Mastwatch{self.alert}"
        labels = {"alertname": name, "job": "app", **self.labels}
        inside = ", ".join(f'{key}="{value}"' for key, value in labels.items())
        return {
            "expr": f"count by ({', '.join(labels)}) "
            f'(ALERTS{{alertname="{name}", alertstate="firing"}})',
            "eval_time": f"{when * self.minutes}m",
            "exp_samples": [{"labels": f"{{{inside}}}", "value": 1}] if expected else [],
        }


def write_rules(folder: Path, parameters: Parameters | None = None) -> list[str]:
    """Write the rule files; returns their names."""
    files = rule_files(parameters)
    for name, text in files.items():
        (folder / name).write_text(text)
    return list(files)


def run(folder: Path, cases: Sequence[Case], parameters: Parameters | None = None) -> str:
    """What promtool says of cases; empty when all hold."""
    if shutil.which("promtool") is None:
        missing("promtool")
    minutes = {case.minutes for case in cases}
    assert len(minutes) == 1, "cases of one call share an interval"
    content = {
        "rule_files": write_rules(folder, parameters),
        "evaluation_interval": f"{minutes.pop()}m",
        "group_eval_order": ORDER,
        "tests": [case.test() for case in cases],
    }
    path = folder / "tests.yml"
    path.write_text(dump(content))
    command = ["promtool", "test", "rules", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def needs_promtool() -> None:
    if shutil.which("promtool") is None:
        missing("promtool")
