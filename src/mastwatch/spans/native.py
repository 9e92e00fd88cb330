"""Spans that an instrumented library makes of itself, to be written on in place of ours."""

from __future__ import annotations

from opentelemetry import trace

from mastwatch.spans import semconv


def are_recorded() -> bool:
    """Whether what a library says to the global tracer provider is recorded at all."""
    provider = trace.get_tracer_provider()
    return not isinstance(provider, (trace.ProxyTracerProvider, trace.NoOpTracerProvider))


def current_turn(library: str, agent: str) -> trace.Span | None:
    """The current span, if it is the one that a library has of this agent's turn.

    Args:
        library: Its instrumentation scope.
        agent: The agent's name.
    """
    span = trace.get_current_span()
    scope = getattr(span, "instrumentation_scope", None)
    if not span.is_recording() or getattr(scope, "name", "") != library:
        return None
    about = getattr(span, "attributes", None) or {}
    turn = about.get(semconv.OPERATION_NAME) == semconv.INVOKE_AGENT
    free = semconv.MESSAGE_INDEX not in about and semconv.RUN_ID not in about
    return span if turn and free and about.get(semconv.AGENT_NAME) == agent else None
