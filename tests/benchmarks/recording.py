"""What keeping finished runs costs: per message in the host, per run in the store, and in memory.

Run ``python tests/benchmarks/recording.py``. The host's side is measured in turn with and without
the recorder in one process, so that the machine's mood cancels out.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
import tracemalloc
from pathlib import Path

import prometheus_client

import mastwatch
from mastwatch._handle import Handle
from mastwatch.events import ModelCalled, RequestMessage
from mastwatch.sinks.recorder import Recorder
from mastwatch.spans.core import firing_ids
from mastwatch.store.build import TraceBuilder
from mastwatch.store.sqlite import SqliteStore

WORDS = [f"word{i}" for i in range(4_000)]
ROUNDS, PER_RUN = 40, 50


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def per_message(handle: Handle, words: int) -> dict[str, list[float]]:
    """Microseconds per ``mastwatch.message``."""
    rng = random.Random(words)
    times: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(ROUNDS):
        for side, spent in times.items():
            handle.remove_sink(handle.recorder)
            if side == "with":
                handle.add_sink(handle.recorder)
            texts = [text(rng, words) for _ in range(PER_RUN)]
            with mastwatch.run("bench"):
                for one in texts:
                    began = time.perf_counter_ns()
                    mastwatch.message("Planner", one, to="Coder")
                    spent.append((time.perf_counter_ns() - began) / 1_000)
            mastwatch.flush(10)
    return times


def requests(turns: int, fresh: bool) -> float:
    """Microseconds per model call whose request repeats all that was said before."""
    rng = random.Random(1)
    builder, said, took = TraceBuilder("r"), [], 0.0
    for index in range(turns):
        said.append(text(rng, 200))
        # A framework that builds its messages anew each time hands over new, equal strings.
        shown = ["".join(list(one)) for one in said] if fresh else said
        request = tuple(RequestMessage(role="user", content=one) for one in shown)
        event = ModelCalled(run_id="r", index=index, agent="A", request=request)
        began = time.perf_counter()
        builder.add(event)
        took += time.perf_counter() - began
    return took / turns * 1e6


def throughput(folder: Path, rows: int) -> float:
    """Runs of so many rows that are written in a second, redaction and all."""
    store = SqliteStore(folder / f"throughput{rows}.sqlite")
    rng = random.Random(2)
    texts = [text(rng, 130) for _ in range(rows)]
    with mastwatch.instrument(prometheus_port=0, store=store.path, metrics="none") as handle:
        count = max(20, 2_000 // rows)
        runs = []
        for _ in range(count):
            run = handle.emitter.start_run("bench", framework="custom")
            for one in texts:
                run.message("A", one)
            runs.append(run)
        began = time.perf_counter()
        for run in runs:
            run.finish("completed")
        handle.flush(60)
        return count / (time.perf_counter() - began)


def memory(folder: Path) -> tuple[float, int]:
    """MiB that 3,000 endless runs take at the bound, and how many were given up."""
    from mastwatch.events import MessageSent

    lost: list[str] = []
    store = SqliteStore(folder / "memory.sqlite")
    recorder = Recorder(store, str, lost.append, firing_ids, max_bytes=32 * 2**20, max_runs=10**6)
    tracemalloc.start()
    for number in range(3_000):
        for index in range(20):
            said = f"{number} {index} " + "x" * 800
            event = MessageSent(run_id=f"r{number}", index=index, sender="A", text=said)
            recorder.on_event(event, "custom")
    size = tracemalloc.get_traced_memory()[0] / 2**20
    tracemalloc.stop()
    return size, len(lost)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        registry = prometheus_client.CollectorRegistry()
        with mastwatch.instrument(registry=registry, store=folder / "runs.sqlite") as handle:
            for words in (20, 130, 1_000):
                times = per_message(handle, words)
                for side, spent in times.items():
                    middle = statistics.median(spent)
                    tail = statistics.quantiles(spent, n=100)[98]
                    print(f"{words:5} words  {side:8} median {middle:6.1f} us  p99 {tail:6.1f} us")
        for turns in (50, 200):
            print(
                f"model call, {turns} turns: {requests(turns, False):.0f} us, "
                f"with new equal strings {requests(turns, True):.0f} us"
            )
        for rows in (10, 100):
            print(f"runs of {rows} messages: {throughput(folder, rows):.0f} written per second")
        size, lost = memory(folder)
        print(f"bound of 32 MiB: {size:.1f} MiB, {lost} of 3000 runs given up")


if __name__ == "__main__":
    main()
