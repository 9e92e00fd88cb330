"""The example in detectors/README.md works as it stands."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from mastwatch.watch import Watch

from .script import Script

README = Path(__file__).parents[2] / "detectors" / "README.md"


def test_example_runs_and_passes_its_own_test() -> None:
    example, test = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    module = ModuleType("readme_example")
    sys.modules[module.__name__] = module
    module.__dict__.update(Watch=Watch, Script=Script)
    try:
        exec(compile(example + test, str(README), "exec"), module.__dict__)
        module.__dict__["test_second_unknown_tool_is_suspect"]()
    finally:
        del sys.modules[module.__name__]
