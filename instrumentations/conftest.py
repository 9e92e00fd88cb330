"""Modules that import a library which is not installed here hold no doctests to run."""

from __future__ import annotations

from pathlib import Path

from mastwatch import registry

_FOLDER = Path(__file__).parent / "mastwatch_instrumentations"

collect_ignore_glob = [
    str(_FOLDER / plugin.target.split(":")[0].rpartition(".")[2] / "*")
    for plugin in registry.plugins(registry.INSTRUMENTATIONS)
    if plugin.loaded is not None and not plugin.loaded.present()
]
