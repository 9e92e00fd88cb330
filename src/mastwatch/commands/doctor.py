"""``mastwatch doctor``: what is instrumented here, what is not, and why."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator

from mastwatch.commands import Commands
from mastwatch.commands.checks import CHECKS, Check

_MARKS = {"ok": "ok  ", "info": "-   ", "warn": "WARN", "fail": "FAIL"}


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "doctor",
        help="what is instrumented here, what is not, and why",
        description="Look at this Python environment without changing it. Exit status 1 when "
        "something fails.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Print all checks.

    Returns:
        0, or 1 when a check failed.
    """
    failed = False
    for check in examine(CHECKS):
        failed = failed or check.status == "fail"
        if args.json:
            line = json.dumps({"name": check.name, "status": check.status, "text": check.text})
        else:
            line = f"{_MARKS[check.status]}  {check.name:<14}  {check.text}"
        sys.stdout.write(line + "\n")
    return 1 if failed else 0


def examine(checks: tuple[Callable[[], Iterator[Check]], ...]) -> Iterator[Check]:
    """Run the checks; one that breaks is itself a failed check."""
    for check in checks:
        try:
            yield from check()
        except Exception as error:
            name = check.__name__.strip("_")
            yield Check(name, "fail", f"the check itself broke: {type(error).__name__}: {error}")
