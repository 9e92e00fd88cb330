"""``mastwatch judge calibrate``: how well the judge agrees with people, mode by mode."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from mastwatch.commands import Commands, judge_reports

if TYPE_CHECKING:
    from mastwatch.evaluation.calibration import Rated
    from mastwatch.judge.calibrate import Calibration
    from mastwatch.judge.labels import Labelled, Read
    from mastwatch.store import Report

_EXAMPLES = """\
A line of LABELS: {"run": "...", "labels": {"step_repetition": 1, "FM-3.2": 0}}; 1 is present. Runs
that were not judged are left out and counted: judge them first with `mastwatch judge RUN`.

examples:
  mastwatch judge calibrate labels.jsonl
  mastwatch judge calibrate labels.jsonl --reports reports.jsonl --out team.calibration.json
  mastwatch judge calibrate old.jsonl --scheme agentdash --lossy

exit status: 0 a calibration was written, 2 there was nothing to measure
"""


def add(commands: Commands) -> None:
    """Add the word ``calibrate`` and its options."""
    parser = commands.add_parser(
        "judge calibrate",
        help="measure how well the judge agrees with people",
        description="Compare reports with labels and keep the figures, which then stand on every "
        "report of the same taxonomy, prompt and model.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("labels", nargs="+", metavar="LABELS", help="JSONL, or labelled records")
    parser.add_argument("--scheme", default="", help="whose numbers bare ones such as 3.2 are")
    parser.add_argument(
        "--lossy", action="store_true", help="take labels of modes that are not quite the same too"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="where the result is kept")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap and the folds")
    judge_reports.add(parser)
    now = parser.add_argument_group("judging them now, with the model of the settings")
    now.add_argument(
        "--judge", action="append", default=[], metavar="RUN|FILE", help="may be repeated"
    )
    now.add_argument("--model", metavar="NAME", help="default: MASTWATCH_JUDGE_MODEL")
    now.add_argument("--base-url", metavar="URL", help="its server")
    now.add_argument("--times", type=int, default=1, metavar="N", help="judge each run N times")
    now.add_argument("--keep", metavar="FILE", type=Path, help="go on from it when interrupted")
    parser.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Calibrate and print the tables.

    Returns:
        The exit status.
    """
    from mastwatch.evaluation.calibration import by_judge
    from mastwatch.evaluation.judge import Hopeless
    from mastwatch.judge.calibrate import Calibrations
    from mastwatch.judge.labels import read
    from mastwatch.store import StoreError

    try:
        labels = [read(path, args.scheme) for path in args.labels]
        out = _place(args)
        kept = Calibrations.load(out)
        judges = by_judge(_rated(labels, args))
    except (ValueError, TypeError, OSError, StoreError, Hopeless) as error:
        return _say(str(error))
    _tell_losses(labels, args)
    if not judges:
        return _say("none of the labelled runs has a report; judge them first")
    for rated in judges:
        found = _measure(rated, args.seed)
        _print(found)
        kept.add(found)
    kept.save(out)
    sys.stderr.write(f"mastwatch: kept in {out}\n")
    return 0


def _place(args: argparse.Namespace) -> Path:
    from mastwatch.judge.calibrate import beside

    return args.out or beside(judge_reports.open_store(args).path)


def _rated(labels: Sequence[Read], args: argparse.Namespace) -> list[Rated]:
    """The labelled runs with their reports; those of people who disagree are left out."""
    from mastwatch.evaluation.calibration import Rated

    people: dict[str, list[Labelled]] = {}
    for one in (one for read in labels for one in read.found):
        people.setdefault(one.run, []).append(one)
    if args.judge:
        reports = asyncio.run(_judged(people, args))
    else:
        reports = judge_reports.reports(people, args)
    rated = [
        Rated(
            run=run,
            truth=_truth(said, args.lossy),
            reports=reports[run],
            group=said[0].group,
        )
        for run, said in people.items()
        if run in reports
    ]
    if missing := len(people) - len(rated):
        sys.stderr.write(f"mastwatch: {missing} labelled runs have no report; left out\n")
    return rated


async def _judged(
    people: Mapping[str, Sequence[Labelled]], args: argparse.Namespace
) -> dict[str, list[Report]]:
    """Judge the labelled ones of some runs now."""
    from mastwatch import settings
    from mastwatch.evaluation.judge import Kept, Plan, judge_all
    from mastwatch.evaluation.judge_cases import JudgedCase
    from mastwatch.judge.assembly import make_judge
    from mastwatch.judge.configure import configured

    given = {"model": args.model, "base_url": args.base_url, "cache": False}
    options = {
        **settings.load({}).judge_options,
        **{k: v for k, v in given.items() if v is not None},
    }
    how = configured(options)
    found = [t for t in judge_reports.traces(args.judge, args) if t.run_id in people]
    what = Plan(cases=[JudgedCase(trace=t, truth={}) for t in found], repeats=args.times)
    kept = Kept.load(args.keep, repr(how))
    judge = make_judge(None, how)
    try:
        await judge_all(what, lambda case, time: judge, kept, at_once=how.concurrency)
    finally:
        await judge.close()
    reports: dict[str, list[Report]] = {}
    for (run, _), report in sorted(kept.reports.items()):
        reports.setdefault(run, []).append(report)
    return reports


def _truth(said: Sequence[Labelled], lossy: bool) -> dict[str, bool]:
    votes: dict[str, set[bool]] = {}
    for one in said:
        for slug, value in one.labels.items():
            if lossy or slug not in one.lossy:
                votes.setdefault(slug, set()).add(value)
    return {slug: values.pop() for slug, values in votes.items() if len(values) == 1}


def _measure(rated: Sequence[Rated], seed: int) -> Calibration:
    from mastwatch.evaluation.calibration import calibration

    slugs = list(dict.fromkeys(slug for one in rated for r in one.reports for slug in r.verdicts))
    today = datetime.now(timezone.utc).date().isoformat()
    return calibration(rated, slugs, today, seed=seed)


def _print(found: Calibration) -> None:
    from mastwatch.evaluation import tables, views_judge

    rows = [{"slug": slug, **figures} for slug, figures in found.modes.items()]
    note = (
        f"{found.model}, taxonomy {found.taxonomy_version}, prompt {found.prompt_version}, "
        f"{found.runs} runs. unsure counts as not found; what was not evaluated is left out."
    )
    shown = [views_judge.modes(rows, note), *views_judge.repeats(rows)]
    for line in tables.text(shown, bold=sys.stdout.isatty()):
        sys.stdout.write(f"{line}\n")


def _tell_losses(labels: Sequence[Read], args: argparse.Namespace) -> None:
    dropped = sum(sum(read.dropped.values()) for read in labels)
    lossy = sum(len(one.lossy) for read in labels for one in read.found)
    if dropped:
        sys.stderr.write(f"mastwatch: {dropped} labels of modes that have no heir; left out\n")
    if lossy:
        what = "taken all the same" if args.lossy else "left out; --lossy takes them"
        sys.stderr.write(f"mastwatch: {lossy} labels of modes not quite the same; {what}\n")


def _say(text: str) -> int:
    from mastwatch.commands.show import printable

    sys.stderr.write(f"mastwatch: {printable(text)}\n")
    return 2
