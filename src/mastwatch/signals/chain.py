"""One series of model requests that should follow on from one another, told by digests alone."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from mastwatch.events import RequestMessage
from mastwatch.signals.facts import RequestChange
from mastwatch.signals.phrases import SUMMARY

RING = 24
"""Digests of a request's end that are kept."""
FIRST = 4
"""Messages that identify a request's beginning."""
SUMMARY_CHARS = 400
"""A new message of this length where others left is taken for their summary."""

_ABOUT = 1.25


class Chain:
    """What is kept of the requests so far; system prompts are left out everywhere.

    Attributes:
        n: Messages of the latest request.
        last: Digest of its last message.
    """

    __slots__ = (
        "_doubtful",
        "_ends_own",
        "_first",
        "_first_tokens",
        "_grown",
        "_initial",
        "_prefix",
        "_ring",
        "_task",
        "_tokens",
        "last",
        "n",
    )

    def __init__(self) -> None:
        self.n = 0
        self.last = 0
        self._initial = 0  # messages of the first request
        self._first = array("q")
        self._task = 0
        self._prefix = 0  # digest of all messages of the latest request
        self._ring = array("q")
        self._grown = 0  # the most messages since the start or the last reset
        self._tokens = 0  # the most
        self._first_tokens = 0
        self._ends_own = False  # the latest request ends with words of the agent itself
        self._doubtful = False  # it had lost the task, or a window had begun to slide

    def branch(self) -> Chain:
        """A chain of its own that goes on from the latest request as if it were the first."""
        other = Chain()
        other.n = other._initial = other._grown = self.n
        other._first, other._prefix, other.last = self._first, self._prefix, self.last
        other._task, other._ring, other._ends_own = self._task, self._ring, self._ends_own
        return other

    def extended_by(self, hashes: list[int]) -> bool:
        """Whether a request begins with all of the latest one."""
        return 0 < self.n <= len(hashes) and hash(tuple(hashes[: self.n])) == self._prefix

    def add(self, hashes: list[int], messages: Sequence[RequestMessage]) -> RequestChange:
        """Take in a request; say how it follows from the one before."""
        if len(hashes) == self.n and self.extended_by(hashes):
            return "append"  # the same again: a retry, or a log that is written twice
        change = self._classify(hashes, messages)
        self._keep(hashes, messages, change)
        return change

    def begin(self, hashes: list[int], messages: Sequence[RequestMessage]) -> None:
        """Take in a request as the first one."""
        self._keep(hashes, messages, "first")

    def add_size(self, n: int, tokens: int | None) -> RequestChange:
        """Take in a request of which only its length is known."""
        change: RequestChange = "append" if self.n else "first"
        if not self.n:
            self._initial, self._first_tokens = n, tokens or 0
        elif n <= self._initial + 1 < self._grown and self._cheaper(tokens or 0):
            change, self._grown, self._tokens = "shrunk", 0, 0
        self.n = n
        self._grown = max(self._grown, n)
        self._tokens = max(self._tokens, tokens or 0)
        return change

    def _cheaper(self, tokens: int) -> bool:
        """Whether tokens do not belie that a request shrank: about those of the first, or half."""
        return tokens <= max(_ABOUT * self._first_tokens, self._tokens / 2)

    def add_tokens(self, tokens: int) -> RequestChange:
        """Take in a request of which only its tokens are known."""
        change: RequestChange = "append" if self._tokens else "first"
        if tokens < self._tokens / 2 and self.n >= 3:
            change, self._tokens, self.n = "shrunk", 0, 0
        self.n += 1
        self._tokens = max(self._tokens, tokens)
        return change

    def _classify(self, hashes: list[int], messages: Sequence[RequestMessage]) -> RequestChange:
        if not self.n:
            return "first"
        n = len(hashes)
        if self.extended_by(hashes):
            # A window that slid by one message slides again at the next one; this did not.
            return "task_lost" if self._doubtful else "append"
        old = {*self._ring, *self._first}
        fresh = [m for h, m in zip(hashes, messages, strict=True) if h not in old]
        if len(fresh) == n:
            return "fresh"
        if n < self.n and any(map(_summarises, fresh)):
            return "compaction"
        same_start = hashes[: len(self._first)] == self._first[:n].tolist()
        if same_start and n <= self._initial + 1 and self._fell_back(n, not fresh):
            return "reset"
        if self._task and self._task not in hashes:
            return "task_lost" if n < self._grown and self._only_task_went(hashes) else "trim"
        if n < self.n:
            return "trim"
        return "tail_rewrite" if same_start else "fresh"

    def _fell_back(self, n: int, nothing_new: bool) -> bool:
        """Whether a short request that begins like the first one has lost what came between."""
        if self._grown > self._initial + 1 or (nothing_new and n < self._initial):
            return True
        # Where it had grown by one message only that may have been a retry's, but not its own.
        return nothing_new and n == self._initial < self.n and self._ends_own

    def _only_task_went(self, hashes: list[int]) -> bool:
        """Whether all that stood behind the task moved up by one; counts would not do.

        In a window that slides over "go on" and "go on" hardly any message is new.
        """
        end = self.n - 1
        behind = self._ring.tolist()[-end:] if end else []
        return hashes[end - len(behind) : end] == behind

    def _keep(
        self, hashes: list[int], messages: Sequence[RequestMessage], change: RequestChange
    ) -> None:
        if change in ("first", "fresh"):
            # Where messages stayed a window has slid on: what stands first now is not the task.
            slid = bool(self.n) and not {*self._ring}.isdisjoint(hashes)
            self._initial = len(hashes)
            self._first = array("q", hashes[:FIRST])
            self._task = hashes[0] if hashes and not slid else 0
            self._grown = 0
        elif change == "reset":
            self._grown = 0
        self._doubtful = False
        if self._task and self._task not in hashes:
            self._doubtful = change == "trim" and self._only_task_went(hashes)
            self._task = 0  # said once; and what slid out of the window is not lost again
        self.n = len(hashes)
        self._grown = max(self._grown, self.n)
        self._prefix = hash(tuple(hashes))
        self._ring = array("q", hashes[-RING:])
        self.last = hashes[-1] if hashes else 0
        self._ends_own = bool(messages) and messages[-1].role == "assistant"


def _summarises(message: RequestMessage) -> bool:
    content = (message.content or "")[: 4 * SUMMARY_CHARS].casefold()
    return len(content) >= SUMMARY_CHARS or SUMMARY.within(content)
