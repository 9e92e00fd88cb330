"""``mastwatch judge --worker``: a process that judges the runs of a store."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mastwatch import taxonomy
from mastwatch.attribution.duty import make_duties
from mastwatch.commands.judge_output import say
from mastwatch.commands.worker_files import ReportFiles
from mastwatch.judge.assembly import calibrations_of, make_judge
from mastwatch.judge.worker import Listener, Worker
from mastwatch.spans.suppress import untraced
from mastwatch.store import JobKind

if TYPE_CHECKING:
    from mastwatch.judge.calibrate import Calibrations
    from mastwatch.judge.settings import JudgeSettings
    from mastwatch.settings import Settings
    from mastwatch.store import Store
    from mastwatch.watch import Watch

PORT_VARIABLE = "MASTWATCH_JUDGE_PROMETHEUS_PORT"
PORT = 9465
_WORDS: dict[JobKind, str] = {"judge": "judged", "attribute": "attributed"}

_log = logging.getLogger("mastwatch")


def work(args: argparse.Namespace, chosen: Settings, how: JudgeSettings) -> int:
    """Judge until stopped, or with ``--once`` until no run waits.

    Returns:
        The exit status: 1 when ``--once`` had to leave runs waiting.

    Raises:
        ValueError: The judge cannot be set up.
        mastwatch.store.StoreError: The store cannot be used.
    """
    from mastwatch import _recording

    store = _recording.open_store(chosen)
    store.check()
    calibrations = calibrations_of(store.path)
    make_judge(None, how, store)  # says now what would fail later
    with _Outside(chosen, store, calibrations, args.out) as outside:
        worker = Worker(
            store,
            lambda: make_duties(None, how, store, calibrations),
            outside.listeners,
            at_once=how.concurrency,
        )
        say(f"judging runs of {store.path} with {how.model}{outside.where}")
        with untraced():
            asyncio.run(_run(worker, once=args.once))
    queues = [store.queue(kind) for kind in _WORDS]
    left, lent = (sum(queue[word] for queue in queues) for word in ("waiting", "running"))
    others = f", {lent} with other workers, or lent to one that died" if lent else ""
    told = ", ".join(f"{worker.finished[kind]} {word}" for kind, word in _WORDS.items())
    say(f"{told}, {left} waiting{others}")
    return 1 if args.once and left else 0


async def _run(worker: Worker, *, once: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)
    await worker.run(once=once)


class _Outside:
    """Whoever hears of reports: /metrics, the log, OTLP, files. Closed at the end.

    Args:
        settings: Where to export to.
        store: Of the runs.
        calibrations: For the metrics.
        folder: Reports are written here, too; None for none.
    """

    def __init__(
        self, settings: Settings, store: Store, calibrations: Calibrations, folder: Path | None
    ) -> None:
        from mastwatch.sinks.log import LogSink
        from mastwatch.sinks.verdicts import JudgeFindings, VerdictEvents
        from mastwatch.spans.content import ContentPolicy
        from mastwatch.spans.evaluation import EvaluationLog
        from mastwatch.spans.provider import Providers
        from mastwatch.watch import Watch

        watch = Watch()
        watch.add_sink(LogSink())
        self._providers = Providers(settings.flush_timeout, watch.drop)
        self._closing: list[Callable[[], object]] = [self._providers.close]  # in this order
        self.where = ""
        self.listeners: list[Listener] = [
            VerdictEvents(
                EvaluationLog(self._providers.logger), ContentPolicy(settings.capture_content)
            ),
            JudgeFindings(watch.announce),
        ]
        if folder is not None:
            files = ReportFiles(folder, store)
            self.listeners.append(files)
            self._closing.append(files.close)
        if settings.metrics in ("prometheus", "both"):
            self._serve(settings, watch, calibrations)

    def _serve(self, settings: Settings, watch: Watch, calibrations: Calibrations) -> None:
        from mastwatch.sinks.metrics.judge import JudgeMetrics
        from mastwatch.sinks.prometheus import (
            MetricsServer,
            PrometheusInstruments,
            PrometheusSink,
        )
        from mastwatch.spans.provider import version

        codes = [mode.code for mode in taxonomy.MODES]
        findings = PrometheusSink(watch.runs, judged=codes, version=version())
        metrics = JudgeMetrics(PrometheusInstruments(), calibrations)
        watch.add_sink(findings)
        self.listeners.append(metrics)
        self._closing = [*self._closing, findings.close, metrics.close]
        port = _port()
        if port == 0:
            return
        try:
            server = MetricsServer(settings.prometheus_host, port, findings.registry)
        except OSError as error:
            say(f"no /metrics on port {port} ({error.strerror}); set {PORT_VARIABLE}, 0 for none")
            return
        self._closing = [server.close, *self._closing]
        self.where = f", metrics on {server.url}"

    def __enter__(self) -> _Outside:
        return self

    def __exit__(self, *_: object) -> None:
        for close in self._closing:
            close()


def _port() -> int:
    given = os.environ.get(PORT_VARIABLE, "")
    if not given:
        return PORT
    if not given.isascii() or not given.isdigit() or int(given) > 65_535:
        say(f"{PORT_VARIABLE}: expected a port, not {given!r}; it is {PORT} then")
        return PORT
    return int(given)
