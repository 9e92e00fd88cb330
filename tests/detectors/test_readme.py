"""What detectors/README.md shows is the example that is tested, and its table holds."""

from __future__ import annotations

import re
from pathlib import Path

from mastwatch import registry

ROOT = Path(__file__).parents[2]
README = (ROOT / "detectors" / "README.md").read_text()
EXAMPLE = ROOT / "examples" / "own_detector"


def test_code_shown_is_the_example_that_runs() -> None:
    module, test = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert module == (EXAMPLE / "src" / "mastwatch_unknown_tools" / "__init__.py").read_text()
    assert test == (EXAMPLE / "tests" / "test_unknown_tools.py").read_text()


def test_entry_point_shown_is_the_example_s() -> None:
    [entry_point] = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    assert entry_point in (EXAMPLE / "pyproject.toml").read_text()


def test_table_lists_the_detectors_that_are_built_in() -> None:
    listed = set(re.findall(r"^\| `(\w+)\.py` \| (FM-\S+) \|.*\| (\w+) \|$", README, re.MULTILINE))
    modules = {path.stem for path in (ROOT / "detectors" / "mastwatch_detectors").glob("[a-z]*.py")}
    assert {name for name, _, _ in listed} == modules
    ours = [d for d in registry.detectors() if d.__module__.startswith("mastwatch_detectors.")]
    assert ours
    assert {(d.name, d.mode, d.ceiling.label) for d in ours} <= listed
