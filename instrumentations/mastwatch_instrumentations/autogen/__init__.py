"""AG2 and AutoGen classic (``import autogen``).

What is seen: every chat started with ``initiate_chat`` or ``a_initiate_chat`` and all that leads
there (``run``, ``run_iter``, ``initiate_chats``, group chats, patterns, nested chats), and every
``generate_reply`` called directly. A chat is a run; a chat inside a turn, a tool or another group
chat is a branch of the run around it. Within a chat: messages, turns, model calls, tool calls,
hand-offs, human input, cleared histories and the reason of the end.

What is not seen: messages sent with ``agent.send`` outside any chat (the replies to them are, each
as a run of its own), and what agents that are no ConversableAgents say to each other.

What is no utterance: a manager's forwarding of messages to its members, introductions, the hidden
chats of speaker selection, messages that only carry tool results, old messages that
``GroupChatManager.resume`` plays back, the opener of a nested chat that repeats the outer chat,
what an agent tells itself in the middle of a turn.

Where AG2's own tracing (``autogen.opentelemetry``) is on for one of a chat's agents, or
OpenInference has instrumented AG2, Events flow but the spans stay theirs.

Where the host lets mastwatch act (``actions=``): a halted chat ends as one whose agent gives no
reply, and returns its transcript; a nudge is added to what the next model is sent, signed
``mastwatch``, and stands in no agent's history.

Versions: autogen 0.14, ag2 0.9 to 0.14, pyautogen 0.9. Nothing to configure.
"""

from __future__ import annotations

import logging
from importlib import metadata
from typing import TYPE_CHECKING, ClassVar

from mastwatch_instrumentations._base import PatchingInstrumentor
from mastwatch_instrumentations._patch import Patches
from mastwatch_instrumentations.autogen.hooks import Hooks
from mastwatch_instrumentations.autogen.library import load
from mastwatch_instrumentations.autogen.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mastwatch.spans.emit import Emitter

__all__ = ["AutoGenInstrumentor"]

_log = logging.getLogger("mastwatch")


class AutoGenInstrumentor(PatchingInstrumentor):
    """Watches AG2 / AutoGen classic by patching its classes, so that older agents are seen too."""

    name: ClassVar[str] = "autogen"
    library: ClassVar[str] = "autogen"
    distributions: ClassVar[tuple[str, ...]] = ("autogen", "ag2", "pyautogen")
    minimum: ClassVar[dict[str, str]] = {"autogen": "0.14", "ag2": "0.9", "pyautogen": "0.9"}
    supersedes: ClassVar[tuple[str, ...]] = ("openai",)
    producers: ClassVar[tuple[str, ...]] = (
        "openinference.instrumentation.ag2:AG2Instrumentor",
        "openinference.instrumentation.autogen:AutogenInstrumentor",
    )
    native: ClassVar[bool] = True
    scopes: ClassVar[tuple[str, ...]] = (
        "opentelemetry.instrumentation.ag2",  # its own tracing
        "openinference.instrumentation.ag2",
        "openinference.instrumentation.autogen",
        "openlit.instrumentation.ag2",
    )

    @classmethod
    def version(cls) -> tuple[str, str] | None:
        """Distribution and version that provide ``autogen``, or None."""
        return next(iter(cls._providers()), None)

    @classmethod
    def _providers(cls) -> list[tuple[str, str]]:
        found = []
        for distribution in cls.distributions:
            try:
                version = metadata.version(distribution)
            except metadata.PackageNotFoundError:
                continue
            # ag2 1.x is another library, pyautogen 0.10 an empty shell around a third one.
            later = {"ag2": (1,), "pyautogen": (0, 10)}.get(distribution)
            if later is None or _numbers(version) < later:
                found.append((distribution, version))
        return found

    def patch(self, emitter: Emitter, patches: Patches) -> Mapping[str, bool]:
        """Patch the classes.

        Raises:
            DidNotEnable: This autogen lacks what the hooks cannot do without.
        """
        providers = self._providers()
        if len(providers) > 1:
            _log.warning(
                "autogen comes from %s at once, whose files overwrite each other; keep one",
                " and ".join(" ".join(provider) for provider in providers),
            )
        hooks = Hooks(Tracker(emitter, load(), self.traced_by))
        hooks.install(patches)
        return hooks.status


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdigit() else 0 for part in parts)
