"""Where requests are sorted: the threads of all runs of bare calls. Not locked."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from mastwatch.events import Outcome, RequestMessage
from mastwatch.spans.histories.index import Index, Place, key_of_call
from mastwatch.spans.histories.messages import (
    HistoryMessage,
    digests,
    history,
    identity,
    step,
    system_prompt,
)
from mastwatch.spans.histories.talk import NO_CALL, Asked, Row, Talk, Thread
from mastwatch.spans.run import Run

MAX_OPEN = 256
"""Runs of bare calls at once; the longest idle one ends to make room."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """A request, where it belongs, and what it tells that was not known."""

    thread: Thread
    place: Place | None
    messages: list[HistoryMessage]
    prompt: str
    new: list[tuple[HistoryMessage, Asked | None]]

    @property
    def beside(self) -> bool:
        """Whether it stands beside what came since, in a branch."""
        return self.place is not None and self.place.how == "beside"

    @property
    def task(self) -> str | None:
        """What it asks for: the first words of a person after the latest answer in it.

        What stands before an answer are examples, or a conversation of which nothing was seen.
        """
        task: str | None = None
        for message in reversed(self.messages):
            if message.role == "assistant" and task is not None:
                break
            if message.role == "user" and message.content:
                task = message.content
        return task


class Desk:
    """The runs of bare calls under way, and the ways to find them."""

    def __init__(self) -> None:
        self._index = Index()
        self._open: OrderedDict[Talk, None] = OrderedDict()  # ours, longest idle first
        self._hosts: OrderedDict[Run, Talk] = OrderedDict()

    def clear(self) -> None:
        """Forget everything."""
        self._index.clear()
        self._open.clear()
        self._hosts.clear()

    def sort(
        self, request: Sequence[RequestMessage], agent: str, follows: str, host: Run | None
    ) -> Sorted:
        """Find the thread of a request, or make one; it is busy from here on."""
        messages = history(request)
        prompt, named = system_prompt(request)
        system = identity(prompt)
        within = self.talk_of(host) if host is not None else None
        place = self._place(messages, system, follows, within)
        thread = self._thread(place, within)
        thread.busy = True
        thread.request = messages
        thread.system = system
        self._touch(thread.talk)
        thread.talk.waiting += 1
        name = agent or named
        if prompt or name or not thread.agent:  # else it goes on without saying its prompt again
            thread.agent = thread.talk.name_of(system, name)
        new = self._new(messages, len(messages) if place is None else place.known, thread.talk)
        self._advance(thread, messages, follows, place is None)
        return Sorted(thread, place, messages, prompt, new)

    def talk_of(self, run: Run) -> Talk:
        """What is known of a run of the host's own."""
        talk = self._hosts.get(run)
        if talk is None:
            talk = self._hosts[run] = Talk(owned=False, framework=run.framework)
            talk.add(run)
            while len(self._hosts) > MAX_OPEN:
                self._hosts.popitem(last=False)[1].finish()
        return talk

    def _place(
        self, messages: list[HistoryMessage], system: int, follows: str, within: Talk | None
    ) -> Place | None:
        index = self._index
        if follows:
            return index.linked(follows, within)
        return (
            index.followed(messages, system, within)
            or index.answered(messages, within)
            or index.quoted(messages, system, within)
        )

    def _thread(self, place: Place | None, within: Talk | None) -> Thread:
        if place is None:
            return Thread(within or Talk())
        if place.how == "on":
            return place.thread
        return Thread(place.thread.talk, place.thread.lane, agent=place.thread.agent)

    def _touch(self, talk: Talk) -> None:
        talk.touched = time.monotonic()
        if talk.owned and not talk.over:
            self._open[talk] = None
            self._open.move_to_end(talk)

    def _new(
        self, messages: list[HistoryMessage], known: int, talk: Talk
    ) -> list[tuple[HistoryMessage, Asked | None]]:
        """What nobody knew: results of tools that were asked for, and what people said.

        Who says the same again ("Go on.") is a program, whose words are no utterance.
        """
        new: list[tuple[HistoryMessage, Asked | None]] = []
        for position, message in enumerate(messages):
            if message.role == "tool":
                asked = talk.asked.pop(message.call_id or "", None) if position >= known else None
                if asked is not None:
                    new.append((message, asked))
            elif message.role == "user" and message.content:
                first = talk.hears(message.content)
                if first and position >= known and self._says_something(message, talk):
                    new.append((message, None))
        return new

    def _says_something(self, message: HistoryMessage, talk: Talk) -> bool:
        """Whether a user's message is more than an agent's text handed on: that has its row."""
        text = message.content or ""
        return message.name not in talk.names.values() and not self._index.quotes(text, talk)

    def _advance(
        self, thread: Thread, messages: list[HistoryMessage], follows: str, first: bool
    ) -> None:
        """Move a thread to the end of its request."""
        points = [] if follows else digests(0, messages)
        if points and len(points) == len(messages):
            self._index.stands(thread, points[-1])
        else:
            self._index.strays(thread)
        if first:
            self._index.link(thread, follows)

    def answered(
        self, thread: Thread, said: HistoryMessage, id: str, row: Row | None, now: float
    ) -> None:
        """Note what a model said in a thread, and in which row, if it has one."""
        # A form or an example that it was given, and many others are: that ties nothing together.
        given = any(said.content and said.content in (m.content or "") for m in thread.request)
        self._settle(thread)
        thread.answers += 1
        talk = thread.talk
        if not talk.owned and row is not None:
            talk.latest = (said.content or "", row.index, thread)
        talk.ending = ("completed", NO_CALL)
        if said.tool_calls:
            talk.ending = ("unknown", "no results of the tools that were asked for")
        point = step(thread.point, said)
        if point is None:
            self._index.strays(thread)
        else:
            self._index.stands(thread, point)
        self._index.link(thread, id, here=True)
        for call in said.tool_calls:
            if call.call_id:
                self._index.link(thread, key_of_call(call.call_id))
                if row is not None:
                    talk.ask(call.call_id, Asked(row, call.name, call.arguments, now))
        if said.content and not given:
            self._index.said(thread, said.content)

    def failed(self, thread: Thread, ending: tuple[Outcome, str]) -> None:
        """Note a call without an answer."""
        self._settle(thread)
        thread.talk.ending = ending

    def _settle(self, thread: Thread) -> None:
        thread.busy = False
        thread.request = ()
        thread.talk.waiting -= 1
        self._touch(thread.talk)

    def claim(self, call_id: str) -> tuple[Run, Asked] | None:
        """Take a tool call that an answer asked for, and the run or branch it was asked in."""
        thread = self._index.asked_in(call_id)
        if thread is None or call_id not in thread.talk.asked:
            return None
        asked = thread.talk.asked.pop(call_id)
        lane = thread.talk.lane(asked.row.lane)
        return (lane, asked) if lane is not None else None

    def overdue(self, idle_timeout: float) -> list[Talk]:
        """Take out the runs of ours that are idle for too long, or too many."""
        deadline = time.monotonic() - idle_timeout
        found: list[Talk] = []
        for talk in self._open:
            crowded = len(self._open) - len(found) > MAX_OPEN
            if not crowded and talk.touched > deadline:
                break
            if talk.lanes and (talk.touched <= deadline or not talk.waiting):
                found.append(talk)
        return self._take(found)

    def all(self, framework: str) -> list[Talk]:
        """Take out all runs of ours; those of one framework only, if it is named."""
        return self._take([t for t in self._open if framework in ("", t.framework)])

    def _take(self, talks: list[Talk]) -> list[Talk]:
        for talk in talks:
            talk.over = True
            del self._open[talk]
        return talks
