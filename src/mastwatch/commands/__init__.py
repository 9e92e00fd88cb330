"""The sub-commands of ``mastwatch``: each module has ``add(commands)`` and its work."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What ``add_subparsers`` returns."""


def group(commands: Commands, name: str, summary: str, description: str | None = None) -> Commands:
    """Add a command that only has sub-commands, which alone prints what they are.

    Args:
        commands: Where it is added.
        name: Its name.
        summary: One line for the list of commands.
        description: What its own help begins with.

    Returns:
        Where its sub-commands are added.
    """
    parser = commands.add_parser(
        name,
        help=summary,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def usage(args: argparse.Namespace) -> int:
        parser.print_help()
        return 0

    parser.set_defaults(main=usage)
    return parser.add_subparsers(metavar="command", title="commands")
