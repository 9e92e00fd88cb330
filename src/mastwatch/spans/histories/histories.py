"""The runs of bare model calls: opened, told and ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mastwatch import forks
from mastwatch.events import Outcome, RequestMessage
from mastwatch.guard import guard
from mastwatch.spans.histories.desk import Desk, Sorted
from mastwatch.spans.histories.exchange import Exchange
from mastwatch.spans.histories.messages import HistoryMessage, snapshot
from mastwatch.spans.histories.talk import Asked, Row, Talk, Thread
from mastwatch.spans.run import Run
from mastwatch.spans.scope import Scope

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter

HOST_RUN = "custom"
"""Framework of a run that the host opened itself (``mastwatch.run``): its bare calls speak."""


class Histories:
    """The runs of bare model calls. One per Emitter: ``emitter.histories``.

    Args:
        emitter: Opens the runs.
        idle_timeout: Seconds without a call after which a run is over.
    """

    def __init__(self, emitter: Emitter, idle_timeout: float) -> None:
        self._emitter = emitter
        # Before the watch gives the run up: it could not end the span, nor say how it ended.
        self._idle_timeout = 0.9 * idle_timeout
        self._lock = forks.lock()  # protects the desk and all that lies on it
        self._desk = Desk()
        self._late: deque[Callable[[], None]] = deque()
        forks.remake(self)

    def after_fork(self) -> None:
        """The runs that go on are the parent's."""
        self._desk.clear()
        self._late.clear()

    def begin(
        self,
        request: Sequence[RequestMessage],
        *,
        framework: str,
        name: str = "",
        agent: str = "",
        model: str = "",
        provider: str = "",
        conversation_id: str | None = None,
        user_id: str | None = None,
        follows: str = "",
        spans: bool = True,
        scope: Scope | None = None,
    ) -> Exchange:
        """Open a bare model call in the run it belongs to; tell what its request says is new.

        New in a request are results of tools that an answer had asked for, and what a person said
        since. Say what comes of the call on the Exchange that is returned.

        Args:
            request: The whole message list, system prompts included. ``HistoryMessage`` tells of
                tool calls and results; a plain ``RequestMessage`` is enough for text.
            framework: Metric label, should this start a run.
            name: That run's name; the model's by default.
            agent: Who asks, where that is known; else named by system prompt.
            model: The model's name.
            provider: As in ``gen_ai.provider.name``.
            conversation_id: The framework's thread or session id, should this start a run.
            user_id: The host's own id of the user, likewise.
            follows: Id of an earlier answer, or of a conversation, that the provider keeps the
                history of: the request then holds new messages only.
            spans: False where another producer makes the spans.
            scope: The open scope it happens in; ``emitter.current()`` by default. In a run of the
                host's own it joins that run; inside a turn or tool of a framework, or where the
                host says itself what is said, it is a model call and nobody's utterance.
        """
        self._catch_up()
        scope = scope or self._emitter.current()
        host = scope.run if scope is not None else None
        sorted_: Sorted | None = None
        if scope is None or (scope is host and host.framework == HOST_RUN):
            with self._lock:
                sorted_ = self._desk.sort(request, agent, follows, host)
            agent, talk = sorted_.thread.agent, sorted_.thread.talk
            with talk.opening:
                if not talk.lanes:
                    talk.framework = framework
                    talk.add(
                        self._emitter.start_run(
                            name or model or "model",
                            framework=framework,
                            task=sorted_.task,
                            conversation_id=conversation_id,
                            user_id=user_id,
                            prompts={agent: sorted_.prompt} if sorted_.prompt else {},
                            spans=spans,
                        )
                    )
                scope = self._lane(sorted_, framework, spans)
            if not talk.by_hand:
                _tell(sorted_, scope.run)
        call = scope.run.model_call(
            agent=agent or scope.agent,
            model=model,
            provider=provider,
            request=None if follows else snapshot(request),
            parent=scope,
        )
        return Exchange(self, scope.run, call, sorted_.thread if sorted_ is not None else None)

    def _lane(self, sorted_: Sorted, framework: str, spans: bool) -> Run:
        """The run or branch of a thread; what stands beside another thread is a branch."""
        thread = sorted_.thread
        talk = thread.talk
        run, lane = talk.lanes[""], talk.lane(thread.lane)
        if run.finished or not talk.owned:
            return run
        if lane is None or sorted_.beside:
            lane = self._emitter.start_run(
                thread.agent, framework=framework, parent=run, spans=spans
            )
            thread.lane = lane.branch
            talk.add(lane)
        return lane

    def claim(self, call_id: str) -> tuple[Run, Asked] | None:
        """Take over a tool call that a bare answer asked for: you tell of it.

        Args:
            call_id: The provider's id of the call.

        Returns:
            The run or branch to tell it in, who asked and in which row; None where nobody did.
        """
        with self._lock:
            return self._desk.claim(call_id)

    def by_hand(self, run: Run, sender: str = "", text: str = "") -> int | None:
        """Note that the host itself says what is said and done in its run.

        From here on its bare calls are model calls only.

        Args:
            run: The host's.
            sender: Who the host says has spoken.
            text: What it says was said.

        Returns:
            The row of the answer before, if that was told with this text before we knew.
        """
        with self._lock:
            talk = self._desk.talk_of(run)
            first, talk.by_hand = not talk.by_hand, True
            talk.asked.clear()
            said, row, thread = talk.latest or ("", 0, None)
            if sender and text and thread is not None and text == said:
                talk.names[thread.system] = sender
                return row if first else None
            return None

    def came_back(self, thread: Thread, said: HistoryMessage, id: str, row: Row | None) -> None:
        """Note an answer; for Exchange."""
        with self._lock:
            self._desk.answered(thread, said, id, row, self._emitter.clock())

    def came_to_nothing(self, thread: Thread, outcome: Outcome, reason: str) -> None:
        """Note a call without an answer; for Exchange."""
        with self._lock:
            self._desk.failed(thread, (outcome, reason))

    def later(self, tell: Callable[[], None]) -> None:
        """Have something told when the next call is made, at the latest when runs are closed.

        For finalizers: the garbage collector calls them anywhere, in the middle of what this very
        thread does under one of our locks, a sink's or an exporter's.
        """
        self._late.append(tell)

    def _catch_up(self) -> None:
        for _ in range(len(self._late)):
            with guard("histories.late"):
                try:
                    tell = self._late.popleft()
                except IndexError:  # another thread was quicker
                    return
                tell()

    def expire(self) -> None:
        """End the runs that are idle for too long, or too many; called at every run's start."""
        self._catch_up()
        with self._lock:
            talks = self._desk.overdue(self._idle_timeout)
        _finish(talks)

    def close(self, framework: str = "") -> None:
        """End the runs still open; those of one framework only, if it is named."""
        self._catch_up()
        with self._lock:
            talks = self._desk.all(framework)
        _finish(talks)


def _tell(sorted_: Sorted, lane: Run) -> None:
    """Tell what a request says is new; who bears a name of its own is another agent."""
    thread = sorted_.thread
    for message, asked in sorted_.new:
        if asked is not None:
            thread.talk.returned(message, asked)
        else:
            lane.message(
                message.name or "user",
                message.content,
                recipients=(thread.agent,),
                role="user",
                kind="reply" if message.name not in ("", "user") else "human",
            )


def _finish(talks: list[Talk]) -> None:
    for talk in talks:
        with guard("histories.finish"):
            talk.finish()
