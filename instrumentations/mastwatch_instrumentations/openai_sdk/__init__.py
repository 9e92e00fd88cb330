"""The OpenAI SDK: see ``OpenAIInstrumentor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mastwatch.guard import guard
from mastwatch_instrumentations._base import PatchingInstrumentor
from mastwatch_instrumentations._patch import Patches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mastwatch.spans.emit import Emitter


class OpenAIInstrumentor(PatchingInstrumentor):
    """Watches home-grown agents over the bare OpenAI SDK, and lends its knowledge to others.

    Seen: ``create`` and ``parse`` of chat completions and responses, sync and async, also by the
    module's own client, ``with_options`` copies, Azure clients, ``stream=True``, ``.stream()``,
    ``with_raw_response`` and ``with_streaming_response``. Retries inside the SDK are one call.

    A request is all there is to go by: the calls of one home-grown team are joined to a run as
    ``mastwatch.spans.histories`` tells, its agents told apart by their system prompts
    (``assistant``, ``assistant-2``; a system message's ``name`` names its agent), and a tool's call
    and result are told when the result is sent back. Such a run ends when it is idle, or with the
    process: ``completed`` where the last answer asked for no tools. ``mastwatch.run(...)`` around
    the work says where it begins and ends.

    Inside a model call of a library above (LangChain, AG2, ...) this only adds model and tokens.

    Not seen: answers that are fetched later (``background=True``), Responses over a WebSocket,
    the Assistants API, text completions, choices after the first, tool results sent under the
    legacy role ``function``; a ``with_raw_response`` that was looked up before ``instrument()``.
    """

    name: ClassVar[str] = "openai"
    library: ClassVar[str] = "openai"
    distributions: ClassVar[tuple[str, ...]] = ("openai",)
    minimum: ClassVar[dict[str, str]] = {"openai": "2.20"}
    producers: ClassVar[tuple[str, ...]] = (
        "opentelemetry.instrumentation.genai.openai:OpenAIInstrumentor",
        "opentelemetry.instrumentation.openai_v2:OpenAIInstrumentor",
        "openinference.instrumentation.openai:OpenAIInstrumentor",
        "opentelemetry.instrumentation.openai:OpenAIInstrumentor",
    )
    scopes: ClassVar[tuple[str, ...]] = (
        "opentelemetry.instrumentation.genai.openai",
        "opentelemetry.instrumentation.openai_v2",
        "openinference.instrumentation.openai",
        "opentelemetry.instrumentation.openai",
        "openlit.instrumentation.openai",
    )

    def __init__(self) -> None:
        super().__init__()
        self._emitter: Emitter | None = None

    def patch(self, emitter: Emitter, patches: Patches) -> Mapping[str, bool]:
        """Patch the classes.

        Raises:
            DidNotEnable: This SDK lacks what the hooks cannot do without.
        """
        from mastwatch_instrumentations.openai_sdk.hooks import Hooks
        from mastwatch_instrumentations.openai_sdk.library import load

        hooks = Hooks(emitter, load(), self.traced_by)
        self._emitter = emitter
        hooks.install(patches)
        return hooks.status

    def uninstall(self) -> None:
        """Make the hooks inert, unwrap what is still on top, end the runs still open."""
        super().uninstall()
        emitter, self._emitter = self._emitter, None
        if emitter is not None:
            with guard("openai.uninstall"):
                emitter.histories.close(self.name)
