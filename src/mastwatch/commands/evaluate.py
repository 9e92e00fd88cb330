"""``mastwatch evaluate``: how good the detectors are, on labelled runs and planted faults."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastwatch import taxonomy
from mastwatch.commands import Commands, evaluate_attribution, evaluate_judge

if TYPE_CHECKING:
    from mastwatch.evaluation.sources import Options

_EXAMPLES = """\
examples:
  mastwatch evaluate detectors                      the folder dev of MASTWATCH_TRACES
  mastwatch evaluate detectors my-runs.jsonl.gz --set my-runs
  mastwatch evaluate detectors --limit 20           a quick look
  mastwatch evaluate detectors --json report.json --markdown report.md --check

exit status: 0 something was read, 1 --check and a target is missed, 2 there was nothing to read
"""
_NOTHING = (
    "nothing to read: give files, set MASTWATCH_TRACES to a folder that has a folder dev, or ask "
    "for the runs made here (--set composed --set generated_composed)"
)
_REFRESH = 0.2  # seconds between two pictures of the progress bar
_BAR = 30


def add(commands: Commands) -> None:
    """Add the command, its sub-commands and their options."""
    parser = commands.add_parser("evaluate", help="how good the detectors are")
    words = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    detectors = words.add_parser(
        "detectors",
        help="score the detectors on labelled runs and planted faults",
        description="Play recorded runs to the detectors as if they were live, and faults planted "
        "in healthy ones; print agreement, delay and false alarms beside naive rules.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_options(detectors)
    detectors.set_defaults(main=main)
    evaluate_judge.add(words)
    evaluate_attribution.add(words)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="records of runs, or folders of them (default: the folder dev of MASTWATCH_TRACES)",
    )
    _add_choices(parser)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the whole report here")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write all tables here")
    parser.add_argument("--seed", type=int, default=0, help="of faults and draws (default: 0)")
    parser.add_argument(
        "--processes",
        type=_positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="work in N processes (default: one per CPU); the figures do not depend on it",
    )
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 when a target is not reached"
    )


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """Add what narrows the evaluation down."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME",
        help="only this set: a file's name without suffixes, composed, generated or "
        "generated_composed; may be repeated",
    )
    parser.add_argument(
        "--mode",
        action="append",
        default=[],
        type=_mode,
        metavar="FM-X.Y",
        help="only this failure mode, by code or name; may be repeated",
    )
    parser.add_argument(
        "--detectors",
        action="append",
        metavar="NAME",
        help="only this detector (see mastwatch plugins); may be repeated",
    )
    parser.add_argument(
        "--limit", type=_positive, metavar="N", help="about N runs per set, for a quick look"
    )
    parser.add_argument(
        "--hosts",
        type=_positive,
        metavar="N",
        help="plant each variant of a fault in N runs per kind of host (default: 20, fewer with "
        "--limit)",
    )


def _mode(text: str) -> str:
    try:
        return taxonomy.mode(text).code
    except KeyError as error:
        raise argparse.ArgumentTypeError(error.args[0]) from None


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return value


def main(args: argparse.Namespace) -> int:
    """Evaluate the detectors and print the tables.

    Returns:
        The exit status.
    """
    from mastwatch.evaluation import report, sources
    from mastwatch.evaluation.pool import detectors

    options = _options(args)
    if not options.files and not args.set:
        _say(_NOTHING)
        return 2
    try:
        chosen = detectors(options.detectors)
        _check_sets(options)
        check_places(args)
    except ValueError as error:
        _say(str(error))
        return 2
    cases = sources.gather(options)
    progress = _Progress()
    result = report.evaluate(cases, options, chosen, progress.tell)
    progress.end()
    for problem in result["problems"]:
        _say(problem)
    if not result["sets"]:
        _say("none of the files holds a run of what was asked for")
        return 2
    _write(result, args)
    missed = any(not target["met"] for target in result["targets"])
    return 1 if args.check and missed else 0


def _options(args: argparse.Namespace) -> Options:
    from mastwatch.evaluation import datasets
    from mastwatch.evaluation.sources import HOSTS, Options

    given = [
        file
        for path in args.files
        for file in (datasets.inside(path) if os.path.isdir(path) else [path])
    ]
    hosts = HOSTS if args.limit is None else max(1, min(HOSTS, args.limit // 10))
    return Options(
        files=given if args.files else datasets.default_files(),
        sets=args.set,
        composed=not args.files,
        limit=args.limit,
        hosts=args.hosts or hosts,
        seed=args.seed,
        processes=args.processes,
        detectors=args.detectors,
        modes=args.mode,
    )


def _check_sets(options: Options) -> None:
    from mastwatch.evaluation import datasets

    made = (datasets.COMPOSED, datasets.GENERATED, datasets.GENERATED_COMPOSED)
    known = [*map(datasets.set_name, options.files), *made]
    for name in options.sets:
        if name not in known:
            raise ValueError(f"{name} is no set here; known: {', '.join(known)}")


def check_places(args: argparse.Namespace) -> None:
    """Refuse a file that cannot be written before minutes of work, not after them.

    Raises:
        ValueError: One cannot be.
    """
    for path in filter(None, (args.json, args.markdown)):
        if path.is_dir() or not path.parent.is_dir():
            raise ValueError(f"{path} cannot be written: its folder does not exist, or it is one")


def _write(result: dict[str, Any], args: argparse.Namespace) -> None:
    from mastwatch.evaluation import tables, views

    for line in tables.text(views.tables(result, full=False), bold=sys.stdout.isatty()):
        print(line)  # noqa: T201
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if args.markdown is not None:
        shown = tables.markdown(views.tables(result, full=True), "Detectors, evaluated")
        args.markdown.write_text(shown, encoding="utf-8")


class _Progress:
    """A bar on stderr, where that is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._last = 0.0

    def tell(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if not self._shown or now - self._last < _REFRESH:
            return
        self._last = now
        if total is None:
            line = f"{done} runs, planted faults under way"
        else:
            filled = _BAR * done // total
            line = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done}/{total} recorded runs"
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")


def _say(text: str) -> None:
    from mastwatch.commands.show import printable

    print(f"mastwatch: {printable(text)}", file=sys.stderr)  # noqa: T201
