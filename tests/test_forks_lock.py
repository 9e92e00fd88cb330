"""What the garbage collector closes in the middle of our own code is told, and stops nobody."""

from __future__ import annotations

import threading

import pytest

from mastwatch import forks


def test_a_lock_may_be_taken_again_by_the_thread_that_holds_it():
    lock = forks.lock()
    with lock:
        assert lock.acquire(blocking=False)
        lock.release()
        other = []
        thread = threading.Thread(target=lambda: other.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
        assert other == [False]


def test_a_stream_that_is_collected_while_a_lock_of_ours_is_held_stops_nobody(monkeypatch):
    pytest.importorskip("langchain_core")
    import gc

    from langchain_core.language_models import FakeListChatModel

    from mastwatch.events import RunFinished
    from mastwatch.testing import Recording
    from mastwatch_instrumentations.langchain import LangChainInstrumentor

    recording, instrumentor = Recording(), LangChainInstrumentor()
    instrumentor.install(recording.emitter)
    held = recording.emitter._lock
    done = []

    def work() -> None:
        stream = FakeListChatModel(responses=["a long answer"]).stream("Hello?")
        next(stream)
        cycle = [stream]
        cycle.append(cycle)  # only the collector can free it
        del stream, cycle
        with held, recording.emitter.histories._lock:
            gc.collect()
        done.append(True)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    instrumentor.uninstall()
    assert done
    recording.emitter.histories.close()
    assert recording.of(RunFinished)
