"""``mastwatch attribute``: which step decided a failed run, who took it, what would have helped."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mastwatch.commands import Commands
from mastwatch.commands.model_options import (
    add_input,
    add_limits,
    add_model,
    given,
    limits,
    open_store,
)
from mastwatch.store.attribution import METHODS

if TYPE_CHECKING:
    from mastwatch.judge.settings import AttributionSettings, JudgeSettings
    from mastwatch.settings import Settings

_DESCRIPTION = """\
Say which step decided that a run failed: the earliest one whose correction would have saved it, who
took it, why, and what should have been done instead. Runs are files, as `mastwatch detect` reads
them, or ids of runs in the store. The model is asked as `mastwatch judge` asks it: same settings,
same limits, same cache. Runs that are known to have succeeded are left alone."""
_EXAMPLES = """\
examples:
  mastwatch attribute failed.jsonl --model gpt-4.1-mini
  mastwatch attribute 4f1c9a0d --method binary_search
  mastwatch attribute chat.json --ground-truth --out reports/

exit status: 0 at least one run was looked at, 1 some run could not be, 2 no run was readable or the
model cannot be set up
"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "attribute",
        help="say which step of a failed run decided it",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_input(parser)
    group = add_model(parser, "the model and what it is asked")
    group.add_argument("--method", choices=METHODS, help="default: propose_verify")
    group.add_argument(
        "--ground-truth", action="store_true", help="show it the right answer, where a run has one"
    )
    group.add_argument(
        "--compat",
        choices=("paper",),
        help="the inputs and control flow of the Who&When paper's code, in our words",
    )
    group.add_argument(
        "--no-hints", action="store_true", help="do not tell it what detectors and judge found"
    )
    add_limits(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--json", action="store_true", help="JSON lines (always so where this is no terminal)"
    )
    output.add_argument(
        "--out", type=Path, metavar="DIR", help="write JSON, Markdown and HTML there, too"
    )
    parser.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Attribute.

    Returns:
        The exit status.
    """
    from mastwatch import settings
    from mastwatch.commands.attribute_output import say
    from mastwatch.judge.assembly import chosen_model
    from mastwatch.judge.configure import configured
    from mastwatch.store import StoreError

    if not args.runs:
        say("give runs or files to attribute")
        return 2
    chosen = settings.load({"store": args.store})
    for problem in chosen.problems:
        say(problem)
    try:
        how = configured({"retries": 2, **chosen.judge_options, **given(args)})
        if not args.model and chosen.judge:  # MASTWATCH_JUDGE=NAME names a model as well
            how = chosen_model(chosen.judge, how)[1]
        return _do(args, chosen, replace(how, attribution=_asked(args, how.attribution)))
    except (ValueError, TypeError, StoreError) as error:
        say(str(error))
        return 2


def _asked(args: argparse.Namespace, configured: AttributionSettings) -> AttributionSettings:
    method = args.method or configured.method
    if args.compat and method == "propose_verify":
        raise ValueError(
            "--compat paper is for the paper's own methods: give --method all_at_once, "
            "step_by_step or binary_search"
        )
    return replace(
        configured,
        method=method,
        ground_truth=args.ground_truth or configured.ground_truth,
        compat=args.compat or configured.compat,
        hints=configured.hints and not args.no_hints,
    )


def _do(args: argparse.Namespace, chosen: Settings, how: JudgeSettings) -> int:
    from mastwatch.commands.attribute_runs import Attributing
    from mastwatch.commands.judge_input import Input
    from mastwatch.commands.report_folder import make_folder

    most = limits(args, how)
    if args.out is not None:
        make_folder(args.out)
    store, place = open_store(args.runs, chosen, how)
    runs = Input(store, place, chosen, args.format).runs(args.runs)
    return Attributing(how, most, store, args).run(runs)
