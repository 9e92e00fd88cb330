"""The page of frameworks names all that are watched by hook, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from mastwatch import registry

PAGE = Path(__file__).parents[1] / "docs" / "frameworks.md"


def test_every_instrumentor_has_its_row():
    named = re.findall(r"^\|[^|]+\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(named) == [p.name for p in registry.plugins(registry.INSTRUMENTATIONS)]
