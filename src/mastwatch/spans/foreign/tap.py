"""Takes from official instrumentors, in-process, the text that they do not export.

``opentelemetry-util-genai`` builds messages for a completion hook also where capturing content is
off. ``OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK=mastwatch`` names ours, found by its entry point.
Where the user names none, ``Tap`` puts it into the handlers of this process while mastwatch is at
work; another hook is never replaced. What is exported stays as it is: the content capturing mode
alone decides that.

An instrumentor that was switched on before ``mastwatch.instrument()`` may have asked already
whether it is to build messages (that of openai has): there only the variable helps.

Checked with opentelemetry-util-genai 1.3b0.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from typing import Any

from opentelemetry import trace

from mastwatch._imports import ImportHook
from mastwatch.guard import guard
from mastwatch.spans import semconv
from mastwatch.spans.foreign import texts

_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK"
_HANDLER = "opentelemetry.util.genai.handler"
_TOOL = "opentelemetry.util.genai._tool_invocation"


class CompletionHook:
    """The hook ``mastwatch`` of the entry points ``opentelemetry_genai_completion_hook``.

    Inert until ``mastwatch.instrument()``; made by opentelemetry-util-genai, once per instrumentor.
    """

    def on_completion(
        self,
        *,
        inputs: list[Any],
        outputs: list[Any],
        system_instruction: list[Any],
        tool_definitions: list[Any] | None = None,
        span: trace.Span | None = None,
        log_record: object = None,
    ) -> None:
        """Keep what was said under ``span`` until it is read."""
        with guard("tap"):
            _put(
                span,
                {
                    semconv.INPUT_MESSAGES: inputs,
                    semconv.OUTPUT_MESSAGES: outputs,
                    semconv.SYSTEM_INSTRUCTIONS: system_instruction,
                },
            )


def _put(span: trace.Span | None, said: dict[str, Any]) -> None:
    if span is None or not texts.listening():
        return
    context = span.get_span_context()
    if context.is_valid and span.is_recording():
        texts.put(trace.format_span_id(context.span_id), said)


class Tap:
    """Puts our hook where there is none, and takes it out again.

    Args:
        drop: Told what is given up, ``texts_full``.
    """

    def __init__(self, drop: Callable[[str], None]) -> None:
        self._drop = drop
        self._imports = ImportHook()
        self._patches: list[tuple[type, str, Any, Any]] = []
        self._handlers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._active = False

    def start(self) -> None:
        """Listen from now on."""
        texts.listen(self._drop)
        self._active = True
        self._imports.when_imported(_HANDLER, self._tap_handlers)
        self._imports.when_imported(_TOOL, self._tap_tools)

    def stop(self) -> None:
        """Take everything out again and forget all texts."""
        self._active = False
        self._imports.remove()
        for owner, name, original, wrapper in reversed(self._patches):
            if vars(owner).get(name) is wrapper:
                setattr(owner, name, original)
        self._patches.clear()
        for handler in list(self._handlers):
            with guard("tap"):
                _release(handler)
        texts.stop()

    def _tap_handlers(self) -> None:
        from opentelemetry.util.genai.handler import TelemetryHandler

        # Not the constructor: some handlers were made before and are asked at every call.
        self._before(TelemetryHandler, "should_capture_content", self._adopt)

    def _tap_tools(self) -> None:
        # A tool's arguments and result are not given to completion hooks.
        from opentelemetry.util.genai._tool_invocation import ToolInvocation

        self._before(ToolInvocation, "_apply_finish", self._tool)

    def _before(self, owner: type, name: str, look: Callable[[Any], None]) -> None:
        called = getattr(owner, name, None)
        if not callable(called) or name not in vars(owner):
            return

        @functools.wraps(called)
        def wrapper(this: Any, *args: Any, **kwargs: Any) -> Any:
            if self._active:
                with guard("tap"):
                    look(this)
            return called(this, *args, **kwargs)

        self._patches.append((owner, name, vars(owner)[name], wrapper))
        setattr(owner, name, wrapper)

    def _adopt(self, handler: Any) -> None:
        """Give a handler without a hook ours."""
        from opentelemetry.util.genai import completion_hook as genai

        present = getattr(handler, "_completion_hook", None)
        if not isinstance(present, genai._NoOpCompletionHook) or os.environ.get(_VARIABLE):
            return
        if isinstance(getattr(handler, "_capture_content", None), bool):
            handler._completion_hook = genai._SafeCompletionHook(CompletionHook())
            handler._capture_content_without_tap = handler._capture_content
            handler._capture_content = True
            self._handlers.add(handler)

    def _tool(self, call: Any) -> None:
        said = {
            semconv.TOOL_CALL_ARGUMENTS: getattr(call, "arguments", None),
            semconv.TOOL_CALL_RESULT: getattr(call, "tool_result", None),
        }
        _put(getattr(call, "span", None), said)


def _release(handler: Any) -> None:
    from opentelemetry.util.genai import completion_hook as genai

    hook = getattr(handler._completion_hook, "_wrapped", None)
    if isinstance(hook, CompletionHook):
        handler._completion_hook = genai._NoOpCompletionHook()
        handler._capture_content = handler._capture_content_without_tap
