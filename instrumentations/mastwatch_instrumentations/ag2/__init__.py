"""AG2 1.x (``import ag2``).

What is seen: every turn of every agent, however it was asked for (``ask``, ``run``, ``resume``,
``reply.ask``, as a tool, as a sub-task, by the hub), with its model calls, tool calls and questions
to a person; every text that goes through a hub in this process, who it is from and for; how each
run and channel ended.

What a run is:

- One ``ask``, ``run`` or ``resume`` outside anything else is a run. It ends with the turn; a block
  of ``run()`` that is left before its turn is over ends it as ``abandoned``.
- A channel of a hub is a run: one conversation, one transcript, whoever takes part and however many
  turns they take in it. It begins with the first text in it, which is its task, and ends when the
  channel is closed or expires, with the hub's reason. A channel that nobody closes (a
  ``conversation`` never closes by itself) stays open until its hub is closed: ``abandoned``.
- What happens inside a turn or a tool is a branch of the run around it: agents as tools, sub-tasks,
  channels that a ``delegate`` opens.
- Several channels or turns that belong together are one run inside ``mastwatch.run``.

What is an utterance: the reply of a turn, a message that calls tools, and each text posted to a
channel otherwise (by the host, a person, the tool ``say``). An agent's reply and the envelope
that carries it to the others are one: it is told as the turn's reply, the envelope is an echo.

What is not seen: turns of ``ag2.live``, tools that the provider runs itself, what goes on in other
processes of a hub's network (an agent's turns there are runs of that process), what a sub-task in
the background says when the turn that started it is over. A tool call that the host's client
carries out returns nothing here.

Where AG2's own tracing is on, a ``TelemetryMiddleware`` of the agent or of the call, a hub with
``tracer_provider=`` or a ``HubTelemetryListener``, Events flow but the spans stay theirs.

Where the host lets mastwatch act (``actions=``): a halted turn ends as AG2's own ``AlertPolicy``
ends it, with a reply that says ``HALTED``; a halted channel is closed, with the reason, and nothing
more is said in it. A nudge is added to what the next model is sent and stands in no history.

Versions: ag2 1.1.2 to 1.2. Nothing to configure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mastwatch.instrumentor import DidNotEnable, Instrumentor

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter
    from mastwatch_instrumentations.ag2.hooks import Hooks

__all__ = ["Ag2Instrumentor"]


class Ag2Instrumentor(Instrumentor):
    """Watches AG2 1.x by giving each turn a middleware, so that older agents are seen too."""

    name: ClassVar[str] = "ag2"
    library: ClassVar[str] = "ag2"
    distributions: ClassVar[tuple[str, ...]] = ("ag2",)
    minimum: ClassVar[dict[str, str]] = {"ag2": "1.1.2"}
    supersedes: ClassVar[tuple[str, ...]] = ("openai",)
    native: ClassVar[bool] = True
    scopes: ClassVar[tuple[str, ...]] = ("opentelemetry.instrumentation.ag2",)

    def __init__(self) -> None:
        self._hooks: Hooks | None = None

    def hooks(self) -> dict[str, bool]:
        """Each patched method, and whether this ag2 has it; the hub's once it is imported."""
        return {} if self._hooks is None else dict(self._hooks.status)

    def install(self, emitter: Emitter) -> None:
        """Patch the classes; the hub's when the app imports ``ag2.network``.

        Raises:
            DidNotEnable: This ag2 lacks what the hooks cannot do without.
        """
        if self._hooks is not None:
            return
        try:
            from mastwatch_instrumentations.ag2.hooks import Hooks
            from mastwatch_instrumentations.ag2.tracker import Tracker
        except ImportError as error:
            raise DidNotEnable(f"this ag2 is not what we know: {error}") from error
        hooks = Hooks(Tracker(emitter))
        hooks.install()
        self._hooks = hooks

    def intervene(self) -> tuple[str, ...]:
        """Nothing to prepare: the hooks in place look for orders."""
        return "halt", "nudge"

    def uninstall(self) -> None:
        """Make the hooks inert and unwrap what is still on top."""
        hooks, self._hooks = self._hooks, None
        if hooks is not None:
            hooks.remove()
