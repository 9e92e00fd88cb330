"""The channels of hubs: each is one conversation, and so one run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from mastwatch import forks
from mastwatch.events import Contract, MessageKind, Outcome
from mastwatch.spans.emit import Emitter, Run, Scope
from mastwatch_instrumentations.ag2.posts import Post

MAX_CHANNELS = 1_024
"""Open channels that are followed; the one silent for longest is let go first."""

MAX_SILENCE = 3_600.0
"""Seconds after which a channel that waits for nobody is let go; as long as the watch waits."""

_ENDLESS_KINDS = ("conversation", "discussion")  # these never close by themselves
_ENDLESS = Contract(source="the channel's ttl", uncapped=True)


class Member(NamedTuple):
    """An agent as its hub knows it."""

    agent_id: str
    name: str


class Channel:
    """What is known of one open channel.

    Args:
        opener: The scope in which it was created.
        at: When it was first seen.
    """

    def __init__(self, opener: Scope | None, at: float) -> None:
        self.opener = opener
        self.touched = at
        self.run: Run | None = None
        self.traced = False
        self.members: WeakKeyDictionary[Any, Member] = WeakKeyDictionary()
        self.prompts: dict[str, str] = {}
        self.names: dict[str, str] = {}  # of the participants, by their id
        self.hub: ref[Any] | None = None
        self.waiting = False  # for a person
        self._replies: dict[str, int] = {}  # hash of what an agent's last turn replied

    def others(self, agent_id: str) -> tuple[str, ...]:
        """Everyone else who takes part."""
        return tuple(name for each, name in self.names.items() if each != agent_id)

    def is_silent(self, now: float) -> bool:
        """Whether nothing was said for too long, though it waits for nobody."""
        return now - self.touched > MAX_SILENCE and not self.waiting

    def expect(self, agent_id: str, text: str, now: float) -> None:
        """Take note of a turn's reply, whose envelope is to follow."""
        self.touched = now
        self._replies[agent_id] = hash(text)

    def turn_begins(self, agent_id: str) -> None:
        """Forget the agent's last reply: its envelope never came."""
        self._replies.pop(agent_id, None)

    def is_echo(self, post: Post) -> bool:
        """Whether an envelope only carries the reply of a turn that was told before."""
        reply = self._replies.get(post.sender_id)
        if reply is None or not (post.answers or hash(post.text) == reply):
            return False
        del self._replies[post.sender_id]
        return True


