"""``python dashboards/generator``: write everything that is generated."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from generator.files import ROOT, generated  # the folder above has to be on the path first

for path, text in generated().items():
    target = ROOT / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
