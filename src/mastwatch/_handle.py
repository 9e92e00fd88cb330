"""What ``instrument()`` sets up: settings → plug-ins → wiring, and the handle that undoes it."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mastwatch import _judging, _recording
from mastwatch._acting import Acting
from mastwatch._frameworks import Frameworks
from mastwatch.guard import guard as guarded
from mastwatch.policy import Policy, configured
from mastwatch.registry import DETECTORS, INSTRUMENTATIONS, select
from mastwatch.runs import Runs
from mastwatch.sinks.log import LogSink
from mastwatch.sinks.span_event import SpanEventSink
from mastwatch.spans import hops, semconv
from mastwatch.spans.bridge import Bridge
from mastwatch.spans.carry import Carry
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.emit import Emitter
from mastwatch.spans.evaluation import EvaluationLog
from mastwatch.spans.foreign.tap import Tap
from mastwatch.spans.provider import Providers
from mastwatch.watch import Watch

if TYPE_CHECKING:
    from types import TracebackType

    from prometheus_client import CollectorRegistry

    from mastwatch._metrics import Metrics
    from mastwatch.detector import Detector
    from mastwatch.instrumentor import Instrumentor
    from mastwatch.settings import Settings
    from mastwatch.sinks.recorder import Recorder
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
        acting: What is done on findings.
        bridge: Listens to the spans of others.
        enabled: Names of the instrumentors that are in place by now.
        recorder: Keeps finished runs, where ``store=`` or ``judge=`` ask for it.
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
        self.recorder: Recorder | None = None
        self._registry = registry
        self._on_undo = on_undo
        self._metrics: Metrics | None = None
        self._judging: _judging.Judging | None = None
        self._detectors: list[type[Detector]] = select(DETECTORS, settings.detectors)
        runs = Runs(settings.max_runs, settings.run_idle_timeout)
        self._policy: Policy | None = None
        with guarded("policy"):
            self._policy = configured(settings, self._detectors)
        self.watch = Watch(self._detectors, runs=runs, policy=self._policy)
        self.providers = Providers(settings.flush_timeout, self.watch.drop)
        self.emitter = Emitter(
            self.watch,
            self.providers.tracer,
            ContentPolicy(settings.capture_content, redact),
            _run_attributes(settings),
            idle_timeout=settings.run_idle_timeout,
        )
        for sink in (
            SpanEventSink(self.emitter, EvaluationLog(self.providers.logger)),
            LogSink(),
        ):
            self.watch.add_sink(sink)
        self.acting = Acting(settings, self.watch, self._detectors, self.emitter)
        self.bridge = Bridge(self.emitter)
        by_name = settings.frameworks is not None
        self._frameworks = Frameworks(self.emitter, by_name, self._enabled)
        self._patches: list[Carry | Tap] = [Carry()]
        if settings.bridge:
            self._patches.append(Tap(self.watch.drop))

    def install(self) -> None:
        """Set everything up; called once, by ``instrument()``."""
        unusable = self._policy.problems if self._policy is not None else ()
        for problem in (*self.settings.problems, *unusable, *self.acting.problems):
            _log.warning("mastwatch: %s", problem)
        atexit.register(self._exit)
        chosen = select(INSTRUMENTATIONS, self.settings.frameworks)
        if self.settings.metrics != "none":
            with guarded("metrics"):
                self._start_metrics([f for kind in chosen for f in kind.frameworks or (kind.name,)])
        if _recording.wanted(self.settings):
            with guarded("store"):
                self.recorder = _recording.start(self.settings, self.watch, self.emitter.content)
        if self.settings.judge and self.recorder is not None:
            with guarded("judge"):
                self._start_judge(self.recorder)
        self.emitter.propagate = self.settings.propagate
        with guarded("hops"):
            self.emitter.surroundings = hops.from_environment(os.environ)
        for patch in self._patches:
            with guarded("patch"):
                patch.start()
        if self.settings.bridge:
            with guarded("bridge"):
                self.bridge.start()
        for kind in chosen:
            with guarded(f"install.{kind.name}"):
                self._frameworks.arrange(kind)

    def _start_judge(self, recorder: Recorder) -> None:
        self._judging = _judging.Judging(
            self.watch,
            EvaluationLog(self.providers.logger),
            self.emitter.content,
            self._metrics,
        )
        self._judging.start(self.settings, recorder)

    def _start_metrics(self, frameworks: list[str]) -> None:
        # Imported when wanted: an app with metrics="none" needs no prometheus_client.
        from mastwatch._metrics import Metrics

        modes = sorted({detector.mode for detector in self._detectors})
        self._metrics = Metrics(self.settings, self.watch, self._registry, frameworks, modes)
        self._metrics.sink.expect_actions(self.acting.kinds())
        self._metrics.start()

    @property
    def metrics_url(self) -> str | None:
        """Where ``/metrics`` is served, or None."""
        return self._metrics.url if self._metrics is not None else None

    def _enabled(self, instrumentor: Instrumentor) -> None:
        self.acting.enabled(instrumentor)
        self.enabled.append(instrumentor.name)
        self.bridge.leave(instrumentor.scopes)
        if self._metrics is not None:
            for hook, in_place in instrumentor.hooks().items():
                self._metrics.sink.set_hook(instrumentor.name, hook, in_place)

    def add_sink(self, sink: Sink) -> None:
        """Tell a sink of your own of every event, finding and notice."""
        self.watch.add_sink(sink)

    def remove_sink(self, sink: Sink) -> None:
        """Stop telling it."""
        self.watch.remove_sink(sink)

    def report_outcome(
        self,
        run_id: str | None,
        source: str,
        *,
        success: bool | None,
        score: float | None = None,
        expected: str | None = None,
        comment: str | None = None,
    ) -> None:
        """Count an outcome the host reported, and keep it with its run."""
        if self._metrics is not None:
            label = "unknown" if success is None else str(success).lower()
            self._metrics.sink.on_outcome(label, source)
        if self.recorder is not None and run_id:
            self.recorder.outcome(
                run_id, success=success, score=score, expected=expected, comment=comment
            )

    def carrier(self, environ: bool) -> dict[str, str]:
        """What another process is to be passed; see ``mastwatch.carrier``."""
        return hops.carrier(self.emitter.current(), environ=environ)

    def flush(self, timeout: float | None = None) -> bool:
        """Write finished runs to the store, tell webhooks, and export what is queued.

        Args:
            timeout: Longest wait in seconds; the setting ``flush_timeout`` by default.

        Returns:
            Whether everything was out in time.
        """
        timeout = self.settings.flush_timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        written = self.recorder is None or self.recorder.flush(timeout)
        told = self.acting.flush(max(0.0, deadline - time.monotonic()))
        pushed = self._metrics is None or self._metrics.flush(deadline - time.monotonic())
        exported = self.providers.flush(max(0.0, deadline - time.monotonic()))
        return written and told and pushed and exported

    def _exit(self) -> None:
        """Once, at the end of the process: all of it within the flush time-out."""
        deadline = time.monotonic() + self.settings.flush_timeout
        with guarded("exit"):
            self.bridge.listener.flush()
            self.emitter.histories.close()
        if self.recorder is not None:
            self.recorder.flush(self.settings.flush_timeout)
        if self._judging is not None:
            self._judging.close(max(0.0, deadline - time.monotonic()))
        self.acting.close(max(0.0, deadline - time.monotonic()))
        if self._metrics is not None:
            self._metrics.exit(deadline - time.monotonic())
        self.providers.flush(max(0.0, deadline - time.monotonic()))

    def uninstrument(self) -> None:
        """Undo everything, once: hooks, import hook, metrics, port, providers."""
        if not self._on_undo(self):
            return
        self._frameworks.undo()
        for patch in self._patches:
            with guarded("uninstrument"):
                patch.stop()
        with guarded("uninstrument"):
            self.bridge.close()
        with guarded("uninstrument"):
            self.emitter.histories.close()
        atexit.unregister(self._exit)
        with guarded("uninstrument"):
            if self._judging is not None:
                self._judging.close(self.settings.flush_timeout)
        with guarded("uninstrument"):
            if self.recorder is not None:
                self.remove_sink(self.recorder)
                self.recorder.close(self.settings.flush_timeout)
        with guarded("uninstrument"):
            self.acting.close(self.settings.flush_timeout)
        with guarded("uninstrument"):
            if self._metrics is not None:
                self._metrics.close()
        with guarded("uninstrument"):
            self.providers.close()

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
