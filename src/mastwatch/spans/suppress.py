"""Model calls of our own, kept out of the user's traces and out of our own watch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context

_KEYS = (
    "suppress_instrumentation",  # OpenTelemetry, OpenInference, and our own emitter
    "suppress_http_instrumentation",
    "suppress_language_model_instrumentation",  # OpenLLMetry
)
_CREATED = ("_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY")
"""The first two as the API makes them unique; it offers them under private names only."""


@contextmanager
def untraced() -> Iterator[None]:
    """Instrumentations, ours among them, look away from what happens inside.

    It holds for the tasks and threads begun inside that copy the context.
    """
    made = context.get_current()
    for key in (*_KEYS, *(getattr(context, name, "") for name in _CREATED)):
        if key:
            made = context.set_value(key, True, made)
    token = context.attach(_within_inference(made))
    try:
        yield
    finally:
        context.detach(token)


def _within_inference(made: context.Context) -> context.Context:
    """Tell opentelemetry-util-genai that the call is traced already: it knows no other word."""
    genai = sys.modules.get("opentelemetry.util.genai.invocation")
    key = getattr(genai, "CLIENT_INFERENCE_CONTEXT_KEY", None)
    data = getattr(genai, "InferenceData", None)
    if key is None or data is None:
        return made
    return context.set_value(key, data(), made)
