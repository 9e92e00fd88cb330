"""``mastwatch plugins``: what was found through the entry points, and what did not load."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from mastwatch.commands import Commands

if TYPE_CHECKING:
    from mastwatch.registry import Plugin


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "plugins",
        help="detectors and instrumentors found here",
        description="List detectors and instrumentors with the package that brings them. "
        "Exit status 1 when one could not be loaded.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Print the plug-ins.

    Returns:
        0, or 1 when one could not be loaded.
    """
    from mastwatch import registry

    found = registry.plugins()
    for plugin in found:
        line = json.dumps(_as_json(plugin)) if args.json else _line(plugin)
        sys.stdout.write(line + "\n")
    if not found and not args.json:
        sys.stdout.write("no plug-in found: is mastwatch installed, not just on the path?\n")
    return 1 if any(plugin.problem for plugin in found) else 0


def _as_json(plugin: Plugin) -> dict[str, object]:
    return {
        "group": plugin.group,
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "target": plugin.target,
        "loaded": plugin.loaded is not None,
        "problem": plugin.problem,
    }


def _line(plugin: Plugin) -> str:
    kind = plugin.group.rpartition(".")[2].rstrip("s")
    origin = f"{plugin.distribution} {plugin.version}".strip() or "unknown package"
    state = f"NOT LOADED: {plugin.problem}" if plugin.problem else "loaded"
    return f"{kind:<15}  {plugin.name:<30}  {origin:<20}  {state}"
