"""Findings to a webhook: behind the host's back, never twice, never too many."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from mastwatch import forks
from mastwatch.findings import Finding
from mastwatch.guard import guard
from mastwatch.sink import Sink
from mastwatch.sinks.actions.gate import Gate
from mastwatch.sinks.actions.post import Answer, post
from mastwatch.sinks.actions.settings import WebhookSettings
from mastwatch.sinks.actions.templates import facts, sums
from mastwatch.spans.core import firing_ids
from mastwatch.spans.suppress import untraced

MAX_QUEUE = 256
"""Findings that may wait; beyond, one is dropped and counted."""
FIRST_PAUSE = 0.5
"""Seconds before the second try; they double from try to try."""
LONGEST_PAUSE = 60.0
"""Of a pause between two tries, whatever the receiver asks for."""

_log = logging.getLogger("mastwatch")


class WebhookSink(Sink):
    """Tells one receiver of findings, in a thread that starts with the first.

    Args:
        settings: Whom, of what, how.
        report: Told of each finding as ``("webhook", mode, result)``; a summary of held back ones
            has no mode.
        more: Facts of the process that go into each message (release, environment).
        send: Posts a body; tests give their own.
    """

    name = "webhook"

    def __init__(
        self,
        settings: WebhookSettings,
        report: Callable[[str, str, str], None],
        more: Mapping[str, str] | None = None,
        send: Callable[[str, bytes, str, float], Answer] = post,
    ) -> None:
        self._settings = settings
        self._report = report
        self._more = dict(more or {})
        self._send = send
        self._failing = False
        self._start()
        forks.remake(self)

    def _start(self) -> None:
        self._changed = threading.Condition()  # protects everything below
        self._queue: deque[tuple[Finding, dict[str, Any]]] = deque()
        self._gate = Gate(self._settings.dedupe_seconds, self._settings.per_minute)
        self._busy = False
        self._flushing = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def on_finding(self, finding: Finding) -> None:
        """Have the receiver told, if it wants to know; never waits."""
        wanted, modes = self._settings.min_severity, self._settings.modes
        if finding.severity < wanted:
            return
        if not (modes.match(finding.mode) or modes.match(finding.slug)):
            return
        trace, span = firing_ids()
        told = facts(finding, {**self._more, "trace_id": trace, "span_id": span})
        with self._changed:
            result = self._gate.admit(finding)
            if not result and (self._closed or len(self._queue) >= MAX_QUEUE):
                result = "dropped"
            if not result:
                self._queue.append((finding, told))
            if result in ("", "held_back") and self._thread is None and not self._closed:
                thread = threading.Thread(target=self._run, name="mastwatch-webhook", daemon=True)
                thread.start()  # refused while the interpreter ends
                self._thread = thread
            self._changed.notify_all()
        if result:
            self._report("webhook", finding.mode, result)

    def flush(self, timeout: float) -> bool:
        """Wait until all is told; what was held back is summed up now.

        Args:
            timeout: Longest wait in seconds.

        Returns:
            Whether it is.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            self._flushing = True
            self._changed.notify_all()
            try:
                while self._queue or self._busy or self._gate.held:
                    left = deadline - time.monotonic()
                    if left <= 0 or self._thread is None:
                        return False
                    self._changed.wait(left)
            finally:
                self._flushing = False
        return True

    def close(self, timeout: float) -> bool:
        """Flush, and tell no more; what is left is counted as dropped."""
        done = self.flush(timeout)
        with self._changed:
            self._closed = True
            left = [finding for finding, _ in self._queue]
            self._queue.clear()
            self._changed.notify_all()
        for finding in left:
            self._report("webhook", finding.mode, "dropped")
        return done

    def after_fork(self) -> None:
        """Begin anew: what waits is the parent's to tell, and its thread is not here."""
        self._start()

    def _run(self) -> None:
        while (message := self._next()) is not None:
            mode, told = message
            try:
                with guard("webhook"), untraced():
                    arrived = self._tell(told)
                    self._report("webhook", mode, "done" if arrived else "failed")
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _next(self) -> tuple[str, dict[str, Any]] | None:
        """Wait for the next message; None when there will be none."""
        with self._changed:
            while not self._closed:
                if self._queue:
                    finding, told = self._queue.popleft()
                    self._busy = True
                    return finding.mode, told
                due = self._gate.summary_due()
                if due is not None and (due <= 0 or self._flushing):
                    self._busy = True
                    return "", sums(self._gate.take_held(), self._more)
                self._changed.wait(due)
        return None

    def _tell(self, told: Mapping[str, Any]) -> bool:
        settings = self._settings
        body = settings.body.make(told)
        for tried in range(1, settings.tries + 1):
            answer = self._send(settings.url, body, settings.secret, settings.timeout)
            if not answer.problem:
                self._failing = False
                return True
            if not answer.again or tried == settings.tries or not self._pause(answer, tried):
                break
        if not self._failing:  # once, until one arrives again
            self._failing = True
            _log.warning(
                "mastwatch: the webhook at %s cannot be told (%s). Further failures are counted "
                "in mastwatch_actions_total.",
                settings.host,
                answer.problem,
            )
        return False

    def _pause(self, answer: Answer, tried: int) -> bool:
        """Wait for the next try; False when there is to be none."""
        pause = answer.wait
        if pause is None:
            # Spread, so that many processes do not come back to the receiver in step.
            pause = FIRST_PAUSE * 2 ** (tried - 1) * random.uniform(0.5, 1.0)
        until = time.monotonic() + min(pause, LONGEST_PAUSE)
        with self._changed:
            while not self._closed and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._closed
