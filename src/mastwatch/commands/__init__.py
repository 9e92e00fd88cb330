"""The sub-commands of ``mastwatch``: each module has ``add(commands)`` and its work."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What ``add_subparsers`` returns."""
