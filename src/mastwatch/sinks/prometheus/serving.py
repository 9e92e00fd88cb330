"""Who serves ``/metrics``, on which port, and how Prometheus learns of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from mastwatch.guard import guard
from mastwatch.sinks.prometheus import shared
from mastwatch.sinks.prometheus.discovery import TargetFile
from mastwatch.sinks.prometheus.endpoint import PORTS_TRIED, MetricsServer

if TYPE_CHECKING:
    from mastwatch.settings import Settings

_log = logging.getLogger("mastwatch")


class Serving:
    """Serves the metrics of this process, and in a forked child those of the child.

    With values shared by several processes one of them serves all; else each serves its own, on the
    next free port, and says so in the folder ``prometheus_sd_dir`` if there is one.

    Args:
        settings: Host, port and folder.
        registry: What is served.
    """

    def __init__(self, settings: Settings, registry: CollectorRegistry) -> None:
        self._host, self._port = settings.prometheus_host, settings.prometheus_port
        self._targets = settings.prometheus_sd_dir
        self._registry = registry
        self._folder = shared.folder()
        self._turn = shared.Turn(self._folder) if self._folder is not None else None
        self._server: MetricsServer | None = None
        self._target: TargetFile | None = None
        self._refused = False

    @property
    def url(self) -> str | None:
        """Where ``/metrics`` is served, or None."""
        return self._server.url if self._server is not None else None

    def start(self) -> None:
        """Serve, unless it is done already or is another process's turn."""
        if self._server is not None or self._refused or self._port == 0:
            return
        if self._turn is not None and not self._turn.take():
            return
        try:
            self._server = MetricsServer(
                self._host, self._port, self._served(), or_any=bool(self._targets)
            )
        except OSError as error:
            self._refused = True  # said once; it would be no better the next time
            _log.warning(
                "mastwatch: no /metrics: cannot bind %s, ports %d to %d (%s). Set "
                "MASTWATCH_PROMETHEUS_PORT, or 0 to serve none.",
                self._host,
                self._port,
                self._port + PORTS_TRIED - 1,
                error.strerror,
            )
            return
        elsewhere = self._server.port != self._port and not self._targets
        level = logging.WARNING if elsewhere else logging.INFO
        _log.log(level, "mastwatch: metrics on %s", self._server.url)
        if self._targets:
            self._announce(self._server)

    def _announce(self, server: MetricsServer) -> None:
        try:
            self._target = TargetFile(self._targets, server.host, server.port)
        except OSError as error:
            _log.warning(
                "mastwatch: %s is not announced: prometheus_sd_dir %s cannot be written to (%s)",
                server.url,
                self._targets,
                error.strerror,
            )

    def _served(self) -> Collector:
        registry = shared.everything(self._folder) if self._folder else self._registry
        return _Tidied(registry, self._tidy)

    def _tidy(self) -> None:
        with guard("metrics.tidy"):
            if self._folder is not None:
                shared.bury(self._folder)
            if self._target is not None:
                self._target.sweep()

    def after_fork(self) -> None:
        """Let go of what is the parent's.

        Where somebody reads announcements the child serves at once, so that its first finding is
        an increase; else with its first event, as most forked children run no agents at all.
        """
        if self._server is not None:
            self._server.leave()
        self._server = self._target = None
        self._refused = False
        if self._turn is not None:
            self._turn.give_up()
        elif self._targets:
            self.start()

    def withdraw(self) -> None:
        """Take the announcement away: the process is about to end."""
        if self._target is not None:
            self._target.remove()
            self._target = None

    def close(self) -> None:
        """Stop serving."""
        self.withdraw()
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._turn is not None:
            self._turn.give_up()


class _Tidied(Collector):
    """A registry before whose every scrape something is done."""

    def __init__(self, registry: CollectorRegistry, tidy: Callable[[], None]) -> None:
        self._registry = registry
        self._tidy = tidy

    def collect(self) -> Iterable[Metric]:
        self._tidy()
        return self._registry.collect()

    def restricted_registry(self, names: Iterable[str]) -> Collector:
        """What ``?name[]=`` asks for."""
        return self._registry.restricted_registry(names)
