"""What ``instrument()`` sets up: settings → plug-ins → wiring, and the handle that undoes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from mastwatch import guard, registry
from mastwatch._imports import ImportHook
from mastwatch.guard import guard as guarded
from mastwatch.instrumentor import DidNotEnable
from mastwatch.runs import Runs
from mastwatch.sinks.actions import CallbackSink
from mastwatch.sinks.log import LogSink
from mastwatch.sinks.span_event import SpanEventSink
from mastwatch.spans import semconv
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.emit import Emitter
from mastwatch.spans.evaluation import EvaluationLog
from mastwatch.spans.provider import Providers, version
from mastwatch.watch import Watch

if TYPE_CHECKING:
    from types import TracebackType

    from prometheus_client import CollectorRegistry

    from mastwatch.detector import Detector
    from mastwatch.instrumentor import Instrumentor
    from mastwatch.settings import Settings
    from mastwatch.sinks.prometheus import MetricsServer, PrometheusSink
    from mastwatch.watch import Sink

_log = logging.getLogger("mastwatch")


class Handle:
    """What ``instrument()`` set up: undo it, look at it, listen to it.

    Args:
        settings: What was asked for.
        registry: The host's prometheus_client registry, if it serves the metrics itself.
        redact: Applied to every text before it leaves the process.
        on_undo: Asked at ``uninstrument()`` whether this handle is still the one in force.

    Attributes:
        settings: What was asked for.
        watch: The meeting point of events and sinks.
        emitter: The API that instrumentors use.
        enabled: Names of the instrumentors that are in place by now.
        metrics_url: Where ``/metrics`` is served, or None.
    """

    def __init__(
        self,
        settings: Settings,
        registry: CollectorRegistry | None,
        redact: Callable[[str], str] | None,
        on_undo: Callable[[Handle], bool],
    ) -> None:
        self.settings = settings
        self.enabled: list[str] = []
        self.metrics_url: str | None = None
        self._registry = registry
        self._on_undo = on_undo
        self._instrumentors: list[Instrumentor] = []
        self._hook = ImportHook()
        self._metrics: PrometheusSink | None = None
        self._server: MetricsServer | None = None
        self._detectors = _choose_detectors(settings.detectors)
        runs = Runs(settings.max_runs, settings.run_idle_timeout)
        self.watch = Watch(self._detectors, runs=runs)
        self.providers = Providers(settings.flush_timeout, self.watch.drop)
        self.emitter = Emitter(
            self.watch,
            self.providers.tracer,
            ContentPolicy(settings.capture_content, redact),
            _run_attributes(settings),
        )
        self.callbacks = CallbackSink()
        for sink in (
            SpanEventSink(self.emitter, EvaluationLog(self.providers.logger)),
            LogSink(),
            self.callbacks,
        ):
            self.watch.add_sink(sink)

    def install(self) -> None:
        """Set everything up; called once, by ``instrument()``."""
        for problem in self.settings.problems:
            _log.warning("mastwatch: %s", problem)
        for name in ("judge", "store"):
            if getattr(self.settings, name):
                _log.warning("mastwatch: %s= is not in this release; nothing is kept", name)
        chosen = _choose_instrumentors(self.settings.frameworks)
        if self.settings.metrics == "prometheus":
            with guarded("metrics"):
                self._start_metrics([f for kind in chosen for f in kind.frameworks or (kind.name,)])
        for kind in chosen:
            with guarded(f"install.{kind.name}"):
                self._arrange(kind)

    def _start_metrics(self, frameworks: list[str]) -> None:
        # Imported when wanted: an app with metrics="none" needs no prometheus_client.
        from mastwatch.sinks.prometheus import MetricsServer, PrometheusSink

        modes = sorted({detector.mode for detector in self._detectors})
        sink = PrometheusSink(
            self.watch.runs,
            frameworks=frameworks,
            modes=modes,
            version=version(),
            registry=self._registry,
            run_labels=self.settings.metric_labels,
            constants=_label_constants(self.settings),
        )
        self._metrics = sink
        self.watch.add_sink(sink)
        guard.add_observer(sink.on_internal_error)
        if self._registry is not None or self.settings.prometheus_port == 0:
            return
        host, port = self.settings.prometheus_host, self.settings.prometheus_port
        try:
            self._server = MetricsServer(host, port, sink.registry)
        except OSError as error:
            _log.warning(
                "mastwatch: no /metrics: cannot bind %s, ports %d to %d (%s). Set "
                "MASTWATCH_PROMETHEUS_PORT, or 0 to serve none.",
                host,
                port,
                port + 9,
                error.strerror,
            )
            return
        self.metrics_url = self._server.url
        level = logging.WARNING if self._server.port != port else logging.INFO
        _log.log(level, "mastwatch: metrics on %s", self.metrics_url)

    def _arrange(self, kind: type[Instrumentor]) -> None:
        by_name = self.settings.frameworks is not None
        if not kind.present():
            level = logging.WARNING if by_name else logging.DEBUG
            _log.log(level, "mastwatch: %s is not installed here", kind.library)
            return
        if problem := kind.too_old():
            _log.warning("mastwatch: %s; it is not watched", problem)
            return
        self._hook.when_imported(
            kind.trigger or kind.library, lambda: self._guarded_enable(kind, by_name)
        )

    def _guarded_enable(self, kind: type[Instrumentor], by_name: bool) -> None:
        with guarded(f"install.{kind.name}"):
            self._enable(kind, by_name)

    def _enable(self, kind: type[Instrumentor], by_name: bool) -> None:
        instrumentor = kind()
        try:
            instrumentor.install(self.emitter)
        except DidNotEnable as error:
            level = logging.WARNING if by_name else logging.DEBUG
            _log.log(level, "mastwatch: %s is not instrumented: %s", kind.name, error)
            return
        except Exception:
            instrumentor.uninstall()  # what it had attached before it failed
            raise
        self._instrumentors.append(instrumentor)
        self.enabled.append(kind.name)
        if self._metrics is not None:
            for hook, in_place in instrumentor.hooks().items():
                self._metrics.set_hook(kind.name, hook, in_place)

    def add_sink(self, sink: Sink) -> None:
        """Tell a sink of your own of every event, finding and notice."""
        self.watch.add_sink(sink)

    def remove_sink(self, sink: Sink) -> None:
        """Stop telling it."""
        self.watch.remove_sink(sink)

    def report_outcome(self, success: bool | None, source: str) -> None:
        """Count an outcome the host reported."""
        if self._metrics is not None:
            label = "unknown" if success is None else str(success).lower()
            self._metrics.on_outcome(label, source)

    def uninstrument(self) -> None:
        """Undo everything, once: hooks, import hook, metrics, port, providers."""
        if not self._on_undo(self):
            return
        with guarded("uninstrument"):
            self._hook.remove()
        for instrumentor in reversed(self._instrumentors):
            with guarded(f"uninstrument.{instrumentor.name}"):
                instrumentor.uninstall()
        with guarded("uninstrument"):
            self._stop_metrics()
        with guarded("uninstrument"):
            self.providers.close()

    def _stop_metrics(self) -> None:
        if self._server is not None:
            self._server.close()
            self.metrics_url = None
        if self._metrics is not None:
            guard.remove_observer(self._metrics.on_internal_error)
            self._metrics.close()

    def __enter__(self) -> Handle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.uninstrument()


def _run_attributes(settings: Settings) -> dict[str, str]:
    said = {semconv.RELEASE: settings.release, semconv.ENVIRONMENT: settings.environment}
    return {key: value for key, value in said.items() if value}


def _label_constants(settings: Settings) -> dict[str, str]:
    return {"release": settings.release, "environment": settings.environment}


def _choose_detectors(names: tuple[str, ...] | None) -> list[type[Detector]]:
    return _choose(registry.plugins(registry.DETECTORS), names, "detector")


def _choose_instrumentors(names: tuple[str, ...] | None) -> list[type[Instrumentor]]:
    return _choose(registry.plugins(registry.INSTRUMENTATIONS), names, "framework")


def _choose(found: Iterable[Any], names: tuple[str, ...] | None, what: str) -> list[type[Any]]:
    chosen = []
    known = []
    for plugin in found:
        known.append(plugin.name)
        if names is not None and plugin.name not in names:
            continue
        if plugin.loaded is None:
            _log.warning("mastwatch: %s %s: %s", what, plugin.name, plugin.problem)
        else:
            chosen.append(plugin.loaded)
    for name in names or ():
        if name not in known:
            _log.warning(
                "mastwatch: there is no %s %r; known: %s", what, name, ", ".join(known) or "none"
            )
    return chosen
