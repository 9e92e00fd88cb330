"""Which thread a request goes on with: by what its history, its tool results or its texts are."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mastwatch.spans.histories.messages import HistoryMessage, digests
from mastwatch.spans.histories.quotes import Quotes
from mastwatch.spans.histories.talk import Talk, Thread

MAX_POINTS = 8_192
MAX_ALIKE = 8
"""Threads that stood at one point, or stand there: beyond, those that went on make room."""
MAX_STANDING = 256
"""Threads kept that stand at one point: users who all say hello."""
MAX_LINKS = 4_096
LOOKED_AT = 8
"""Latest messages of a request in which answers of others are looked for."""


class Place(NamedTuple):
    """Where a request belongs.

    Attributes:
        thread: The thread it goes on with, or has to do with.
        known: How many of its messages are old.
        how: It goes ``on`` with the thread; it goes back behind what came since, or is made at the
            same time, and so stands ``beside`` it; or another agent ``joins`` in.
    """

    thread: Thread
    known: int
    how: Literal["on", "beside", "joins"] = "on"


class _Said(NamedTuple):
    number: int
    thread: Thread
    point: int
    hearers: set[int]  # system prompts that were sent this answer


class Index:
    """The ways to find a thread; bounded, entries of ended runs fall out by age. Not locked."""

    def __init__(self) -> None:
        # With each thread, how many answers it had there.
        self._points: OrderedDict[int, list[tuple[Thread, int]]] = OrderedDict()
        # With each thread, how many answers it had, if that matters. None: of several threads.
        self._links: OrderedDict[str, tuple[Thread, int | None] | None] = OrderedDict()
        self._quotes: Quotes[_Said] = Quotes()
        self._numbers = itertools.count()

    def clear(self) -> None:
        """Forget everything."""
        self._points.clear()
        self._links.clear()
        self._quotes.clear()

    def stands(self, thread: Thread, point: int) -> None:
        """Note where a thread has come to."""
        thread.point = point
        alike = self._points.setdefault(point, [])
        if len(alike) >= MAX_ALIKE and len(alike).bit_count() == 1:  # it has doubled
            open_ = [entry for entry in alike if entry[0].talk.open]
            went_on = [entry for entry in open_ if entry[0].point != point and entry[1]]
            standing = [entry for entry in open_ if entry[0].point == point]
            alike[:] = went_on[-1:] + standing[-MAX_STANDING:]
        alike.append((thread, thread.answers))
        self._points.move_to_end(point)
        while len(self._points) > MAX_POINTS:
            self._points.popitem(last=False)

    def strays(self, thread: Thread) -> None:
        """Note that a thread's history is not known: it is kept elsewhere, or withheld."""
        thread.point = hash(("stray", next(self._numbers)))

    def link(self, thread: Thread, key: str | None, here: bool = False) -> None:
        """Note an id that a later request will name; one that several threads use is worthless.

        Args:
            thread: Where it leads.
            key: The id.
            here: It names this very point of the thread, not the thread as it grows.
        """
        if not key:
            return
        other = self._links.pop(key, (thread, None))
        ambiguous = other is None or (other[0] is not thread and other[0].talk.open)
        self._links[key] = None if ambiguous else (thread, thread.answers if here else None)
        while len(self._links) > MAX_LINKS:
            self._links.popitem(last=False)

    def said(self, thread: Thread, text: str) -> None:
        """Note an answer that may be handed to another agent."""
        self._quotes.add(text, _Said(next(self._numbers), thread, thread.point, {thread.system}))

    def linked(self, key: str, within: Talk | None) -> Place | None:
        """Find the thread by an id that the request names: all of its messages are new."""
        thread, answers = self._links.get(key) or (None, None)
        if thread is None or not _may_join(thread, within):
            return None
        left = thread.busy or (answers is not None and answers != thread.answers)
        return Place(thread, 0, "beside" if left else "on")

    def followed(
        self, messages: Sequence[HistoryMessage], system: int, within: Talk | None
    ) -> Place | None:
        """Find the thread whose history the request extends, by as few new messages as can be."""
        points = digests(0, messages)
        beside: Place | None = None
        for known in range(len(points), 0, -1):
            if beside is not None and messages[known].role == "assistant":
                break  # what ends before that answer is another conversation
            point = points[known - 1]
            there = [entry for entry in self._points.get(point, ()) if _may_join(entry[0], within)]
            ends = [
                thread
                for thread, answers in there
                if thread.point == point
                and not thread.busy
                # A first request that failed is asked again by the same agent only.
                and (answers or thread.system == system)
            ]
            if ends:
                return Place(next((t for t in ends if t.system == system), ends[0]), known)
            # A first request that was answered may as well be another one of equal words.
            left = [thread for thread, answers in there if answers]
            if left and beside is None:
                beside = Place(left[-1], known, "beside")
        return beside

    def answered(self, messages: Sequence[HistoryMessage], within: Talk | None) -> Place | None:
        """Find the thread that asked for a tool whose result the request holds."""
        for position in range(len(messages) - 1, -1, -1):
            thread = self.asked_in(messages[position].call_id)
            if thread is not None and not thread.busy and _may_join(thread, within):
                return Place(thread, _first_result(messages, position))
        return None

    def asked_in(self, call_id: str | None) -> Thread | None:
        """Find the thread in which a tool call was asked for."""
        thread, _ = (self._links.get(key_of_call(call_id)) if call_id else None) or (None, None)
        return thread

    def quoted(
        self, messages: Sequence[HistoryMessage], system: int, within: Talk | None
    ) -> Place | None:
        """Find the thread whose answer the request quotes in its latest messages."""
        latest: _Said | None = None
        for position in range(len(messages) - 1, max(-1, len(messages) - 1 - LOOKED_AT), -1):
            for said in self._said_in(messages[position], system, within):
                thread = said.thread
                if thread.system == system and thread.point == said.point and not thread.busy:
                    return Place(thread, position + 1)
                if latest is None or said.number > latest.number:
                    latest = said
        if latest is None:
            return None
        again = system in latest.hearers
        latest.hearers.add(system)
        return Place(latest.thread, len(messages), "beside" if again else "joins")

    def _said_in(self, message: HistoryMessage, system: int, within: Talk | None) -> list[_Said]:
        if message.role == "tool" or not message.content:
            return []
        known = []
        for marks in self._quotes.find(message.content):
            found = [said for said in marks if _may_join(said.thread, within)]
            talks = {id(said.thread.talk) for said in found}
            # What several runs say ties a text to none of them, but where they are the same from
            # their beginning: then any will do, best one whose answer nobody took up yet.
            if len(talks) == 1 or len({said.point for said in found}) == 1:
                unheard = [said for said in found if system not in said.hearers]
                known.append((unheard or found)[-1])
        return known

    def quotes(self, text: str, talk: Talk) -> bool:
        """Whether a text holds an answer that was given in this run."""
        return any(said.thread.talk is talk for marks in self._quotes.find(text) for said in marks)


def key_of_call(call_id: str) -> str:
    """Key of a tool call among the links."""
    return f"call {call_id}"


def _may_join(thread: Thread, within: Talk | None) -> bool:
    talk = thread.talk
    return talk.open and (talk is within if within is not None else talk.owned)


def _first_result(messages: Sequence[HistoryMessage], position: int) -> int:
    while position > 0 and messages[position - 1].role == "tool":
        position -= 1
    return position
