"""The models that ``mastwatch evaluate attribution`` asks, and what asking them takes."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mastwatch.store.attribution import Method

if TYPE_CHECKING:
    from mastwatch.attribution import Attributor
    from mastwatch.evaluation.attribution.cases import Labelled
    from mastwatch.evaluation.attribution.run import Kept
    from mastwatch.judge.access import ModelAccess
    from mastwatch.judge.settings import JudgeSettings


def identity(args: argparse.Namespace) -> str:
    """What must not change between an evaluation and its continuation; methods and runs may."""
    from mastwatch.attribution.prompt import PROMPT_VERSION

    who = (args.scripted or args.model, args.base_url, args.seed if args.scripted else None)
    return json.dumps((*who, args.ground_truth, args.compat, PROMPT_VERSION))


def _settings(args: argparse.Namespace, method: Method = "propose_verify") -> JudgeSettings:
    from mastwatch.judge.settings import AttributionSettings, JudgeSettings, TraceLimits

    prices = dict(zip(("input", "output"), args.price, strict=True)) if args.price else {}
    return JudgeSettings(
        model=args.model or args.scripted or "",
        base_url=args.base_url or os.environ.get("OPENAI_BASE_URL"),
        prices=prices,
        concurrency=args.at_once,
        cache=False,  # an answer to the same question at another time would count as a new one
        # Step by step asks once per step: a limit of one run would cut off the long ones.
        per_trace=TraceLimits(calls=None, tokens=None, usd=None),
        attribution=AttributionSettings(
            method=method, ground_truth=args.ground_truth, compat=args.compat
        ),
    )


class Models:
    """Who attributes: a live model, or a scripted one for each run.

    Args:
        args: The command line.

    Raises:
        ValueError: There is no such model.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        from mastwatch.evaluation.attribution.scripted import scripted
        from mastwatch.judge import clients
        from mastwatch.judge.access import ModelAccess

        self._args = args
        self._settings = _settings(args)
        self._opinion = scripted(args.scripted) if args.scripted else None
        self._live: ModelAccess | None = None
        if not args.scripted:
            self._live = ModelAccess(clients.make(args.model, self._settings), self._settings)

    def attributor(self, case: Labelled, method: Method) -> Attributor:
        """Who attributes a run by a method."""
        from mastwatch.attribution import Attributor

        how = replace(self._settings.attribution, method=method)
        return Attributor(self._live or self._scripted(case, method), how)

    def _scripted(self, case: Labelled, method: Method) -> ModelAccess:
        from mastwatch.evaluation.attribution.scripted import Scripted
        from mastwatch.judge.access import ModelAccess

        args = self._args
        blamed = self._opinion(case, f"{args.seed}:{method}") if self._opinion else None
        client = Scripted(case, blamed, args.scripted, paper=bool(args.compat))
        return ModelAccess(client, self._settings)

    async def close(self) -> None:
        """Let go of connections."""
        if self._live is not None:
            await self._live.close()


def tell_cost(
    runs: Sequence[Labelled], methods: Sequence[Method], kept: Kept, args: argparse.Namespace
) -> None:
    """Say what is still to be paid for, before anything is sent."""
    from mastwatch.evaluation.attribution.preflight import at_most
    from mastwatch.evaluation.attribution.run import open_keys

    by_id = {case.trace.run_id: case.trace for case in runs}
    left = open_keys(runs, methods, kept.found)
    for method in methods:
        settings = _settings(args, method)
        traces = [by_id[run] for wanted, run in left if wanted == method]
        asked = [asyncio.run(at_most(trace, settings)) for trace in traces]
        usd = [each.usd for each in asked if each.usd is not None]
        money = f", {sum(usd):.2f} USD" if usd else ""
        say(
            f"{method}: {len(asked)} runs are to be asked about; at most "
            f"{sum(each.calls for each in asked)} calls, "
            f"{sum(each.input_tokens for each in asked)} tokens sent, "
            f"{sum(each.output_tokens for each in asked)} received if all replies are at their "
            f"longest{money}"
        )


def ask(
    runs: Sequence[Labelled],
    methods: Sequence[Method],
    models: Models,
    kept: Kept,
    args: argparse.Namespace,
) -> None:
    """Ask until all is answered, somebody interrupts, or no answer is to be had."""
    from mastwatch.evaluation.judge import Hopeless

    try:
        asyncio.run(_asked(runs, methods, models, kept, args.at_once))
    except KeyboardInterrupt:
        again = "with --keep FILE the next time it can go on from where it was"
        if args.keep is not None:
            again = f"run the same command again to go on; {args.keep} holds what was answered"
        say(f"interrupted; {again}")
    except Hopeless as error:
        say(f"{error}; stopped")
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


async def _asked(
    runs: Sequence[Labelled], methods: Sequence[Method], models: Models, kept: Kept, at_once: int
) -> None:
    from mastwatch.evaluation.attribution.run import attribute_all

    try:
        await attribute_all(runs, methods, models.attributor, kept, at_once=at_once, tell=_progress)
    finally:
        await models.close()


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{done} of {total} attributed")
        sys.stderr.flush()


def say(text: str) -> int:
    """Say something on stderr; returns the exit status of a command that ends with it."""
    from mastwatch.commands.show import printable

    sys.stderr.write(f"mastwatch: {printable(text)}\n")
    return 2
