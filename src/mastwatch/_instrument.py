"""The one line, ``instrument()``; nothing heavy is imported before it is called."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mastwatch.guard import guard

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from prometheus_client import CollectorRegistry

    from mastwatch._handle import Handle
    from mastwatch.findings import Finding
    from mastwatch.interventions import Intervention

_log = logging.getLogger("mastwatch")
_lock = threading.RLock()  # protects _handle: instrument() and uninstrument() exclude each other
_handle: Handle | None = None


def instrument(
    *,
    frameworks: Iterable[str] | None = None,
    detectors: Iterable[str] | None = None,
    judge: Any = None,
    store: str | os.PathLike[str] | bool | None = None,
    metrics: Literal["prometheus", "otlp", "both", "none"] | None = None,
    release: str | None = None,
    environment: str | None = None,
    metric_labels: Iterable[str] | None = None,
    registry: CollectorRegistry | None = None,
    redact: Callable[[str], str] | None = None,
    actions: Mapping[str, Any] | Sequence[Mapping[str, Any] | Intervention] | None = None,
    **more: Any,
) -> Handle:
    """Watch the agents of this process from now on, those made before included.

    Called again (a notebook cell run twice, a second module) it changes nothing and returns the
    same handle. A framework that is missing, too old or already instrumented is no error.

    Args:
        frameworks: Names of instrumentors, ``["autogen"]``; all that apply by default.
        detectors: Names of detectors, ``["step_repetition"]``; all by default.
        judge: Judge finished runs: True, the name of a model, a table of the judge's settings, or
            a model (a function, a LangChain chat model). They are kept in the store, too.
        store: Keep finished runs: a file, or True for ``$XDG_STATE_HOME/mastwatch/runs.sqlite``.
        metrics: ``"prometheus"`` serves ``/metrics`` on 127.0.0.1:9464; ``"otlp"`` exports the same
            with OpenTelemetry; ``"both"``; ``"none"`` counts nothing.
        release: Your release, on every run's span.
        environment: Your environment, on every run's span.
        metric_labels: Names of run tags that become metric labels; at most 4.
        registry: A prometheus_client registry of yours; then you serve it, we open no port.
        redact: Applied to every text before it leaves the process.
        actions: What is done on findings: the table ``[actions]``, or a list of interventions
            alone, ``[{"mode": "FM-1.3", "action": "halt"}]``.
        **more: Any other setting of ``mastwatch.settings.Settings`` (``prometheus_port=0``,
            ``thresholds={...}``, ``rules=[...]``, ...).

    Returns:
        A handle, also a context manager, whose ``uninstrument()`` undoes everything.

    Raises:
        TypeError: A keyword names no setting.
    """
    global _handle
    given = {
        "frameworks": frameworks,
        "detectors": detectors,
        "judge": judge,
        "store": store,
        "metrics": metrics,
        "release": release,
        "environment": environment,
        "metric_labels": metric_labels,
        "actions": actions,
        **more,
    }
    with _lock:
        if _handle is None:
            from mastwatch import settings
            from mastwatch._handle import Handle

            _handle = Handle(settings.load(given), registry, redact, _release)
            _handle.install()
        return _handle


def uninstrument() -> None:
    """Undo ``instrument()``; harmless when nothing is instrumented."""
    handle = _handle
    if handle is not None:
        handle.uninstrument()


def _release(handle: Handle) -> bool:
    global _handle
    with _lock:
        if _handle is not handle:
            return False
        _handle = None
        return True


def active() -> Handle | None:
    """The handle of the instrumented process, or None."""
    return _handle


def on_finding(callback: Callable[[Finding], object]) -> None:
    """Call ``callback(finding)`` for each finding, in the thread where it fired.

    Args:
        callback: Quick, please: the agent waits for it. A coroutine function is not waited for: it
            runs on the loop of that thread, else on one in the background. Errors are caught and
            counted.
    """
    if _handle is None:
        _log.warning("mastwatch.on_finding() before mastwatch.instrument() has no effect")
        return
    _handle.acting.callbacks.add(callback)


def halt(run_id: str | None = None, *, reason: str = "") -> None:
    """End a run, as an intervention would; its framework ends it at its next step.

    Args:
        run_id: Which run, ``finding.run_id`` in a callback; the current one by default. A run that
            is over is left alone.
        reason: Why; it stands on the run's span and in ``RunHalted``, so no text of messages.
    """
    if _handle is None:
        return
    if run_id is None:
        scope = _handle.emitter.current()
        run_id = scope.run.id if scope is not None else None
    if run_id is None:
        _log.warning("mastwatch.halt() outside a run needs run_id=")
        return
    with guard("halt"):
        _handle.acting.allow().halt(run_id, reason)


def carrier(*, environ: bool = False) -> dict[str, str]:
    """What a request or a process started from this run is to be passed, so that it belongs to it.

    Instrumented HTTP clients pass on the trace by themselves. For others, and for processes:

        ``requests.post(url, headers=mastwatch.carrier())``
        ``subprocess.run(command, env={**os.environ, **mastwatch.carrier(environ=True)})``

    Args:
        environ: As variables of an environment (``TRACEPARENT``, ``BAGGAGE``), not as headers.

    Returns:
        By the host's propagators, W3C trace context and baggage by default. Empty where nothing is
        instrumented.
    """
    if _handle is not None:
        with guard("carrier"):
            return _handle.carrier(environ)
    return {}


def span_processor() -> SpanProcessor:
    """The processor that reads the spans of others, for tracer providers of your own.

    The global provider needs none of this, whenever you set it. Give it to each provider that is
    not the global one: ``provider.add_span_processor(mastwatch.span_processor())``. It is inert
    while nothing is instrumented.
    """
    from mastwatch.spans.bridge import span_processor as processor

    return processor()


def flush(timeout: float | None = None) -> bool:
    """Write finished runs to the store and export what is queued.

    Args:
        timeout: Longest wait in seconds; the setting ``flush_timeout`` by default.

    Returns:
        Whether everything was out in time; True when nothing is instrumented.
    """
    return _handle.flush(timeout) if _handle is not None else True
