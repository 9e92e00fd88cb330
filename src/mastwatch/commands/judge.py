"""``mastwatch judge``: all modes on finished runs, with evidence; at once, or as a worker."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastwatch.commands import Commands, judge_calibrate, judge_review
from mastwatch.commands.model_options import (
    add_input,
    add_limits,
    add_model,
    given,
    limits,
    open_store,
)

if TYPE_CHECKING:
    from mastwatch.judge.settings import JudgeSettings
    from mastwatch.settings import Settings

WORDS = {"calibrate": judge_calibrate, "review": judge_review}
"""Sub-commands, and the module whose ``add`` adds the command ``judge WORD``; see ``words``."""
_DESCRIPTION = """\
Judge finished runs with a model: every failure mode, with quotes that are checked against the run.
Runs are files, as `mastwatch detect` reads them, or ids of runs in the store. Any server that
speaks OpenAI's API will do; the key is read from OPENAI_API_KEY. Also: `mastwatch judge calibrate`,
`mastwatch judge review`."""
_EXAMPLES = """\
examples:
  mastwatch judge runs.jsonl.gz --model gpt-4.1-mini --dry-run
  mastwatch judge runs.jsonl.gz --model qwen3:8b --base-url http://127.0.0.1:11434/v1
  mastwatch judge 4f1c9a0d --out reports/
  mastwatch judge --worker

exit status: 0 at least one run was judged, 1 some run was not evaluated at all, 2 no run was
readable or the judge cannot be set up
"""


def words(argv: list[str]) -> list[str]:
    """The command line with a sub-command of ``judge`` as one word.

    ``judge`` takes any number of runs, which argparse cannot tell from sub-commands. A file of that
    name can be given as ``./calibrate``.

    >>> words(["judge", "review", "x"]), words(["judge", "runs.json"])
    (['judge review', 'x'], ['judge', 'runs.json'])
    """
    if argv[:1] == ["judge"] and argv[1:2] and argv[1] in WORDS:
        return [f"judge {argv[1]}", *argv[2:]]
    return argv


def add(commands: Commands) -> None:
    """Add the command, its sub-commands and their options."""
    parser = commands.add_parser(
        "judge",
        help="judge finished runs with a model",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_input(parser)
    group = add_model(parser, "the judge")
    group.add_argument("--profile", choices=("fast", "default", "deep"), help="how thorough")
    group.add_argument(
        "--mode", action="append", metavar="FM-X.Y", help="only this mode; may be repeated"
    )
    group.add_argument("--language", metavar="NAME", help="of the explanations")
    add_limits(parser)
    _add_output(parser)
    _add_worker(parser)
    parser.set_defaults(main=main)
    for module in WORDS.values():
        module.add(commands)


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--json", action="store_true", help="JSON lines (always so where this is no terminal)"
    )
    group.add_argument(
        "--out", type=Path, metavar="DIR", help="write JSON, Markdown and HTML there, too"
    )
    group.add_argument(
        "--dry-run", action="store_true", help="print calls, tokens and money; ask nobody"
    )


def _add_worker(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("as a worker")
    group.add_argument(
        "--worker", action="store_true", help="judge the runs that wait in the store, until stopped"
    )
    group.add_argument("--once", action="store_true", help="stop when no run waits any more")


def main(args: argparse.Namespace) -> int:
    """Judge.

    Returns:
        The exit status.
    """
    from mastwatch import settings
    from mastwatch.commands.judge_output import say
    from mastwatch.judge.assembly import chosen_model
    from mastwatch.judge.configure import configured
    from mastwatch.store import StoreError

    if args.worker == bool(args.runs):
        say("give runs or files to judge, or --worker")
        return 2
    chosen = settings.load({"store": args.store})
    for problem in chosen.problems:
        say(problem)
    try:
        # A worker can wait for a server; a person who sits before it wants to hear of it.
        patience = {} if args.worker else {"retries": 2}
        how = configured({**patience, **chosen.judge_options, **_given(args)})
        if not args.model and chosen.judge:  # MASTWATCH_JUDGE=NAME names a model as well
            how = chosen_model(chosen.judge, how)[1]
        return _do(args, chosen, how)
    except (ValueError, TypeError, StoreError) as error:
        say(str(error))
        return 2


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """The judge's settings on the command line."""
    return {**given(args), **({"modes": args.mode} if args.mode else {})}


def _do(args: argparse.Namespace, chosen: Settings, how: JudgeSettings) -> int:
    from mastwatch.commands.report_folder import make_folder

    most = limits(args, how)
    if args.worker and most != type(most)():
        raise ValueError(
            "--max-... limit one command that judges runs; for a worker set what one run and one "
            "day may cost, judge.per_trace and judge.per_day"
        )
    if args.out is not None and not args.dry_run:
        make_folder(args.out)
    if args.worker:
        from mastwatch.commands.judge_worker import work

        return work(args, chosen, how)
    from mastwatch.commands.judge_input import Input
    from mastwatch.commands.judge_runs import Judging, plan

    store, place = open_store(args.runs, chosen, how)
    runs = Input(store, place, chosen, args.format).runs(args.runs)
    if args.dry_run:
        return plan(runs, how, most, args)
    return Judging(how, most, store, place, args).run(runs)
