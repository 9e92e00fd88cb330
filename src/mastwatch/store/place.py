"""Where the store is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_DEFAULT = ("1", "true", "yes", "on")


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The file where none is named: ``$XDG_STATE_HOME/mastwatch/runs.sqlite``."""
    state = environ.get("XDG_STATE_HOME", "")
    # As the XDG specification has it, a relative path there counts as none.
    folder = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return folder / "mastwatch" / "runs.sqlite"


def place(setting: str) -> Path:
    """The file that a setting means: a path, or a word for yes, which means the default."""
    if not setting or setting.lower() in _DEFAULT:
        return default_path()
    return Path(setting).expanduser()
