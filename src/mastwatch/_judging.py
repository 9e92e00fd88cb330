"""``judge=``: finished runs that deserve it are judged, in a thread that starts with the first."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mastwatch import _recording

if TYPE_CHECKING:
    from mastwatch._metrics import Metrics
    from mastwatch.judge.calibrate import Calibrations
    from mastwatch.judge.settings import JudgeSettings
    from mastwatch.judge.worker import Listener, WorkerThread
    from mastwatch.settings import Settings
    from mastwatch.sinks.metrics.judge import JudgeMetrics
    from mastwatch.sinks.recorder import Recorder, Wanted
    from mastwatch.spans.content import ContentPolicy
    from mastwatch.spans.evaluation import EvaluationLog
    from mastwatch.store import Store, Trace
    from mastwatch.watch import Watch

_log = logging.getLogger("mastwatch")


class Judging:
    """Judges the runs that a recorder keeps.

    Args:
        watch: Its sinks hear of what the judge finds.
        evaluations: Where verdicts are written.
        content: Whether with words of the run.
        counting: Whose exporters count them; nobody's if None.
    """

    def __init__(
        self,
        watch: Watch,
        evaluations: EvaluationLog,
        content: ContentPolicy,
        counting: Metrics | None,
    ) -> None:
        self._watch = watch
        self._evaluations = evaluations
        self._content = content
        self._counting = counting
        self._metrics: JudgeMetrics | None = None
        self._thread: WorkerThread | None = None

    def start(self, settings: Settings, recorder: Recorder) -> None:
        """Judge from now on; why that cannot be is said in the log, and runs are kept all the same.

        Args:
            settings: What was asked for.
            recorder: Told which runs are to be judged.
        """
        # Imported when asked for: without a judge nobody pays for it.
        from mastwatch.attribution.duty import make_duties
        from mastwatch.judge.assembly import calibrations_of, chosen_model, make_judge
        from mastwatch.judge.configure import configured
        from mastwatch.judge.worker import Worker, WorkerThread

        store = _recording.open_store(settings)
        try:
            model, how = chosen_model(settings.judge, configured(settings.judge_options))
            calibrations = calibrations_of(store.path)
            make_judge(model, how, store)  # says now what would fail later
        except (ValueError, TypeError) as error:
            _log.warning("mastwatch: %s. Runs are kept, none is judged.", error)
            return
        if how.in_process:
            listeners = self._listeners(calibrations)
            self._thread = WorkerThread(
                lambda: Worker(
                    store,
                    lambda: make_duties(model, how, store, calibrations),
                    listeners,
                    at_once=how.concurrency,
                )
            )
        recorder.wants = _Wants(how, store, self._thread)

    def close(self, timeout: float) -> bool:
        """Stop; what is not judged stays in the store. Returns whether the thread has ended."""
        done = self._thread is None or self._thread.close(timeout)
        if self._metrics is not None:
            self._metrics.close()
            self._metrics = None
        return done

    def _listeners(self, calibrations: Calibrations) -> list[Listener]:
        from mastwatch.sinks.verdicts import JudgeFindings, VerdictEvents

        listeners: list[Listener] = [
            VerdictEvents(self._evaluations, self._content),
            JudgeFindings(self._watch.announce),
        ]
        if self._counting is not None:
            from mastwatch.sinks.metrics.judge import JudgeMetrics

            self._metrics = JudgeMetrics(self._counting.more(), calibrations)
            listeners.append(self._metrics)
        return listeners


class _Wants:
    """Tells the recorder which runs are to be judged, and the thread that there is one.

    A run that was judged before its host said that it failed is to be attributed.
    """

    def __init__(self, settings: JudgeSettings, store: Store, thread: WorkerThread | None) -> None:
        self._settings = settings
        self._store = store
        self._thread = thread

    def __call__(self, trace: Trace) -> Wanted:
        from mastwatch.judge.triggers import trigger
        from mastwatch.sinks.recorder import Wanted

        why = trigger(trace, self._settings)
        if self._thread is not None:
            self._thread.wake()
        if self._late(trace):
            return Wanted("attribute", "outcome")
        return Wanted("judge", why) if why is not None else Wanted()

    def _late(self, trace: Trace) -> bool:
        if trace.success is not False or not self._settings.attribution.enabled:
            return False
        return self._store.report(trace.run_id) is not None
