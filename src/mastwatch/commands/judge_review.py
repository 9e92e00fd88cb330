"""``mastwatch judge review``: runs for people to judge, and what they said of them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mastwatch.commands import Commands, judge_reports

if TYPE_CHECKING:
    from mastwatch.judge.labels import Labelled
    from mastwatch.store import Trace

_EXPORT = """\
examples:
  mastwatch judge review export run-17 run-18 --out review.html
  mastwatch judge review export runs.jsonl --out r.html --show-verdicts --reports reports.jsonl

Each labeller gets the file, fills it in and saves a JSONL file of answers. Without --show-verdicts
they do not see what the judge said. The file holds the runs' texts: give it to nobody else.
"""
_IMPORT = """\
examples:
  mastwatch judge review import labels-ann.jsonl labels-bob.jsonl
  mastwatch judge review import labels-ann.jsonl --examples examples.jsonl

Prints how people agree with each other. With --examples the runs on which they differ from the
judge become few-shot examples; name the file to the judge (judge.examples) to have them shown.
"""


def add(commands: Commands) -> None:
    """Add the word ``review`` with its two words."""
    parser = commands.add_parser("judge review", help="runs for people to judge: export, import")
    words = parser.add_subparsers(dest="review", metavar="WORD", required=True)
    export = words.add_parser(
        "export",
        help="write runs as a form for labellers",
        epilog=_EXPORT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    export.add_argument("runs", nargs="+", metavar="RUN", help="ids in the store, or files of runs")
    export.add_argument("--out", required=True, type=Path, metavar="FILE", help=".html or .jsonl")
    export.add_argument(
        "--mode", action="append", default=[], help="only this mode; may be repeated"
    )
    export.add_argument("--taxonomy", default="", metavar="FILE", help="modes of your own")
    export.add_argument("--show-verdicts", action="store_true", help="show what the judge said")
    judge_reports.add(export)
    export.set_defaults(main=_guarded(_export))
    back = words.add_parser(
        "import",
        help="read what labellers said",
        epilog=_IMPORT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    back.add_argument("files", nargs="+", metavar="FILE", help="answers, one file per labeller")
    back.add_argument("--examples", type=Path, metavar="FILE", help="add corrections to this file")
    back.add_argument(
        "--runs",
        action="append",
        default=[],
        metavar="FILE",
        help="the runs, where not in the store",
    )
    judge_reports.add(back)
    back.set_defaults(main=_guarded(_import))


def _guarded(work: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Say what is wrong with the input in one line, not in a traceback."""

    def main(args: argparse.Namespace) -> int:
        from mastwatch.commands.show import printable
        from mastwatch.store import StoreError

        try:
            return work(args)
        except (ValueError, OSError, StoreError) as error:
            sys.stderr.write(f"mastwatch: {printable(str(error))}\n")
            return 2

    return main


def _export(args: argparse.Namespace) -> int:
    from mastwatch.judge import modes, review

    kind = args.out.suffix.lower()
    if kind not in (".html", ".jsonl"):
        raise ValueError(f"{args.out}: the name must end in .html or .jsonl")
    taxonomy = modes.load(args.taxonomy, args.mode)
    traces = judge_reports.traces(args.runs, args)
    shown = [trace.run_id for trace in traces] if args.show_verdicts else []
    reports = judge_reports.newest(shown, args) if shown else {}
    forms = [review.form(trace, taxonomy, reports.get(trace.run_id)) for trace in traces]
    write = review.as_html if kind == ".html" else review.as_jsonl
    with private(args.out) as file:
        file.write(write(forms))
    sys.stderr.write(f"mastwatch: {len(forms)} runs for review in {args.out}\n")
    return 0


def private(path: Path) -> IO[str]:
    """Open a file for writing that only its owner reads: it holds texts of runs."""
    return open(path, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, 0o600))


def _import(args: argparse.Namespace) -> int:
    from mastwatch.judge.labels import read

    labelled = []
    for path in args.files:
        for one in read(path).found:
            labelled.append(one if one.labeller else replace(one, labeller=Path(path).stem))
    for line in _agreement(labelled):
        sys.stdout.write(f"{line}\n")
    if args.examples is not None:
        added = _add_examples(labelled, args)
        sys.stderr.write(f"mastwatch: {added} corrections added to {args.examples}\n")
    return 0


def _agreement(labelled: Sequence[Labelled]) -> Iterator[str]:
    from mastwatch.evaluation import tables, views_judge
    from mastwatch.evaluation.agreement import pairwise

    ratings: dict[str, dict[tuple[str, str], bool]] = {}
    for one in labelled:
        said = ratings.setdefault(one.labeller, {})
        said.update({(one.run, slug): value for slug, value in one.labels.items()})
    pairs = pairwise(ratings)
    yield f"{len(ratings)} labellers, {len({one.run for one in labelled})} runs"
    if pairs:
        yield ""
        yield from tables.text(views_judge.labellers(pairs), bold=sys.stdout.isatty())


def _add_examples(labelled: Sequence[Labelled], args: argparse.Namespace) -> int:
    from mastwatch.judge import review

    reports = judge_reports.newest(dict.fromkeys(one.run for one in labelled), args)
    found = review.corrections(labelled, reports)
    traces = _traces([correction.run for correction in found], args)
    lines = [review.example(c, traces[c.run]) for c in found if c.run in traces]
    known = args.examples.read_text(encoding="utf-8") if args.examples.exists() else ""
    new = [line for line in lines if line not in known.splitlines()]
    with private(args.examples) as file:
        file.write(known + "".join(f"{line}\n" for line in new))
    return len(new)


def _traces(runs: Sequence[str], args: argparse.Namespace) -> dict[str, Trace]:
    found = judge_reports.traces(args.runs or runs, args)
    return {trace.run_id: trace for trace in found}
