"""``mastwatch demo``: hands over to ``mastwatch.demo``, which is imported only then."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mastwatch.commands import Commands

NAME = "demo"
_ABOUT = "four small apps, watched live; no key, no network"


def add(commands: Commands) -> None:
    """List the command; ``cli`` calls ``main`` with what follows the name."""
    commands.add_parser(NAME, help=_ABOUT, add_help=False)


def main(argv: Sequence[str]) -> int:
    """Run the demo with its own options."""
    from mastwatch.demo import main as demo

    parser = argparse.ArgumentParser(prog=f"mastwatch {NAME}", description=_ABOUT)
    demo.add_arguments(parser)
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    return demo.main(args)
