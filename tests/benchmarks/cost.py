"""What mastwatch costs: import time, and microseconds per message beside a bare span.

Run ``python tests/benchmarks/cost.py``. Both sides of each ratio are measured in turn in one
process, so that the machine's mood cancels out; read the ratios, not the absolute times.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import prometheus_client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import mastwatch
from mastwatch import registry
from mastwatch.events import MessageSent
from mastwatch.watch import Watch

ROUNDS, PER_ROUND = 40, 50
WORDS = [f"word{i}" for i in range(4_000)]


class Nowhere(SpanExporter):
    def export(self, spans):
        return SpanExportResult.SUCCESS


def import_seconds(module: str) -> float:
    """Median wall seconds of importing a module in a fresh process, less an empty one."""

    def once(code: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - began

    pairs = [(once(f"import {module}"), once("pass")) for _ in range(11)]
    return statistics.median(a - b for a, b in pairs)


def texts(words: int, turn: int) -> list[str]:
    """New text each round: repeated text would measure the path of a loop."""
    rng = random.Random(words * 1_000 + turn)
    return [" ".join(rng.choices(WORDS, k=words)) for _ in range(PER_ROUND)]


def bare(tracer: trace.Tracer, parent: trace.Span) -> Callable[[str, int], None]:
    context = trace.set_span_in_context(parent)

    def one(text: str, index: int) -> None:
        span = tracer.start_span(
            "agent_message Planner",
            context=context,
            attributes={
                "gen_ai.agent.name": "Planner",
                "mastwatch.run.id": "0" * 32,
                "mastwatch.framework": "custom",
            },
        )
        span.set_attributes(
            {
                "mastwatch.message.index": index,
                "mastwatch.message.sender": "Planner",
                "mastwatch.message.kind": "reply",
                "mastwatch.message.recipient": ("Coder",),
                "mastwatch.message.length": len(text),
            }
        )
        span.end()

    return one


def ten(tracer: trace.Tracer) -> Callable[[str, int], None]:
    attributes = {f"attribute.{i}": f"value {i}" for i in range(10)}

    def one(text: str, index: int) -> None:
        tracer.start_span("ten attributes", attributes=attributes).end()

    return one


def detectors_only() -> Callable[[str, int], None]:
    watch = Watch(registry.detectors())

    def one(text: str, index: int) -> None:
        watch.observe(
            MessageSent(run_id="r", id=f"#{index}", at=0.0, index=index, sender="P", text=text)
        )

    return one


def compare(sides: dict[str, Callable[[str, int], None]], words: int) -> dict[str, list[float]]:
    """Microseconds per message of each side, in turn, round by round."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    index = 0
    for turn in range(ROUNDS):
        corpus = texts(words, turn)
        for name, one in sides.items():
            for text in corpus:
                began = time.perf_counter_ns()
                one(text, index)
                times[name].append((time.perf_counter_ns() - began) / 1_000)
                index += 1
    return times


def main() -> None:
    for module in ("mastwatch", "opentelemetry.trace", "opentelemetry.sdk.trace"):
        print(f"import {module}: {import_seconds(module) * 1_000:.0f} ms")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    trace.set_tracer_provider(provider)
    # The bare spans come from a provider that nobody listens to: ours reads the global one's.
    alone = TracerProvider()
    alone.add_span_processor(BatchSpanProcessor(Nowhere()))
    tracer = alone.get_tracer("bench")
    with mastwatch.instrument(registry=prometheus_client.CollectorRegistry()):
        for words in (20, 130, 200, 1_000):  # 130 words are about 800 bytes
            with mastwatch.run("bench"):
                sides = {
                    "bare span, same attributes": bare(tracer, trace.get_current_span()),
                    "bare span, ten attributes": ten(tracer),
                    "mastwatch.message": lambda text, index: mastwatch.message(
                        "Planner", text, to="Coder"
                    ),
                    "signals and detectors alone": detectors_only(),
                }
                times = compare(sides, words)
            same = statistics.median(times["bare span, same attributes"])
            base = statistics.median(times["bare span, ten attributes"])
            for name, values in times.items():
                middle = statistics.median(values)
                tail = statistics.quantiles(values, n=100)[98]
                print(
                    f"{words:5} words  {name:28} median {middle:7.1f} us  p99 {tail:7.1f} us  "
                    f"{middle / same:5.2f} x same  {middle / base:5.2f} x ten, "
                    f"p99 {tail / base:5.2f} x ten"
                )


if __name__ == "__main__":
    main()
