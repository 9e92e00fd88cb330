"""What may be spent on a run, on several and in a day; a limit that cannot be kept stops all."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass

from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.judge.settings import JudgeSettings, TraceLimits
from mastwatch.judge.windows import tokens
from mastwatch.store import Limits, Spend, Store, StoreError, Usage

DAY_REACHED = "the limit for today is reached"
DAY_NOT_COUNTED = "a daily limit is set and the store that counts the day fails"
"""Problems that pass by themselves: the run may be judged later."""


class NoBudget(Exception):
    """A call may not be made; the message says in one sentence why."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is set aside for a call.

    Attributes:
        spend: How much.
        day: The day it counts for, as the store gave it; empty without a daily limit.
    """

    spend: Spend
    day: str = ""


class Account:
    """What was spent under one limit, and what is set aside; used from one event loop.

    Args:
        limits: The limits.
        of: What they hold for, ``one run``.
    """

    def __init__(self, limits: Limits | TraceLimits, of: str) -> None:
        self.limits = limits
        self._of = of
        self._taken = Spend()

    def check(self, spend: Spend) -> None:
        """See whether there is room.

        Raises:
            NoBudget: There is none.
        """
        after, limits = _sum(self._taken, spend), self.limits
        for what, used, limit in (
            ("calls", after.calls, limits.calls),
            ("tokens", after.tokens, limits.tokens),
            ("USD", after.usd, limits.usd),
        ):
            if limit is not None and used > limit:
                raise NoBudget(f"the limit of {limit} {what} for {self._of} is reached")

    def take(self, spend: Spend) -> None:
        """Set aside, or spend."""
        self._taken = _sum(self._taken, spend)

    def give_back(self, spend: Spend) -> None:
        """Set aside no longer."""
        self._taken = _sum(self._taken, spend, sign=-1)


class Budget:
    """The budget of one run; used from one event loop.

    Args:
        settings: Limits and prices.
        store: Holds what all processes have spent today; None where no daily limit is set.
        shared: An account of several runs that this one counts in, too.
    """

    def __init__(
        self, settings: JudgeSettings, store: Store | None = None, shared: Account | None = None
    ) -> None:
        self._settings = settings
        self._store = store
        own = Account(settings.per_trace, "one run")
        self._accounts = [own] if shared is None else [own, shared]

    @property
    def priced(self) -> bool:
        """Whether the price of both directions is known."""
        found = [self._settings.prices.get(way, math.nan) for way in ("input", "output")]
        return all(math.isfinite(price) and price >= 0 for price in found)

    def usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """What tokens cost; None where no price is known."""
        if not self.priced:
            return None
        prices = self._settings.prices
        return (input_tokens * prices["input"] + output_tokens * prices["output"]) / 1_000_000

    def estimate(self, input_tokens: int, output_tokens: int) -> Spend:
        """What a call may cost at most."""
        usd = self.usd(input_tokens, output_tokens) or 0.0
        return Spend(calls=1, tokens=input_tokens + output_tokens, usd=usd)

    def used(self, outcome: Reply | ModelError | None, ask: Ask, planned: int) -> Usage:
        """What a call took.

        What was refused costs nothing, and a server that is not there was not even called; what
        timed out may have been read, answered and charged for.

        Args:
            outcome: What came of it; None while it has not come back.
            ask: The question.
            planned: Its tokens, as estimated.
        """
        estimated, calls = True, 1
        if isinstance(outcome, Reply):
            estimated = outcome.input_tokens is None or outcome.output_tokens is None
            came = planned if outcome.input_tokens is None else outcome.input_tokens
            told = outcome.output_tokens
            went = tokens(outcome.text) if told is None else told
        elif outcome is None or outcome.kind == "timeout":
            came, went = planned, ask.max_tokens
        else:
            came, went, estimated = 0, 0, False
            calls = int(outcome.kind != "unreachable")
        return Usage(
            calls=calls,
            input_tokens=came,
            output_tokens=went,
            usd=self.usd(came, went),
            estimated=estimated,
            planned_tokens=planned,
        )

    async def reserve(self, spend: Spend) -> Held:
        """Set aside what a call may cost at most.

        Raises:
            NoBudget: It would pass a limit, or a limit cannot be kept.
        """
        self._check(spend)
        for account in self._accounts:
            account.take(spend)
        try:
            return Held(spend, await self._reserve_today(spend))
        except BaseException:
            for account in self._accounts:
                account.give_back(spend)
            raise

    async def settle(self, held: Held, usage: Usage) -> None:
        """Put what a call did cost in place of what was set aside."""
        size = usage.input_tokens + usage.output_tokens
        spent = Spend(calls=usage.calls, tokens=size, usd=usage.usd or 0.0)
        for account in self._accounts:
            account.give_back(held.spend)
            account.take(spent)
        if held.day and self._store is not None:
            # Shielded: a judge that is stopped settles what it set aside for all the others.
            await asyncio.shield(asyncio.ensure_future(self._settle_today(held, spent)))

    def _check(self, spend: Spend) -> None:
        limits = [self._settings.per_day, *(account.limits for account in self._accounts)]
        if any(limit.usd is not None for limit in limits) and not self.priced:
            raise NoBudget(
                f"a limit in USD is set and no price of {self._settings.model or 'the model'} is "
                "known: give prices, input and output, in USD per million tokens"
            )
        for account in self._accounts:
            account.check(spend)

    async def _reserve_today(self, spend: Spend) -> str:
        day = self._settings.per_day
        if day.calls is None and day.tokens is None and day.usd is None:
            return ""
        if _passes(spend, day):
            raise NoBudget("one call of this run may take more than a whole day's limit")
        if self._store is None:
            raise NoBudget("a daily limit is set and there is no store that counts the day")
        try:
            # Stopped in here, the call's share of the day stays set aside: too much, never less.
            found = await asyncio.to_thread(self._store.reserve, spend, day)
        except StoreError:
            raise NoBudget(DAY_NOT_COUNTED) from None
        if not found:
            raise NoBudget(DAY_REACHED)
        return found

    async def _settle_today(self, held: Held, spent: Spend) -> None:
        assert self._store is not None
        try:
            await asyncio.to_thread(self._store.settle, held.spend, spent, held.day)
        except StoreError:
            return  # what was set aside then counts as spent: never less than it was


def _passes(spend: Spend, limits: Limits) -> bool:
    pairs = (spend.calls, limits.calls), (spend.tokens, limits.tokens), (spend.usd, limits.usd)
    return any(limit is not None and used > limit for used, limit in pairs)


def _sum(a: Spend, b: Spend, sign: int = 1) -> Spend:
    return Spend(
        calls=a.calls + sign * b.calls,
        tokens=a.tokens + sign * b.tokens,
        usd=a.usd + sign * b.usd,
    )
