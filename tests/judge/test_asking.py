"""Questions under way together: what they learn, how fast they come, and being stopped."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mastwatch.judge import learned, pace
from mastwatch.judge.answers import Question
from mastwatch.judge.asking import Asking
from mastwatch.judge.budget import Budget
from mastwatch.judge.client import RUNGS, Ask, ModelError, Reply
from mastwatch.judge.learned import Learned, known, was_cut
from mastwatch.judge.pace import Pace
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.verdicts import VerdictsForm
from mastwatch.store import StoreError

SLUGS = ("step_repetition", "task_derailment")
ABSENT = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": ""}
GOOD = json.dumps({"modes": dict.fromkeys(SLUGS, ABSENT), "task_completed": "yes"})


class Client:
    """A client that does what a function of the question says."""

    provider = "scripted"
    address = "here"

    def __init__(self, answer: Callable[[Ask], Any], model: str = "m") -> None:
        self.model = model
        self.asked: list[Ask] = []
        self.now = self.most = 0
        self._answer = answer

    async def complete(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            made = self._answer(ask)
            if asyncio.iscoroutine(made):
                made = await made
        finally:
            self.now -= 1
        if isinstance(made, Exception):
            raise made
        return made if isinstance(made, Reply) else Reply(text=made)

    async def close(self) -> None:
        pass


def asking(client: Client, speed: Pace | None = None, store: Any = None, **options: Any) -> Asking:
    settings = JudgeSettings(model="m", **{"retries": 2, **options})
    return Asking(client, settings, speed or Pace(settings.concurrency), known(client), store)


def question(number: int = 0, size: int = 10) -> Question:
    return Question("system", "x" * size, VerdictsForm(SLUGS), f"key-{number}")


def budget(**options: Any) -> Budget:
    return Budget(JudgeSettings(model="m", **options))


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_FIRST_WAIT", 0.001)


# What is learned.


async def test_questions_that_step_down_together_skip_no_rung() -> None:
    def answer(ask: Ask) -> Any:
        return ModelError("unsupported", "no") if ask.rung == "json_schema" else GOOD

    async def slowly(ask: Ask) -> Any:
        await asyncio.sleep(0.01)
        return answer(ask)

    client = Client(slowly)
    room = asking(client, Pace(8))
    spent = budget()
    answers = await asyncio.gather(*(room.ask(question(i), spent) for i in range(8)))
    assert {a.rung for a in answers} == {"json_object"}
    assert room.learned.rung == RUNGS.index("json_object")
    assert [a.rung for a in client.asked].count("json_schema") == 8


async def test_a_question_that_waited_uses_what_others_learned() -> None:
    def answer(ask: Ask) -> Any:
        return ModelError("unsupported", "no") if ask.rung == "json_schema" else GOOD

    client = Client(answer)
    room = asking(client, Pace(1))
    spent = budget()
    await asyncio.gather(*(room.ask(question(i), spent) for i in range(8)))
    assert [a.rung for a in client.asked].count("json_schema") == 1


async def test_judges_of_one_process_share_what_they_learned_of_one_model() -> None:
    def answer(ask: Ask) -> Any:
        return ModelError("unsupported", "no") if ask.rung == "json_schema" else GOOD

    first, same, other = Client(answer), Client(answer), Client(answer, model="another")
    await asking(first).ask(question(), budget())
    await asking(same).ask(question(), budget())
    await asking(other).ask(question(), budget())
    assert [len(c.asked) for c in (first, same, other)] == [2, 1, 2]


def test_the_memory_of_servers_is_bounded() -> None:
    clients = [Client(lambda _: GOOD, model=str(i)) for i in range(learned.MAX_SERVERS + 1)]
    first = known(clients[0])
    first.rung = 3
    for client in clients[1:]:
        known(client)
    assert known(clients[0]).rung == 0


async def test_the_token_estimate_is_corrected_upward_only() -> None:
    reported = iter([4_000, 500])
    client = Client(lambda _: Reply(text=GOOD, input_tokens=next(reported), output_tokens=1))
    room = asking(client)
    big = question(1, 6_000)  # 2,003 tokens, as estimated
    answer = await room.ask(big, budget())
    assert answer.ratio == pytest.approx(2.0, rel=0.01)
    assert room.learned.correction == pytest.approx(2.0, rel=0.01)
    again = await room.ask(big, budget())
    assert again.usage.planned_tokens == pytest.approx(4_000, rel=0.01)
    assert room.learned.correction == pytest.approx(2.0, rel=0.01)


async def test_short_questions_teach_nothing_about_tokens() -> None:
    client = Client(lambda _: Reply(text=GOOD, input_tokens=400, output_tokens=1))
    room = asking(client)
    await room.ask(question(), budget())
    assert room.learned.correction == 1.0


def test_an_overflow_within_the_stated_limit_means_that_the_estimate_was_low() -> None:
    told = Learned()
    told.overflowed(10_000, 1_000, 16_000)
    assert (told.context, told.correction) == (16_000, 1.5)
    told.overflowed(40_000, 1_000, 16_000)
    assert told.correction == 1.5


@pytest.mark.parametrize(
    ("reported", "estimated", "cut"),
    [(2_048, 20_000, True), (9_000, 20_000, False), (None, 20_000, False), (100, 5_000, False)],
)
def test_a_silent_cut_shows_in_the_usage(reported: int | None, estimated: int, cut: bool) -> None:
    assert was_cut(reported, estimated) is cut


# Failures.


@pytest.mark.parametrize("error", [ValueError("secret words"), KeyError("x"), RecursionError()])
async def test_a_client_that_breaks_is_a_failure_without_its_words(error: Exception) -> None:
    answer = await asking(Client(lambda _: error)).ask(question(), budget())
    assert answer.failure == "provider_error"
    assert type(error).__name__ in answer.problem
    assert "secret" not in answer.problem


async def test_a_client_that_never_comes_back_is_cancelled(monkeypatch: Any) -> None:
    monkeypatch.setattr("mastwatch.judge.asking._GRACE", 0.01)
    client = Client(lambda _: asyncio.sleep(60))
    answer = await asking(client, timeout=0.01, retries=1).ask(question(), budget())
    assert (answer.failure, len(client.asked)) == ("timeout", 2)
    assert answer.usage.estimated
    assert answer.usage.output_tokens == 2 * 6_000  # it may have answered all that: fail closed


async def test_a_server_that_asks_for_an_hour_is_left_alone() -> None:
    client = Client(lambda _: ModelError("rate_limited", "later", retry_after=3_600.0))
    answer = await asyncio.wait_for(asking(client).ask(question(), budget()), 5)
    assert (answer.failure, len(client.asked)) == ("rate_limited", 1)


@pytest.mark.parametrize(
    ("kind", "calls"),
    [("auth", 1), ("bad_request", 1), ("context_overflow", 1), ("rate_limited", 3), ("timeout", 3)],
)
async def test_only_what_can_pass_is_tried_again(kind: Any, calls: int) -> None:
    client = Client(lambda _: ModelError(kind, "no"))
    answer = await asking(client).ask(question(), budget())
    assert answer.failure == ("provider_error" if kind == "bad_request" else kind)
    assert len(client.asked) == answer.usage.calls == calls


class BrokenStore:
    """A store that cannot be used any more."""

    def cached(self, key: str) -> str | None:
        raise StoreError("the disk is full")

    def cache(self, key: str, reply: str) -> None:
        raise StoreError("the disk is full")


async def test_a_broken_cache_costs_no_answer() -> None:
    answer = await asking(Client(lambda _: GOOD), store=BrokenStore()).ask(question(), budget())
    assert answer.parsed is not None


class Kept(dict[str, str]):
    """A cache."""

    def cached(self, key: str) -> str | None:
        return self.get(key)

    def cache(self, key: str, reply: str) -> None:
        self[key] = reply


async def test_an_answer_is_asked_for_once() -> None:
    client, store = Client(lambda _: GOOD), Kept()
    for _ in range(2):
        answer = await asking(client, store=store).ask(question(), budget())
    assert len(client.asked) == 1
    assert (answer.usage.calls, answer.usage.cached_calls) == (0, 1)


async def test_an_answer_that_lacks_a_mode_is_not_kept() -> None:
    half = json.dumps({"modes": {SLUGS[0]: ABSENT}, "task_completed": "no"})
    for first in (half, "All fine."):
        store, left = Kept(), iter([first, half])
        client = Client(lambda _, left=left: next(left))
        answer = await asking(client, store=store).ask(question(), budget())
        assert answer.parsed is not None
        assert answer.parsed.missing == SLUGS[1:]
        assert not store


async def test_a_repair_completes_the_first_answer() -> None:
    halves = [json.dumps({"modes": {slug: ABSENT}, "task_completed": "no"}) for slug in SLUGS]
    left = iter(halves)
    answer = await asking(Client(lambda _: next(left))).ask(question(), budget())
    assert answer.parsed is not None
    assert set(answer.parsed.opinions) == set(SLUGS)
    assert (answer.parsed.missing, answer.problem) == ((), "")


# Pace.


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now = max(self.now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def simulated(work: Callable[[VirtualLoop], Coroutine[Any, Any, Any]]) -> Any:
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(work(loop))
    finally:
        loop.close()


@pytest.mark.parametrize("allows", [1, 3, 6])
def test_the_pace_settles_near_what_the_server_allows(allows: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(pace, "_FIRST_WAIT", 1.0)

    async def work(loop: VirtualLoop) -> tuple[int, int, list[int]]:
        speed = Pace(16, clock=loop.time)
        state = {"now": 0, "refused": 0, "served": 0, "worst": 0}
        seen: list[int] = []

        async def call() -> None:
            attempt = 0
            while True:
                async with speed.slot() as round_:
                    state["now"] += 1
                    busy = state["now"] > allows
                    await asyncio.sleep(0.05 if busy else 1.0)
                    state["now"] -= 1
                if not busy:
                    speed.succeeded()
                    state["served"] += 1
                    seen.append(speed.allowed)
                    return
                state["refused"] += 1
                speed.refused(round_, attempt)
                attempt += 1
                state["worst"] = max(state["worst"], attempt)

        await asyncio.gather(*(call() for _ in range(400)))
        assert state["worst"] <= JudgeSettings().retries  # else verdicts would be lost
        return state["served"], state["refused"], seen[100:]

    served, refused, seen = simulated(work)
    assert served == 400
    assert max(seen) <= allows + 1
    assert sum(seen) / len(seen) >= 0.6 * allows
    assert refused < 0.4 * served


def test_calls_refused_together_halve_the_pace_once() -> None:
    async def work(loop: VirtualLoop) -> int:
        speed = Pace(16, clock=loop.time)
        for _ in range(16):
            speed.refused(0, 0)
        return speed.allowed

    assert simulated(work) == 8


def test_a_wait_the_server_asked_for_is_never_cut_short() -> None:
    async def work(loop: VirtualLoop) -> float:
        speed = Pace(2, clock=loop.time)
        speed.refused(0, 0, retry_after=30.0)
        async with speed.slot():
            return loop.time()

    assert simulated(work) >= 30.0


async def test_one_pace_serves_several_event_loops_at_once() -> None:
    speed = Pace(2)
    now = most = 0
    lock = threading.Lock()

    async def call() -> None:
        nonlocal now, most
        async with speed.slot():
            with lock:
                now += 1
                most = max(most, now)
            await asyncio.sleep(0.002)
            with lock:
                now -= 1

    async def many() -> None:
        await asyncio.gather(*(call() for _ in range(20)))

    threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        await asyncio.sleep(0.005)
    assert (now, most) == (0, 2)


async def test_a_loop_that_went_away_leaves_its_turn_to_others() -> None:
    speed = Pace(1)

    async def waits() -> None:
        async with speed.slot():
            pass

    loop = asyncio.new_event_loop()
    async with speed.slot():
        task = loop.create_task(waits())
        await asyncio.to_thread(loop.run_until_complete, asyncio.sleep(0, loop))
        loop.close()
    assert await asyncio.wait_for(_held(speed), 1) == "held"
    assert speed._running == 0
    task._log_destroy_pending = False  # type: ignore[attr-defined]


async def test_a_cancelled_wait_gives_its_turn_back() -> None:
    speed = Pace(1)
    async with speed.slot():
        tasks = [asyncio.create_task(_held(speed)) for _ in range(5)]
        await asyncio.sleep(0)
        for task in tasks[:4]:
            task.cancel()
    for task in tasks[:4]:  # some had been given their turn in the same step
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await asyncio.wait_for(tasks[4], 1) == "held"
    assert speed._running == 0


async def _held(speed: Pace) -> str:
    async with speed.slot():
        return "held"


async def test_questions_in_a_storm_all_end() -> None:
    client = Client(lambda _: GOOD)

    async def crowded(ask: Ask) -> Any:
        await asyncio.sleep(0.001)
        return ModelError("rate_limited", "busy") if client.now > 3 else GOOD

    client._answer = crowded
    room = asking(client, Pace(12), retries=6)
    spent = budget(per_trace=JudgeSettings().per_trace.__class__(calls=None))
    answers = await asyncio.gather(*(room.ask(question(i), spent) for i in range(60)))
    assert {a.failure for a in answers} == {None}


async def test_a_question_that_is_stopped_holds_neither_a_slot_nor_budget() -> None:
    client = Client(lambda _: asyncio.sleep(60))
    speed = Pace(1)
    room, spent = asking(client, speed), budget()
    task = asyncio.create_task(room.ask(question(), spent))
    while not client.asked:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert speed._running == 0
    taken = spent._accounts[0]._taken
    assert taken.calls == 1  # it may have been made, and is set aside no more
    assert taken.tokens >= 6_000  # nobody knows what it did cost: all it may have
