"""``mastwatch plugins``: detectors, instrumentors, and how each agent library here is watched."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mastwatch.commands import Commands
from mastwatch.registry import INSTRUMENTATIONS

if TYPE_CHECKING:
    from mastwatch.commands.libraries import Library
    from mastwatch.registry import Plugin

_WAYS = {"hook": "by hook", "listening": "by listening", "": "no"}


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "plugins",
        help="detectors, instrumentors and agent libraries found here",
        description="List detectors and instrumentors with the package that brings them, then the "
        "agent libraries: version, how each is watched (by a hook of mastwatch, or by listening to "
        "the spans of others), who else traces it, whose calls it covers. Exit status 1 when a "
        "plug-in could not be loaded.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Print the plug-ins.

    Returns:
        0, or 1 when one could not be loaded.
    """
    from mastwatch import registry
    from mastwatch.commands.libraries import libraries

    found, known = registry.plugins(), libraries()
    if args.json:
        _write(map(json.dumps, _objects(found, known)))
    elif found:
        _write(map(_line, found))
        _write(_table(known))
    else:
        _write(["no plug-in found: is mastwatch installed, not just on the path?"])
    return 1 if any(plugin.problem for plugin in found) else 0


def _write(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _objects(found: list[Plugin], known: list[Library]) -> Iterator[dict[str, object]]:
    """A plug-in each, instrumentors with their library; then what is only listened to."""
    left = {library.name: library for library in known}
    for plugin in found:
        library = left.pop(plugin.name, None) if plugin.group == INSTRUMENTATIONS else None
        more = {"library": library.as_json()} if library is not None else {}
        yield {**_as_json(plugin), **more}
    for library in left.values():
        yield {"group": "libraries", "name": library.name, "library": library.as_json()}


def _table(known: list[Library]) -> Iterator[str]:
    """The libraries that are here, for people."""
    rows = [("library", "installed", "watched", "covers", "also traced by")]
    for library in known:
        if library.way or library.problem:
            watched = f"no: {library.problem}" if library.problem else _WAYS[library.way]
            others, covers = ", ".join(library.tracers), ", ".join(library.covers)
            rows.append((library.name, library.installed, watched, covers or "-", others or "-"))
    if len(rows) == 1:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    yield ""
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, (*widths, 0), strict=True))
        yield "  ".join(cells).rstrip()


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
