"""Runs one app of a library beside the producers that are named, and says what mastwatch saw.

``python witness.py LIBRARY`` imports the library, which takes most of the time, and forks a process
for each line of its input, ``{"producers": [], "mode": "hooks|spans", "env": {}, "log": PATH}``:
what that one prints goes to the log. It answers each with a line of JSON, by scenario.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from importlib import import_module
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

import mastwatch
from mastwatch.events import (
    Event,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.findings import Finding
from mastwatch.sink import Sink


class Seen(Sink):
    """What one scenario led to."""

    name = "seen"

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.clear()

    def clear(self) -> None:
        self.messages: list[Any] = []
        self.calls: list[Any] = []
        self.tools: list[Any] = []
        self.findings: list[Any] = []
        self.runs: list[Any] = []
        self.models = 0
        self.textless = 0.0

    def on_event(self, event: Event, framework: str) -> None:
        if isinstance(event, MessageSent):
            calls = [call.name for call in event.tool_calls]
            self.messages.append([event.index, event.branch, event.sender, event.text, calls])
        elif isinstance(event, ToolReturned):
            self.tools.append([event.index, event.branch, event.agent, event.name, event.result])
        elif isinstance(event, ToolCalled):
            self.calls.append([event.name, event.arguments])
        elif isinstance(event, ModelCalled):
            self.models += 1
        elif isinstance(event, RunStarted):
            self.runs.append([event.branch, event.name])
        if not isinstance(event, RunFinished):
            value = self.registry.get_sample_value(
                "mastwatch_runs_without_text", {"framework": framework}
            )
            self.textless = max(self.textless, value or 0.0)

    def on_finding(self, finding: Finding) -> None:
        self.findings.append(
            [finding.mode, finding.severity.label, finding.agent, finding.message_index,
             list(finding.evidence)]
        )  # fmt: skip


def main(library: str, producers: list[str], mode: str) -> dict[str, Any]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    registry = CollectorRegistry()
    handle = mastwatch.instrument(
        frameworks=None if mode == "hooks" else [], metrics="prometheus", registry=registry
    )
    trace.set_tracer_provider(provider)  # after: the bridge must learn of it
    app = import_module(f"{library}_app")
    for producer in producers:
        app.PRODUCERS[producer]()
    seen = Seen(registry)
    handle.add_sink(seen)
    result = {}
    for name, scenario in app.SCENARIOS.items():
        seen.clear()
        exporter.clear()
        scenario("native" in producers)
        spans = exporter.get_finished_spans()
        mine = [s for s in spans if s.instrumentation_scope.name == "mastwatch"]
        others = [s for s in spans if s not in mine]
        result[name] = {
            "messages": seen.messages,
            "calls": seen.calls,
            "tools": seen.tools,
            "findings": seen.findings,
            "runs": seen.runs,
            "models": seen.models,
            "textless": seen.textless,
            "ours": dict(Counter(span.name.split()[0] for span in mine)),
            "marked": sum(e.name == "mastwatch.finding" for s in spans for e in s.events),
            "told_runs": sum("mastwatch.run.id" in (s.attributes or {}) for s in others),
        }
    return result


def serve(library: str) -> None:
    import_module(f"{library}_app")
    for line in sys.stdin:
        asked = json.loads(line)
        if pid := os.fork():
            _, status = os.waitpid(pid, 0)
            if status != 0:
                print(json.dumps(None), flush=True)
            continue
        os.environ.update(asked["env"])
        log = os.open(asked["log"], os.O_WRONLY | os.O_APPEND)
        with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
            for stream in (sys.stdout, sys.stderr):
                os.dup2(log, stream.fileno())
            answers.write(json.dumps(main(library, asked["producers"], asked["mode"])) + "\n")
        sys.exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
