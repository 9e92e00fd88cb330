"""``metrics=``: what is counted, who exports it, and what a forked child begins anew."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from mastwatch import forks, guard, taxonomy
from mastwatch.sink import Sink
from mastwatch.sinks.metrics import Instruments, MetricsSink, Several
from mastwatch.spans.core import firing_ids
from mastwatch.spans.provider import version
from mastwatch.spans.pusher import Pusher

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from mastwatch.events import Event
    from mastwatch.settings import Settings
    from mastwatch.sinks.prometheus import PrometheusInstruments
    from mastwatch.sinks.prometheus.serving import Serving
    from mastwatch.spans.meter import OtelInstruments
    from mastwatch.watch import Watch

_log = logging.getLogger("mastwatch")
TICK = 5.0
"""Seconds between looks at what processes share: gauges to write, an endpoint to take over."""


class Metrics:
    """Counts for Prometheus, for OpenTelemetry, or both.

    Args:
        settings: What was asked for.
        watch: What is counted.
        registry: The host's, if it serves the metrics itself.
        frameworks: Values of the label ``framework`` known beforehand.
        modes: Codes of the modes that have a live detector.

    Attributes:
        sink: Counts.
    """

    def __init__(
        self,
        settings: Settings,
        watch: Watch,
        registry: CollectorRegistry | None,
        frameworks: Iterable[str],
        modes: Iterable[str],
    ) -> None:
        self._settings = settings
        self._watch = watch
        self._prometheus: PrometheusInstruments | None = None
        self._otel: OtelInstruments | None = None
        self._serving: Serving | None = None
        self._ticking: Pusher | None = None
        used: list[Instruments] = []
        if settings.metrics in ("prometheus", "both"):
            used.append(self._for_prometheus(settings, registry))
        if settings.metrics in ("otlp", "both"):
            used.append(self._for_otel(settings))
        self.sink = MetricsSink(
            used[0] if len(used) == 1 else Several(used),
            watch.runs,
            frameworks=frameworks,
            modes=modes,
            judged=[mode.code for mode in taxonomy.MODES] if settings.judge else (),
            version=version(),
            run_labels=settings.metric_labels,
            constants={"release": settings.release, "environment": settings.environment},
            spans=firing_ids,
        )
        self._first = _First(self._wake, watch)

    def _for_prometheus(
        self, settings: Settings, registry: CollectorRegistry | None
    ) -> PrometheusInstruments:
        # Each exporter is imported when it is wanted: neither is cheap.
        from mastwatch.sinks.prometheus import PrometheusInstruments
        from mastwatch.sinks.prometheus.serving import Serving

        self._prometheus = PrometheusInstruments(registry)
        if registry is None:
            self._serving = Serving(settings, self._prometheus.registry)
        return self._prometheus

    def _for_otel(self, settings: Settings) -> OtelInstruments:
        from mastwatch.spans.meter import OtelInstruments

        self._otel = OtelInstruments(self._watch.drop, settings.flush_timeout)
        if not self._otel.usable:
            _log.warning(
                'mastwatch: metrics="%s" (%s), but neither OTEL_EXPORTER_OTLP_ENDPOINT nor a meter '
                "provider is set: nothing is exported by OTLP",
                settings.metrics,
                settings.origin("metrics"),
            )
        return self._otel

    def more(self) -> Instruments:
        """Instruments of the same exporters, for who counts and closes apart (the judge)."""
        used: list[Instruments] = []
        if self._prometheus is not None:
            from mastwatch.sinks.prometheus import PrometheusInstruments

            used.append(PrometheusInstruments(self._prometheus.registry))
        if self._otel is not None:
            from mastwatch.spans.meter import OtelInstruments

            used.append(OtelInstruments(self._watch.drop, self._settings.flush_timeout))
        return used[0] if len(used) == 1 else Several(used)

    @property
    def url(self) -> str | None:
        """Where ``/metrics`` is served, or None."""
        return self._serving.url if self._serving is not None else None

    def start(self) -> None:
        """Count and serve from now on."""
        self._watch.add_sink(self.sink)
        guard.add_observer(self.sink.on_internal_error)
        self._watch.add_sink(self._first)
        if self._serving is not None:
            self._serving.start()
        forks.remake(self)

    def _wake(self) -> None:
        """The first event of this process: whatever was put off until it does something."""
        if self._otel is not None:
            self._otel.start()
        if self._serving is not None:
            self._serving.start()
        if self._prometheus is not None and self._prometheus.shared:
            self._ticking = Pusher(self._tick, TICK)
            self._ticking.start()

    def _tick(self) -> None:
        if self._prometheus is not None:
            self._prometheus.refresh()
        if self._serving is not None:
            self._serving.start()

    def flush(self, timeout: float) -> bool:
        """Export what goes by OTLP; returns whether that was done in time."""
        return self._otel is None or self._otel.flush(max(0.0, timeout))

    def exit(self, timeout: float) -> None:
        """The process ends: export for the last time, and take announcements away."""
        if self._serving is not None:
            self._serving.withdraw()
        self.flush(timeout)

    def after_fork(self) -> None:
        """Count from 0 and serve on a port of our own: the parent's numbers are the parent's."""
        self._ticking = None
        self.sink.after_fork()
        if self._serving is not None:
            self._serving.after_fork()
        self._watch.remove_sink(self._first)
        self._watch.add_sink(self._first)

    def close(self) -> None:
        """Stop serving, and take our metrics away."""
        self._watch.remove_sink(self._first)
        if self._ticking is not None:
            self._ticking.close(0)
        if self._serving is not None:
            self._serving.close()
        guard.remove_observer(self.sink.on_internal_error)
        self.sink.close()


class _First(Sink):
    """Waits for a first event, and then for none."""

    name = "metrics"

    def __init__(self, then: Callable[[], None], watch: Watch) -> None:
        self._then = then
        self._watch = watch

    def on_event(self, event: Event, framework: str) -> None:
        self._watch.remove_sink(self)
        self._then()
