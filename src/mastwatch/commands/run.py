"""``mastwatch run``: an app, a module or any program, watched without touching it.

The program replaces this process, so that its arguments, output, tracebacks, signals and exit
status are exactly its own; Python loads ``bootstrap/sitecustomize.py`` of ours first, which calls
``mastwatch.instrument()`` and then takes every trace of itself out of the environment.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import sys
from collections.abc import Mapping
from typing import Any

from mastwatch.commands import Commands

BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
"""Holds nothing but our sitecustomize."""
OPTIONS = "_MASTWATCH_RUN"
"""Carries our options to the bootstrap, as JSON; not for users."""
_NOT_FOUND = 127
_SHEBANG = 512
_NO_FLAGS = ("--", "-X", "-W")
_BESIDE = os.path.dirname(sys.executable)
_EXAMPLES = """\
examples:
  mastwatch run app.py --its-own-option
  mastwatch run --live -m my_package
  mastwatch run --metrics-port 0 uvicorn app:app
  mastwatch run python -u app.py
"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "run",
        help="run an app and watch it",
        usage="mastwatch run [options] (app.py | -m module | program) [arguments]",
        description="Run a Python script, module or any program with mastwatch.instrument() "
        "switched on. Its output and exit status are its own.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--live", action="store_true", help="show findings on stderr as they come")
    parser.add_argument("--frameworks", metavar="NAMES", help="only these, comma-separated")
    parser.add_argument("--detectors", metavar="NAMES", help="only these, comma-separated")
    parser.add_argument(
        "--metrics-port", type=int, metavar="PORT", help="of /metrics; 0 serves none"
    )
    parser.add_argument("--service-name", metavar="NAME", help="sets OTEL_SERVICE_NAME")
    parser.add_argument("--release", help="your release, on every run's span")
    parser.add_argument("--environment", help="your environment, on every run's span")
    parser.add_argument(
        "--capture-content", action="store_true", help="export message text on spans"
    )
    parser.add_argument(
        "--children",
        action="store_true",
        help="watch the Python processes that the program starts, too (reloaders, workers)",
    )
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="module", help="run a module"
    )
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(main=main, usage=parser.format_usage())


def main(args: argparse.Namespace) -> int:
    """Become the program.

    Returns:
        Only when that cannot be done: 2 without a program, 127 when it is not found, 126 when it
        cannot be executed.
    """
    command = _command(args)
    if command is None:
        sys.stderr.write(f"{args.usage}mastwatch run: what shall be run?\n")
        return 2
    if not command:
        sys.stderr.write(f"mastwatch run: no file and no program {args.program[0]!r}\n")
        return _NOT_FOUND
    if _is_deaf(command):
        sys.stderr.write(
            "mastwatch run: with -I, -E or -S Python loads nothing of ours; unwatched\n"
        )
    sys.stdout.flush()
    try:
        os.execvpe(command[0], command, environment(args, os.environ))
    except OSError as error:
        sys.stderr.write(f"mastwatch run: cannot run {command[0]} ({error.strerror})\n")
        return 126


def _command(args: argparse.Namespace) -> list[str] | None:
    """What to execute; None when nothing was given, empty when it does not exist."""
    if args.module is not None:
        return [sys.executable, "-m", *args.module] if args.module else None
    program = args.program[1:] if args.program[:1] == ["--"] else args.program
    if not program:
        return None
    if _is_python(program[0]):
        return [sys.executable, *program]
    # Beside our interpreter, too: its environment need not be activated.
    found = shutil.which(program[0]) or shutil.which(program[0], path=_BESIDE)
    return [found, *program[1:]] if found else []


def _is_python(path: str) -> bool:
    """Whether our interpreter runs this: a script, or a folder or archive with a __main__."""
    if path.endswith((".py", ".pyw", ".pyc", ".pyz")):
        return True
    if os.path.isdir(path):
        return os.path.isfile(os.path.join(path, "__main__.py"))
    return os.path.isfile(path) and not os.access(path, os.X_OK)


def _is_deaf(command: list[str]) -> bool:
    """Whether the options of Python, given or in a script's first line, keep our bootstrap out."""
    words = command
    if "python" not in os.path.basename(command[0]):
        with contextlib.suppress(OSError), open(command[0], "rb") as file:
            first = file.readline(_SHEBANG).decode("utf-8", "replace")
            words = first[2:].split() if first.startswith("#!") else []
    # From the interpreter (env and its options come before) to what it runs.
    words = list(itertools.dropwhile(lambda word: "python" not in os.path.basename(word), words))
    options = itertools.takewhile(_is_option, words[1:])
    return any(set("IES") & set(option[1:]) for option in options if option[:2] not in _NO_FLAGS)


def _is_option(word: str) -> bool:
    return word.startswith("-") and word[:2] not in ("-c", "-m")


def environment(args: argparse.Namespace, environ: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: the given one with our bootstrap in front of PYTHONPATH."""
    options = {
        "live": args.live,
        "children": args.children,
        "path": environ.get("PYTHONPATH"),
        "keywords": _keywords(args),
    }
    changed = dict(environ)
    given = environ.get("PYTHONPATH")
    changed["PYTHONPATH"] = BOOTSTRAP if not given else f"{BOOTSTRAP}{os.pathsep}{given}"
    changed[OPTIONS] = json.dumps(options)
    if args.service_name:
        changed["OTEL_SERVICE_NAME"] = args.service_name
    return changed


def _keywords(args: argparse.Namespace) -> dict[str, Any]:
    keywords = {
        "frameworks": args.frameworks,
        "detectors": args.detectors,
        "prometheus_port": args.metrics_port,
        "release": args.release,
        "environment": args.environment,
        "capture_content": args.capture_content or None,
    }
    return {name: value for name, value in keywords.items() if value is not None}
