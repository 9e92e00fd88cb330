"""Limits are kept, and one that cannot be kept stops all spending."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from mastwatch.judge.budget import DAY_NOT_COUNTED, DAY_REACHED, Account, Budget, NoBudget
from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.judge.settings import JudgeSettings, TraceLimits
from mastwatch.store import Limits, Spend, StoreError, Usage
from mastwatch.store.sqlite import SqliteStore

PRICES = {"input": 2.0, "output": 8.0}


def settings(**options: Any) -> JudgeSettings:
    return JudgeSettings(**{"model": "m", "per_trace": TraceLimits(calls=None), **options})


async def reason(budget: Budget, spend: Spend) -> str:
    try:
        await budget.reserve(spend)
    except NoBudget as none:
        return str(none)
    return ""


def call(size: int = 100) -> Spend:
    return Spend(calls=1, tokens=size, usd=size / 1e6)


async def test_what_is_set_aside_counts_until_it_is_settled() -> None:
    budget = Budget(settings(per_trace=TraceLimits(calls=None, tokens=250)))
    first = await budget.reserve(call())
    await budget.reserve(call())
    assert "250 tokens" in await reason(budget, call())
    await budget.settle(first, Usage(calls=1, input_tokens=10, output_tokens=5))
    assert await reason(budget, call()) == ""
    assert "250 tokens" in await reason(budget, call())


async def test_a_refused_reservation_sets_nothing_aside() -> None:
    budget = Budget(settings(per_trace=TraceLimits(calls=None, tokens=250)))
    for _ in range(3):
        assert "250 tokens" in await reason(budget, call(300))
    assert await reason(budget, call(250)) == ""


async def test_a_call_that_took_more_than_planned_counts_in_full() -> None:
    budget = Budget(settings(per_trace=TraceLimits(calls=None, tokens=250)))
    held = await budget.reserve(call())
    await budget.settle(held, Usage(calls=1, input_tokens=240))
    assert "250 tokens" in await reason(budget, call(20))


@pytest.mark.parametrize(
    "prices", [{}, {"input": 1.0}, {"input": -1.0, "output": 1.0}, {"input": 1.0, "output": 1e999}]
)
async def test_without_a_price_a_limit_in_money_stops_everything(prices: Any) -> None:
    budget = Budget(settings(prices=prices, per_trace=TraceLimits(usd=100.0)))
    assert "price of m" in await reason(budget, call())
    assert budget.usd(1, 1) is None


async def test_a_limit_in_money_is_kept() -> None:
    budget = Budget(settings(prices=PRICES, per_trace=TraceLimits(usd=0.01)))
    spend = budget.estimate(1_000, 500)
    assert spend.usd == pytest.approx(0.006)
    assert await reason(budget, spend) == ""
    assert "0.01 USD" in await reason(budget, spend)


class Store:
    """A ledger that may fail."""

    def __init__(self, day: str = "2026-01-01", fails: bool = False) -> None:
        self.day, self.fails = day, fails
        self.settled: list[tuple[Spend, Spend, str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def reserve(self, spend: Spend, limits: Limits) -> str:
        if self.fails:
            raise StoreError("locked")
        return self.day

    def settle(self, reserved: Spend, spent: Spend, day: str = "") -> None:
        self.gate.wait(5)
        if self.fails:
            raise StoreError("locked")
        self.settled.append((reserved, spent, day))


DAILY = {"per_day": Limits(tokens=1_000)}


@pytest.mark.parametrize(
    ("store", "problem"),
    [
        (None, "no store that counts"),
        (Store(day=""), DAY_REACHED),
        (Store(fails=True), DAY_NOT_COUNTED),
    ],
    ids=["no store", "used up", "a store that fails"],
)
async def test_a_day_that_cannot_be_counted_stops_everything(store: Any, problem: str) -> None:
    budget = Budget(settings(**DAILY), store)
    assert problem in await reason(budget, call())
    assert budget._accounts[0]._taken == Spend()


async def test_a_call_is_settled_on_the_day_it_was_set_aside_for() -> None:
    store: Any = Store()
    budget = Budget(settings(**DAILY), store)
    held = await budget.reserve(call())
    store.day = "2026-01-02"
    await budget.settle(held, Usage(calls=1, input_tokens=7))
    assert store.settled == [(call(), Spend(calls=1, tokens=7, usd=0.0), "2026-01-01")]


async def test_a_judge_that_is_stopped_still_settles() -> None:
    store: Any = Store()
    budget = Budget(settings(**DAILY), store)
    held = await budget.reserve(call())
    store.gate.clear()
    task = asyncio.create_task(budget.settle(held, Usage(calls=1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store.gate.set()
    while not store.settled:
        await asyncio.sleep(0.001)


async def test_a_store_that_fails_to_settle_breaks_nothing() -> None:
    store: Any = Store()
    budget = Budget(settings(**DAILY), store)
    held = await budget.reserve(call())
    store.fails = True
    await budget.settle(held, Usage(calls=1))


async def test_without_a_daily_limit_the_store_is_not_asked() -> None:
    store: Any = Store(fails=True)
    budget = Budget(settings(), store)
    await budget.settle(await budget.reserve(call()), Usage(calls=1))


async def test_budgets_of_one_store_share_the_day(tmp_path: Any) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    budgets = [Budget(settings(per_day=Limits(calls=10)), store) for _ in range(4)]
    reasons = await asyncio.gather(*(reason(b, call()) for b in budgets for _ in range(5)))
    assert sorted(reasons) == [""] * 10 + [DAY_REACHED] * 10
    store.close()


async def test_runs_that_share_an_account_stay_within_it_together() -> None:
    shared = Account(Limits(calls=3), "all runs together")
    one, other = (Budget(settings(), shared=shared) for _ in range(2))
    held = [await one.reserve(Spend(calls=1)), await other.reserve(Spend(calls=1))]
    await one.settle(held[0], Usage(calls=1))
    await other.settle(held[1], Usage(calls=0))  # it was not made
    await one.reserve(Spend(calls=1))
    await one.reserve(Spend(calls=1))
    with pytest.raises(NoBudget, match="3 calls for all runs together"):
        await other.reserve(Spend(calls=1))


ASK = Ask(system="s", user="u", schema={}, max_tokens=50)


@pytest.mark.parametrize(
    ("outcome", "tokens", "estimated"),
    [
        (Reply(text="ok", input_tokens=9, output_tokens=3), (9, 3), False),
        (Reply(text="ok" * 30, input_tokens=None, output_tokens=3), (20, 3), True),
        (Reply(text="ok" * 30), (20, 21), True),
        (ModelError("rate_limited", ""), (0, 0), False),
        (ModelError("timeout", ""), (20, 50), True),
        (None, (20, 50), True),
    ],
    ids=["reported", "half reported", "not reported", "refused", "timed out", "stopped"],
)
def test_what_a_call_took(outcome: Any, tokens: tuple[int, int], estimated: bool) -> None:
    usage = Budget(settings(prices=PRICES)).used(outcome, ASK, 20)
    assert (usage.input_tokens, usage.output_tokens) == tokens
    assert usage.estimated is estimated
    assert usage.calls == 1
    assert usage.usd == pytest.approx((tokens[0] * 2 + tokens[1] * 8) / 1e6)


def test_a_server_that_is_not_there_was_not_called() -> None:
    usage = Budget(settings()).used(ModelError("unreachable", ""), ASK, 20)
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (0, 0, 0)
