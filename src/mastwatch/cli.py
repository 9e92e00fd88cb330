"""The ``mastwatch`` command: each sub-command is a module of ``mastwatch.commands``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import metadata

from mastwatch.commands import (
    attribute,
    config,
    convert,
    dashboards,
    demo,
    detect,
    doctor,
    evaluate,
    judge,
    plugins,
    run,
    store,
)

_COMMANDS = (
    run,
    detect,
    judge,
    attribute,
    convert,
    evaluate,
    demo,
    plugins,
    config,
    doctor,
    store,
    dashboards,
)
"""In the order of the help."""
_EXAMPLES = """\
examples:
  mastwatch run --live app.py          watch an app without touching it
  mastwatch run uvicorn app:app        the same for any program
  mastwatch detect runs.jsonl.gz       findings of recorded runs
  mastwatch detect logs/ --fail-on warn
  mastwatch convert logs/ --out runs.jsonl.gz
  mastwatch judge runs.jsonl --dry-run what judging them with a model would cost
  mastwatch doctor                     what is instrumented here, and what is not
"""
_INTERRUPTED = 130
_BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Without the program's name; the process's own by default.

    Returns:
        The exit status.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(judge.words(argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader (``head``) has gone; without this Python complains again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status


def _dispatch(argv: list[str]) -> int:
    if argv[:1] == [demo.NAME]:  # its options are known once the demo is imported
        return demo.main(argv[1:])
    parser = _parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:  # --help, --version or a usage error, which argparse has printed
        return stop.code if isinstance(stop.code, int) else 0
    if args.command is None:
        parser.print_help()
        return 0
    status: int = args.main(args)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mastwatch",
        description="Watch multi-agent LLM systems: spans per message and tool call, MAST failure "
        "modes flagged while the run is going.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mastwatch {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="command", title="commands")
    for module in _COMMANDS:
        module.add(commands)
    return parser


def _version() -> str:
    try:
        return metadata.version("mastwatch")
    except metadata.PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
