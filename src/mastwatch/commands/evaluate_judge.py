"""``mastwatch evaluate judge``: how good a judge is on planted faults, scripted or a model."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastwatch import taxonomy
from mastwatch.commands import Commands

if TYPE_CHECKING:
    from mastwatch.evaluation.judge import Kept, Plan
    from mastwatch.evaluation.judge_cases import JudgedCase
    from mastwatch.judge.judge import Judge
    from mastwatch.judge.settings import JudgeSettings

_EXAMPLES = """\
examples:
  mastwatch evaluate judge --scripted noisy:0.1     offline: what theory says such a judge scores
  mastwatch evaluate judge --model M --dry-run      calls, tokens and money, before anything is sent
  mastwatch evaluate judge --model M --base-url URL --keep reports.jsonl
                                                    a live model; run it again to go on where it was

exit status: 0 all was judged, 1 something is still to be judged, 2 it could not begin
"""


def add(words: Commands) -> None:
    """Add the word ``judge`` and its options."""
    parser = words.add_parser(
        "judge",
        help="score a judge on faults of all modes, planted in healthy runs",
        description="Judge runs of which the truth is known by construction and print agreement "
        "by mode, false alarms on clean runs, and how often a text planted in a run flips a "
        "verdict. A scripted judge works offline; a model is only asked when one is named.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_judge(parser)
    _add_set(parser)
    parser.add_argument("--keep", metavar="FILE", type=Path, help="reports, kept as they are made")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures here")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write all tables here")
    parser.set_defaults(main=main)


def _add_judge(parser: argparse.ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument(
        "--scripted",
        metavar="NAME",
        help="perfect, lazy, lying, detectors, obedient or noisy:0.1; asks no model",
    )
    who.add_argument("--model", metavar="NAME", help="a live model; it costs what --dry-run says")
    parser.add_argument("--base-url", metavar="URL", help="its server, any OpenAI-compatible one")
    parser.add_argument("--profile", choices=("fast", "default", "deep"), default="default")
    parser.add_argument("--examples", metavar="FILE", default="", help="few-shot examples")
    parser.add_argument("--dry-run", action="store_true", help="say what it takes and stop")
    parser.add_argument(
        "--price",
        nargs=2,
        type=float,
        metavar=("IN", "OUT"),
        help="USD per million tokens sent and received",
    )
    parser.add_argument(
        "--at-once", type=int, default=4, metavar="N", help="runs judged at a time (default: 4)"
    )


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="healthy runs to plant in (default: composed ones)"
    )
    parser.add_argument("--per-mode", type=int, default=20, metavar="N", help="runs per mode")
    parser.add_argument("--clean", type=int, default=40, metavar="N", help="clean runs")
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="judge each run N times"
    )
    parser.add_argument("--flip-runs", type=int, default=3, metavar="N", help="runs that talk back")
    parser.add_argument("--mode", action="append", default=[], metavar="FM-X.Y")
    parser.add_argument("--seed", type=int, default=0)


def main(args: argparse.Namespace) -> int:
    """Judge the set and print the figures.

    Returns:
        The exit status.
    """
    from mastwatch.evaluation.judge import Hopeless, Kept
    from mastwatch.evaluation.judge_score import score

    try:
        what = _plan(args)
        judge_for = _judges(args)
        kept = Kept.load(args.keep, _identity(args))
    except (ValueError, OSError) as error:
        return _say(str(error))
    if not what.cases:
        return _say("none of the files holds a healthy run to plant a fault in")
    if args.model or args.dry_run:
        asyncio.run(_tell_cost(what, kept, args))
    if args.dry_run:
        return 0
    try:
        asyncio.run(_work(what, judge_for, kept, args))
    except KeyboardInterrupt:
        sys.stderr.write(f"\nmastwatch: interrupted; {_kept(args)}\n")
    except Hopeless as error:
        _say(f"{error}; stopped")
    if not kept.reports:
        return 2
    result = score(what, kept.reports, seed=args.seed)
    _write(result, args)
    return 1 if result["missing"] else 0


def _plan(args: argparse.Namespace) -> Plan:
    from mastwatch.evaluation import datasets
    from mastwatch.evaluation.hosts import hosts
    from mastwatch.evaluation.judge import plan
    from mastwatch.evaluation.judge_cases import cases
    from mastwatch.evaluation.pool import detectors

    try:
        modes = [taxonomy.mode(mode).code for mode in args.mode]
    except KeyError as error:
        raise ValueError(error.args[0]) from None
    found = [item for file in args.files for item in datasets.load(file)]
    records = [dict(item.record) for item in found if isinstance(item, datasets.Case)]
    made = cases(
        records if args.files else hosts(seed=args.seed),
        detectors(),
        per_mode=args.per_mode,
        clean=args.clean,
        seed=args.seed,
        modes=modes,
    )
    return plan(made, repeats=args.repeats, flip_cases=args.flip_runs)


def _identity(args: argparse.Namespace) -> str:
    """What must not change between an evaluation and its continuation."""
    asked = (args.scripted or args.model, args.base_url, args.profile, args.examples, args.seed)
    return json.dumps(asked)


def _settings(args: argparse.Namespace) -> JudgeSettings:
    from mastwatch.judge.settings import JudgeSettings

    prices = dict(zip(("input", "output"), args.price, strict=True)) if args.price else {}
    return JudgeSettings(
        model=args.model or "",
        base_url=args.base_url or os.environ.get("OPENAI_BASE_URL"),
        profile=args.profile,
        examples=args.examples,
        prices=prices,
        concurrency=args.at_once,
        cache=False,  # an answer that was kept would agree with itself
    )


def _judges(args: argparse.Namespace) -> Callable[[JudgedCase, int], Judge]:
    from mastwatch.judge.examples import Examples
    from mastwatch.judge.judge import Judge

    settings = _settings(args)
    examples = Examples.load(args.examples)
    if args.scripted:
        from mastwatch.evaluation.judges import scripted

        make = scripted(args.scripted)
        return lambda case, time: Judge(
            make(case, f"{args.seed}:{time}"), settings, examples=examples
        )
    from mastwatch.judge import clients

    live = Judge(clients.make(args.model, settings), settings, examples=examples)
    return lambda case, time: live


async def _tell_cost(what: Plan, kept: Kept, args: argparse.Namespace) -> None:
    """Say what is still to be paid for, before anything is sent."""
    from mastwatch.judge.preflight import estimate

    settings = _settings(args)
    left = [case for key, case in what.todo if key not in kept.reports]
    found = [await estimate(case.trace, settings) for case in left]
    sys.stderr.write(f"mastwatch: {len(left)} judgements are to be made\n")
    for name, asked in (
        ("at least", [e.least for e in found]),
        ("at most", [e.most for e in found]),
    ):
        usd = [a.usd for a in asked if a.usd is not None]
        money = f", {sum(usd):.2f} USD" if usd else ""
        sys.stderr.write(
            f"mastwatch: {name} {sum(a.calls for a in asked)} calls, "
            f"{sum(a.input_tokens for a in asked)} tokens sent, "
            f"{sum(a.output_tokens for a in asked)} received if all replies are at their "
            f"longest{money}\n"
        )


async def _work(
    what: Plan, judge_for: Callable[[JudgedCase, int], Judge], kept: Kept, args: argparse.Namespace
) -> None:
    from mastwatch.evaluation.judge import judge_all

    await judge_all(what, judge_for, kept, at_once=args.at_once, tell=_progress)
    if args.model:
        await judge_for(what.cases[0], 0).close()
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{done} of {total} judged")
        sys.stderr.flush()


def _kept(args: argparse.Namespace) -> str:
    if args.keep is None:
        return "with --keep FILE the next time it can go on from where it was"
    return f"run the same command again to go on; {args.keep} holds what was judged"


def _write(result: dict[str, Any], args: argparse.Namespace) -> None:
    from mastwatch.evaluation import tables
    from mastwatch.evaluation.views_judge import tables as views

    shown = views(result)
    for line in tables.text(shown, bold=sys.stdout.isatty()):
        sys.stdout.write(f"{line}\n")
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if args.markdown is not None:
        args.markdown.write_text(tables.markdown(shown, "A judge, evaluated"), encoding="utf-8")


def _say(text: str) -> int:
    from mastwatch.commands.show import printable

    sys.stderr.write(f"mastwatch: {printable(text)}\n")
    return 2
