"""Options of commands that ask a model about runs: which runs, which model, how much."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mastwatch.commands.inputs import add_format

if TYPE_CHECKING:
    from mastwatch.judge.settings import JudgeSettings
    from mastwatch.settings import Settings
    from mastwatch.store import Limits
    from mastwatch.store.sqlite import SqliteStore

_NAMES = ("model", "base_url", "profile", "language", "concurrency")


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add which runs."""
    parser.add_argument("runs", nargs="*", metavar="RUN|FILE", help="or - for stdin")
    add_format(parser)
    parser.add_argument("--limit", type=count, metavar="N", help="at most so many runs")
    parser.add_argument("--store", metavar="FILE", help="store of runs, answers and daily limits")


def add_model(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Add which model; returns the group, for what else says how it is asked."""
    group = parser.add_argument_group(title)
    group.add_argument("--model", metavar="NAME", help="default: MASTWATCH_JUDGE_MODEL")
    group.add_argument("--base-url", metavar="URL", help="default: OPENAI_BASE_URL, else OpenAI's")
    group.add_argument("--concurrency", type=count, metavar="N", help="calls at once, at most")
    group.add_argument("--rerun", action="store_true", help="do not take earlier answers")
    return group


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add how much may be spent."""
    group = parser.add_argument_group(
        "limits", "for all runs of this command; those of one run and of a day: see docs/judge.md"
    )
    group.add_argument("--max-calls", type=_whole, metavar="N")
    group.add_argument("--max-tokens", type=_whole, metavar="N")
    group.add_argument("--max-usd", type=_money, metavar="USD")
    group.add_argument("--price-input", type=float, metavar="USD", help="per million tokens")
    group.add_argument("--price-output", type=float, metavar="USD", help="per million tokens")


def count(text: str) -> int:
    """A number of 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected a number of 1 or more")
    return number


def _whole(text: str) -> int:
    return int(_amount(int(text)))


def _money(text: str) -> float:
    return _amount(float(text))


def _amount(number: float) -> float:
    if not 0 <= number < math.inf:  # false for NaN too: it would be no limit
        raise argparse.ArgumentTypeError("expected a number of 0 or more")
    return number


def given(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of the model on the command line."""
    said: dict[str, Any] = {
        name: getattr(args, name) for name in _NAMES if getattr(args, name, None) is not None
    }
    if args.rerun:
        said["cache"] = False
    prices = {"input": args.price_input, "output": args.price_output}
    prices = {way: price for way, price in prices.items() if price is not None}
    if prices:
        said["prices"] = prices
    return said


def limits(args: argparse.Namespace, how: JudgeSettings) -> Limits:
    """What the whole command may spend.

    Raises:
        ValueError: It could not be kept.
    """
    from mastwatch.store import Limits

    said = Limits(calls=args.max_calls, tokens=args.max_tokens, usd=args.max_usd)
    if said.usd is not None and not {"input", "output"} <= set(how.prices):
        raise ValueError(
            "--max-usd is given and no price is known, so it could not be kept; give "
            "--price-input and --price-output, in USD per million tokens"
        )
    return said


def open_store(
    names: Sequence[str], chosen: Settings, how: JudgeSettings
) -> tuple[SqliteStore | None, str]:
    """The store, where one was asked for or is needed, and how it is called.

    Files alone need none: then nothing is written to disk but what ``--out`` asks for.

    Raises:
        ValueError: A daily limit could not be kept.
    """
    from mastwatch import _recording
    from mastwatch.commands.judge_input import is_file
    from mastwatch.store import Limits

    store = _recording.open_store(chosen, create=bool(chosen.store))
    wanted = bool(chosen.store) or (
        store.path.exists() and not all(is_file(name) for name in names)
    )
    if not wanted and how.per_day != Limits():
        raise ValueError("a daily limit is set: name the store that counts the day, --store FILE")
    return store if wanted else None, str(store.path)
