"""``actions=``, ``on_finding()``, ``halt()``: what is done on findings, where it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mastwatch import forks
from mastwatch.interventions import Interventions, out_of_reach
from mastwatch.sinks.actions import CallbackSink, WebhookSink, read_actions

if TYPE_CHECKING:
    from mastwatch.detector import Detector
    from mastwatch.instrumentor import Instrumentor
    from mastwatch.settings import Settings
    from mastwatch.spans.emit import Emitter
    from mastwatch.watch import Watch


class Acting:
    """Everything that is done on findings.

    Without settings that ask for it there is nothing here but the host's callbacks.

    Args:
        settings: What was asked for.
        watch: Where findings come from.
        detectors: Those that find them.
        emitter: Tells the instrumentors of interventions.

    Attributes:
        callbacks: The host's functions.
        problems: What cannot be read in the settings or never happens, one sentence each.
    """

    def __init__(
        self,
        settings: Settings,
        watch: Watch,
        detectors: Iterable[type[Detector]],
        emitter: Emitter,
    ) -> None:
        self._watch = watch
        self._emitter = emitter
        where = settings.origin("actions")
        self._wanted = read_actions(settings.actions, where)
        self._instrumentors: list[Instrumentor] = []
        self._lock = forks.lock()  # protects the birth of the interventions
        silent = out_of_reach(self._wanted.interventions, f"{where}.intervene", detectors)
        self.problems = (*self._wanted.problems, *silent)
        self.callbacks = CallbackSink(watch.acted)
        more = {"release": settings.release, "environment": settings.environment}
        self._webhooks = [
            WebhookSink(webhook, watch.acted, more) for webhook in self._wanted.webhooks
        ]
        for sink in (self.callbacks, *self._webhooks):
            watch.add_sink(sink)
        if self._wanted.interventions:
            self.allow()

    def kinds(self) -> Iterator[str]:
        """Which actions the settings ask for."""
        if self._webhooks:
            yield "webhook"
        actions = {rule.action for rule in self._wanted.interventions}
        yield from sorted(actions | {rule.then for rule in self._wanted.interventions if rule.then})

    def allow(self) -> Interventions:
        """Let runs be acted on; the first call prepares the instrumentors."""
        with self._lock:
            made = self._emitter.interventions
            if made is None:
                watch = self._watch
                rules = self._wanted.interventions
                made = Interventions(rules, watch.runs, watch.acted, watch.renew)
                made.offer(("custom",), ("halt",))
                watch.add_sink(made)
                self._emitter.interventions = made
                for instrumentor in self._instrumentors:
                    self._prepare(made, instrumentor)
            return made

    def enabled(self, instrumentor: Instrumentor) -> None:
        """Take note of an instrumentor that is in place."""
        with self._lock:
            self._instrumentors.append(instrumentor)
            if self._emitter.interventions is not None:
                self._prepare(self._emitter.interventions, instrumentor)

    @staticmethod
    def _prepare(made: Interventions, instrumentor: Instrumentor) -> None:
        made.offer(instrumentor.frameworks or (instrumentor.name,), instrumentor.intervene())

    def flush(self, timeout: float) -> bool:
        """Wait for callbacks and webhooks.

        Args:
            timeout: Longest wait in seconds, for all of them together.

        Returns:
            Whether all was told.
        """
        return self._each(timeout, lambda sink, left: sink.flush(left))

    def close(self, timeout: float) -> None:
        """Flush, and do nothing more."""
        self._each(timeout, lambda sink, left: sink.close(left) is not False)
        self._emitter.interventions = None

    def _each(
        self, timeout: float, do: Callable[[CallbackSink | WebhookSink, float], bool]
    ) -> bool:
        deadline = time.monotonic() + timeout
        fine = True
        sinks: tuple[CallbackSink | WebhookSink, ...] = (self.callbacks, *self._webhooks)
        for sink in sinks:
            fine = do(sink, max(0.0, deadline - time.monotonic())) and fine
        return fine