class Channels:
    """The open channels of all hubs in this process.

    Args:
        emitter: Where everything goes.
    """

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._open: OrderedDict[str, Channel] = OrderedDict()  # the longest silent one first
        self._of_run: dict[Run, Channel] = {}  # those of _open that have a run
        self._lock = forks.lock()  # protects both

    def __len__(self) -> int:
        """How many are followed."""
        with self._lock:
            return len(self._open)

    def seen(self, channel_id: str) -> Channel:
        """Return a channel's record, beginning it where there is none."""
        now = self._emitter.clock()
        with self._lock:
            channel = self._open.pop(channel_id, None)  # to be the last in line
            over = self._take_stale(now)
            if channel is None:
                channel = Channel(self._emitter.current(), now)
            elif channel.is_silent(now):
                over.append(self._take_run(channel))
            channel.touched = now
            self._open[channel_id] = channel
        _finish(over, "unknown", "silent for too long")
        return channel

    def _take_stale(self, now: float) -> list[Run | None]:
        taken = []
        while self._open:
            channel_id, oldest = next(iter(self._open.items()))
            if len(self._open) < MAX_CHANNELS and not oldest.is_silent(now):
                break
            taken.append(self._take(channel_id))
        return taken

    def _take(self, channel_id: str) -> Run | None:
        channel = self._open.pop(channel_id, None)
        return None if channel is None else self._take_run(channel)

    def _take_run(self, channel: Channel) -> Run | None:
        run, channel.run = channel.run, None
        if run is not None:
            self._of_run.pop(run, None)
        return run

    def of(self, scope: Scope | None) -> Channel | None:
        """Return the channel whose run a scope is."""
        with self._lock:
            return self._of_run.get(scope) if isinstance(scope, Run) else None

    def run_of(self, channel_id: str) -> Run | None:
        """Return the run of a channel, if it has begun and is not over."""
        with self._lock:
            channel = self._open.get(channel_id)
        run = channel.run if channel is not None else None
        return run if run is not None and not run.finished else None

    def joined(self, channel_id: str, agent: Any, member: Member, traced: bool) -> None:
        """Take note of an agent that gets what is posted to an open channel."""
        with self._lock:
            channel = self._open.get(channel_id)
        if channel is None:  # it was closed meanwhile
            return
        channel.members[agent] = member
        channel.traced = channel.traced or traced
        prompt = "\n".join(agent.system_prompt)
        if prompt:
            channel.prompts[member.name] = prompt

    def posted(self, hub: Any, post: Post, metadata: Any, traced: bool) -> None:
        """Tell what was posted to a channel."""
        channel = self.seen(metadata.channel_id)
        channel.hub = ref(hub)
        ids = [participant.agent_id for participant in metadata.participants]
        channel.names = {each: hub.name_for(each) for each in ids}
        if post.text and not channel.is_echo(post):
            self._say(channel, post, metadata, traced)
        run = channel.run
        if run is None or run.finished:
            return
        if post.next_id:
            run.handed_off(hub.name_for(post.sender_id), hub.name_for(post.next_id))
        to = post.to(ids)
        channel.waiting = bool(to) and all(each in post.people for each in to)
        if channel.waiting:
            run.human_asked(channel.names.get(to[0], ""))

    def _say(self, channel: Channel, post: Post, metadata: Any, traced: bool) -> None:
        run = channel.run
        opening = run is None
        if run is None or run.finished:
            run = self._start(channel, post, metadata, traced)
        human = post.sender_id in post.people
        kind: MessageKind = "human" if human else "opener" if opening else "reply"
        names = channel.names
        run.message(
            names.get(post.sender_id, post.sender_id),
            post.text,
            recipients=[names.get(each, each) for each in post.to(list(names))],
            role="assistant" if kind == "reply" else "user",
            kind=kind,
            id=post.id,
        )

    def _start(self, channel: Channel, post: Post, metadata: Any, traced: bool) -> Run:
        kind = str(metadata.manifest.type)
        people = any(each in post.people for each in channel.names)
        opener, channel.opener = channel.opener, None
        run = self._emitter.start_run(
            f"{kind} {'/'.join(channel.names.values())}",
            framework="ag2",
            task=post.text,
            conversation_id=metadata.channel_id,
            prompts=channel.prompts,
            # A person who takes part can end it at any time.
            contract=_ENDLESS if kind in _ENDLESS_KINDS and not people else Contract(),
            parent=opener if opener is not None and not opener.run.finished else None,
            spans=not (traced or channel.traced),
        )
        with self._lock:
            self._take_run(channel)  # one that is over with the run around it
            channel.run = run
            self._of_run[run] = channel
        return run

    def ended(self, channel_id: str, reason: str, expired: bool) -> None:
        """End the run of a channel that was closed or has expired."""
        with self._lock:
            run = self._take(channel_id)
        limit = expired or reason == "max_turns" or reason.startswith("expectation_violated")
        _finish([run], "limit" if limit else "completed", reason)

    def hub_closed(self, hub: Any) -> None:
        """End the runs of channels that a closed hub leaves open."""
        with self._lock:
            left = [
                self._take(channel_id)
                for channel_id, channel in list(self._open.items())
                if channel.hub is not None and channel.hub() is hub
            ]
        _finish(left, "abandoned", "the hub was closed before the channel")

    def clear(self) -> None:
        """Forget everything; what is open ends as unknown."""
        with self._lock:
            left = [self._take(channel_id) for channel_id in list(self._open)]
        _finish(left, "unknown", "no longer watched")


def _finish(runs: Iterable[Run | None], outcome: Outcome, reason: str) -> None:
    for run in runs:
        if run is not None:
            run.finish(outcome, reason)
