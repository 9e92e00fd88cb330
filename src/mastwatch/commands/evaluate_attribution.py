"""``mastwatch evaluate attribution``: how often the deciding step of failed runs is found."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastwatch.commands import Commands
from mastwatch.commands.evaluate_attribution_models import say
from mastwatch.commands.model_options import count
from mastwatch.store.attribution import METHODS, Method

if TYPE_CHECKING:
    from mastwatch.evaluation.attribution.cases import Labelled
    from mastwatch.evaluation.attribution.run import Kept

_BASELINES = "baselines"
_EXAMPLES = """\
examples:
  mastwatch evaluate attribution --method baselines  what can be had without any model
  mastwatch evaluate attribution Who_and_When/       the published files, in folders of any depth
  mastwatch evaluate attribution --method propose_verify --method all_at_once --model M --dry-run
                                                     calls and tokens, before anything is sent
  mastwatch evaluate attribution --model M --base-url URL --keep answers.jsonl
                                                     a live model; the same again goes on

exit status: 0 all was asked, 1 something is still to be asked, 2 it could not begin
"""
_NOTHING = "nothing to read: give files of labelled failed runs, or set MASTWATCH_TRACES"


def add(words: Commands) -> None:
    """Add the word ``attribution`` and its options."""
    parser = words.add_parser(
        "attribution",
        help="score failure attribution on failed runs whose deciding step people marked",
        description="Compare the step and agent that methods blame with those that people marked "
        "(Who&When), beside what chance, trivial rules and a second annotator reach. Nothing is "
        "asked of a model unless one is named.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="records, published Who&When files, or folders of either (default: who_and_when* in "
        "the folder dev of MASTWATCH_TRACES)",
    )
    parser.add_argument("--limit", type=count, metavar="N", help="at most N runs per subset")
    _add_model(parser)
    parser.add_argument("--keep", metavar="FILE", type=Path, help="answers, kept as they are made")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures here")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write all tables here")
    parser.set_defaults(main=main)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        action="append",
        choices=(*METHODS, _BASELINES),
        help="may be repeated; the baselines are always in the table (default: propose_verify "
        "where a model is named, else baselines)",
    )
    who = parser.add_mutually_exclusive_group()
    who.add_argument(
        "--scripted", metavar="NAME", help="oracle, silent, first or noisy:0.2; asks no model"
    )
    who.add_argument("--model", metavar="NAME", help="a live model; it costs what --dry-run says")
    parser.add_argument("--base-url", metavar="URL", help="its server, any OpenAI-compatible one")
    parser.add_argument("--ground-truth", action="store_true", help="show it the right answer")
    parser.add_argument(
        "--compat", choices=("paper",), default="", help="inputs and control flow of the paper"
    )
    parser.add_argument("--seed", type=int, default=0, help="of a noisy scripted model")
    parser.add_argument("--dry-run", action="store_true", help="say what it takes and stop")
    parser.add_argument(
        "--price",
        nargs=2,
        type=float,
        metavar=("IN", "OUT"),
        help="USD per million tokens sent and received",
    )
    parser.add_argument(
        "--at-once", type=count, default=4, metavar="N", help="runs under way at a time"
    )


def main(args: argparse.Namespace) -> int:
    """Attribute the labelled runs and print the figures.

    Returns:
        The exit status.
    """
    from mastwatch.commands.evaluate import check_places
    from mastwatch.commands.evaluate_attribution_models import Models, ask, identity, tell_cost
    from mastwatch.evaluation.attribution import cases
    from mastwatch.evaluation.attribution.run import Kept

    files = args.files or cases.default_files()
    if not files:
        return say(_NOTHING)
    try:
        check_places(args)
        methods = _methods(args)
        models = Models(args) if methods and not args.dry_run else None
        kept = Kept.load(_keep(args) if methods else None, identity(args))
    except (ValueError, OSError) as error:
        return say(str(error))
    runs, problems = cases.gather(files, args.limit)
    for problem in problems:
        say(problem)
    if not runs:
        return say("none of the files holds a failed run with a marked step")
    if methods and (args.model or args.dry_run):
        tell_cost(runs, methods, kept, args)
    if args.dry_run:
        return 0 if methods else say("the baselines ask no model: there is nothing to reckon")
    if models is not None:
        ask(runs, methods, models, kept, args)
        if not kept.found:
            return 2
    return _write(runs, methods, kept, args)


def _methods(args: argparse.Namespace) -> list[Method]:
    """The methods that ask a model.

    Raises:
        ValueError: They cannot.
    """
    somebody = bool(args.model or args.scripted or args.dry_run)
    wanted = args.method or (["propose_verify"] if somebody else [_BASELINES])
    methods = [method for method in METHODS if method in wanted]
    if methods and not somebody:
        raise ValueError(f"{methods[0]} asks a model: give --model NAME or --scripted NAME")
    if args.compat and "propose_verify" in methods:
        raise ValueError("--compat paper is for the paper's methods; propose_verify is none")
    return methods


def _keep(args: argparse.Namespace) -> Path | None:
    """Where answers are kept; a dry run begins no file."""
    keep: Path | None = args.keep
    return None if keep is not None and args.dry_run and not keep.exists() else keep


def _write(
    runs: Sequence[Labelled], methods: Sequence[Method], kept: Kept, args: argparse.Namespace
) -> int:
    from mastwatch.evaluation import tables
    from mastwatch.evaluation.attribution.report import report
    from mastwatch.evaluation.attribution.views import tables as views

    result: dict[str, Any] = report(runs, methods, kept.found)
    shown = views(result)
    for line in tables.text(shown, bold=sys.stdout.isatty()):
        sys.stdout.write(f"{line}\n")
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if args.markdown is not None:
        args.markdown.write_text(tables.markdown(shown, "Attribution, evaluated"), encoding="utf-8")
    if result["missing"]:
        are = "answer is" if result["missing"] == 1 else "answers are"
        say(f"{result['missing']} {are} still to be asked for; the rows cover the others")
    return 1 if result["missing"] else 0
