"""How many calls at once: slowly more while they succeed, half as many when the server is busy.

Additive increase, multiplicative decrease, as in TCP: it settles just below what a server allows,
without anybody having to know that number.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_STEP = 0.25
"""Calls at once more, after as many successes as calls are allowed at once.

TCP's 1 is too much here: where a server allows one call, simulated, a call is refused up to ten
times before it gets through, and would be given up; with 0.25 three times.
"""


class Pace:
    """Shared by all calls to one server, from any event loop and thread.

    Args:
        most: Calls at once, at most.
        clock: Monotonic seconds.
        sleep: Waits; tests give their own.
    """

    def __init__(
        self,
        most: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._most = max(1, most)
        self._allowed = float(self._most)
        self._running = 0
        self._round = 0
        self._not_before = 0.0
        self._clock = clock
        self._sleep = sleep
        # A lock and futures, not asyncio.Condition: that would tie us to the first event loop.
        self._lock = threading.Lock()  # protects all of the above but the clock, and _waiting
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def allowed(self) -> int:
        """Calls at once, at present."""
        return max(1, int(self._allowed))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for one's turn and hold it; gives the round, to be told to ``refused``."""
        await self._enter()
        try:
            while (wait := self._not_before - self._clock()) > 0:
                await self._sleep(wait)
            yield self._round
        finally:
            self._leave()

    def succeeded(self) -> None:
        """A call came back well."""
        with self._lock:
            self._allowed = min(self._most, self._allowed + _STEP / self._allowed)
            self._wake()

    def refused(self, round_: int, attempt: int, retry_after: float | None = None) -> float:
        """A call was refused for now: slow down.

        Args:
            round_: As its slot gave it. Calls of one round that are refused together halve the
                pace once, however many they are.
            attempt: 0 for the first refusal of this call.
            retry_after: Seconds the server asked for; waits are never shorter.

        Returns:
            Seconds that all calls now wait.
        """
        backoff = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0**attempt) * random.uniform(0.5, 1.0)
        wait: float = max(backoff, retry_after or 0.0)
        with self._lock:
            if round_ == self._round:
                self._round += 1
                self._allowed = max(1.0, self._allowed / 2)
            self._not_before = max(self._not_before, self._clock() + wait)
        return wait

    async def _enter(self) -> None:
        with self._lock:
            if self._running < self.allowed and not self._waiting:
                self._running += 1
                return
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                    raise
            self._leave()  # the turn had come at the same moment: pass it on
            raise

    def _leave(self) -> None:
        with self._lock:
            self._running -= 1
            self._wake()

    def _wake(self) -> None:
        """Give free slots to those who wait; holds the lock."""
        while self._waiting and self._running < self.allowed:
            turn = self._waiting.popleft()
            try:
                turn.get_loop().call_soon_threadsafe(_give, turn)
            except RuntimeError:  # its loop is closed, so nobody waits there any more
                continue
            self._running += 1


def _give(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # else it was cancelled, and its task passes the slot on
        turn.set_result(None)
