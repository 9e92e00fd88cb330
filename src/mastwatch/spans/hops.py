"""Runs that go on in another process: what is passed on to it, and what it was passed.

A run never leaves its process: two processes that wrote one run would number its rows twice, count
it twice and overwrite each other in the store. The other process has a run of its own, in the same
trace where the trace's context is passed on, and knows by ``mastwatch.run.parent_id`` which run it
is part of where the run's id is passed on too, as an entry of W3C baggage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import Getter, TextMapPropagator

from mastwatch.spans import semconv

if TYPE_CHECKING:
    from mastwatch.spans.scope import Scope

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_UNSAFE = re.compile(r"[^A-Z0-9_]")


def with_run(run_id: str, context: Context) -> Context:
    """A context whose baggage names the run."""
    return baggage.set_baggage(semconv.RUN_ID, run_id, context)


def caller(context: Context | None = None) -> str:
    """The run of another process that this context comes from; empty where it names none."""
    found = baggage.get_baggage(semconv.RUN_ID, context)
    return found if isinstance(found, str) and _RUN_ID.fullmatch(found) else ""


def carrier(scope: Scope | None, *, environ: bool = False) -> dict[str, str]:
    """What another process is to be passed, by the propagators of this one (``OTEL_PROPAGATORS``).

    Args:
        scope: The current one.
        environ: As variables of an environment, not as headers of a request.
    """
    context = otel_context.get_current()
    if scope is not None:
        if scope.span is not None and not trace.get_current_span().get_span_context().is_valid:
            context = trace.set_span_in_context(scope.span, context)
        context = with_run(scope.run.id, context)
    found: dict[str, str] = {}
    if (propagator := _propagator()) is not None:
        propagator.inject(found, context)
    return {_variable(key): value for key, value in found.items()} if environ else found


def from_environment(environ: Mapping[str, str]) -> Context | None:
    """What the process that started this one passed on in ``TRACEPARENT`` and its like, if any."""
    propagator = _propagator()
    if propagator is None:
        return None
    return propagator.extract(environ, Context(), _Variables()) or None


def _propagator() -> TextMapPropagator | None:
    """The host's; None where ``OTEL_PROPAGATORS`` names one that is not here."""
    try:
        from opentelemetry import propagate  # raises what it finds wrong as it is imported
    except Exception:
        return None
    return propagate.get_global_textmap()


def _variable(key: str) -> str:
    return _UNSAFE.sub("_", key.upper())


class _Variables(Getter[Mapping[str, str]]):
    """Reads propagation fields from an environment, as OpenTelemetry names them there."""

    def get(self, carrier: Mapping[str, str], key: str) -> list[str] | None:
        value = carrier.get(_variable(key))
        return None if value is None else [value]

    def keys(self, carrier: Mapping[str, str]) -> list[str]:
        return [key for key in carrier if key == _variable(key)]
