"""What is patched, and what each patch does."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterable
from typing import Any

from ag2.agent import Agent, AgentRun

from mastwatch._imports import ImportHook
from mastwatch.guard import guard
from mastwatch.instrumentor import DidNotEnable
from mastwatch.spans.emit import Run
from mastwatch_instrumentations._patch import Call, Patches, after_async, around_async
from mastwatch_instrumentations.ag2 import posts
from mastwatch_instrumentations.ag2.channels import Member
from mastwatch_instrumentations.ag2.tracker import Tracker
from mastwatch_instrumentations.ag2.turns import WatcherFactory

_NETWORK = "ag2.network"
_TELEMETRY = "ag2.middleware.builtin.telemetry"
_HUB_TELEMETRY = "ag2.network.hub.telemetry"


class Hooks:
    """The patches of one installation.

    Args:
        tracker: Knows the turns and channels.
    """

    def __init__(self, tracker: Tracker) -> None:
        self.status: dict[str, bool] = {}
        self._tracker = tracker
        self._patches = Patches()
        self._late = ImportHook()

    def install(self) -> None:
        """Put the patches in place; the hub's as soon as the app has it.

        Raises:
            DidNotEnable: There is no way to give a turn a middleware.
        """
        scope = getattr(Agent, "_drive_scope", None)
        if scope is None or "additional_middleware" not in inspect.signature(scope).parameters:
            raise DidNotEnable("ag2.Agent._drive_scope takes no additional_middleware")
        self._wrap(Agent, "_drive_scope", self._turn_scope)
        self._wrap(AgentRun, "__aexit__", around_async("ag2.leave", self._leaving))
        self._late.when_imported(_NETWORK, self._install_network)

    def _install_network(self) -> None:
        network = sys.modules[_NETWORK]
        hub, client = getattr(network, "Hub", None), getattr(network, "AgentClient", None)
        self._wrap(hub, "_fan_out", self._fan_out)
        self._wrap(hub, "close", after_async("ag2.hub", self._hub_closed))
        self._wrap(client, "receive", around_async("ag2.deliver", self._deliver))

    def _wrap(self, owner: Any, name: str, hook: Any) -> None:
        found = owner is not None and self._patches.wrap(owner, name, hook)
        self.status[f"{getattr(owner, '__name__', 'network')}.{name}"] = found

    def remove(self) -> None:
        """Take the patches back."""
        with guard("ag2.uninstall"):
            self._late.remove()
        self._patches.undo()
        self._tracker.channels.clear()

    # Turns

    def _turn_scope(
        self, call: Call, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Give a turn our middleware, the innermost: it sees what the model is really sent."""
        with guard("ag2.scope"):
            given = tuple(kwargs.get("additional_middleware", ()))
            traced = _traced(agent, given)
            ours = WatcherFactory(self._tracker, agent, traced)
            kwargs = {**kwargs, "additional_middleware": (*given, ours)}
        return call(*args, **kwargs)

    def _leaving(self, run: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note that a block of ``run()`` is left; AG2 cancels the turn if it is not over."""
        turn = self._tracker.turns.get(run.stream.id)
        cancelled = args and args[0] is not None and issubclass(args[0], asyncio.CancelledError)
        if turn is not None and not cancelled:
            turn.left = True

    # Hubs

    async def _fan_out(
        self, call: Call, hub: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """See what a hub tells its listeners, before them."""
        with guard("ag2.hub"):
            if not self._tracker.emitter.suppressed():
                self._told(hub, *args)
        return await call(*args, **kwargs)

    def _told(self, hub: Any, what: str, *about: Any) -> None:
        channels = self._tracker.channels
        if what == "on_envelope_posted":
            envelope, metadata = about
            post = posts.read(hub, envelope, metadata)
            if post is not None:
                channels.posted(hub, post, metadata, _hub_traces(hub))
        elif what == "on_channel_event":
            channel_id, kind, payload = about
            if kind == "created":
                channels.seen(channel_id)
            elif kind in ("closed", "expired"):
                channels.ended(channel_id, str(payload.get("reason") or kind), kind == "expired")

    def _hub_closed(
        self, hub: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        self._tracker.channels.hub_closed(hub)

    def _deliver(
        self, client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Delivery | None:
        """Bring an agent's handler, wherever its loop was started, into the channel's run."""
        envelope = args[0] if args else kwargs["envelope"]
        channels, agent = self._tracker.channels, client.agent
        member = Member(client.agent_id, client.passport.name)
        channels.joined(envelope.channel_id, agent, member, _traced(agent))
        run = channels.run_of(envelope.channel_id)
        return Delivery(run) if run is not None else None


class Delivery:
    """The frame in which an envelope is handed to an agent: nothing of it is an event."""

    def __init__(self, run: Run) -> None:
        self.attached = run.attached

    def done(self, result: Any) -> None:
        """Nothing to record."""

    def failed(self, error: BaseException) -> None:
        """Nothing to record: the turn tells of it."""


def _traced(agent: Any, given: Iterable[Any] = ()) -> bool:
    """Whether AG2's own middleware, the agent's or one given for the turn, makes the spans."""
    kind = getattr(sys.modules.get(_TELEMETRY), "TelemetryMiddleware", None)
    present = (*getattr(agent, "_middleware", ()), *given)
    return kind is not None and any(isinstance(each, kind) for each in present)


def _hub_traces(hub: Any) -> bool:
    """Whether a hub makes spans of its own."""
    if getattr(hub, "_envelope_tracer", None) is not None:
        return True
    kind = getattr(sys.modules.get(_HUB_TELEMETRY), "HubTelemetryListener", None)
    listeners = getattr(hub, "_listeners", ())
    return kind is not None and any(isinstance(each, kind) for each in listeners)
