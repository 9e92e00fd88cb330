"""``instrument(judge=...)``: runs are judged behind the host's back, and only where asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mastwatch
from judge.stub import LOOP
from mastwatch.store.sqlite import SqliteStore

FAST = {"profile": "fast"}


def model(messages: list[dict[str, str]], schema: Any) -> dict[str, Any]:
    if "modes" not in schema["properties"]:  # a question of attribution: it blames nobody
        return {"candidates": []}
    none = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": "looked"}
    found: dict[str, Any] = dict.fromkeys(schema["properties"]["modes"]["required"], none)
    quotes = [{"msg": 1, "quote": LOOP}, {"msg": 3, "quote": LOOP}]
    found["step_repetition"] = {**none, "verdict": "present", "evidence": quotes}
    return {"modes": found, "task_completed": "no"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "runs.sqlite"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    before = otel._TRACER_PROVIDER
    exporter = InMemorySpanExporter()
    otel._TRACER_PROVIDER = TracerProvider()
    otel._TRACER_PROVIDER.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    otel._TRACER_PROVIDER = before


def watched(path: Path, judge: Any = model, **more: Any) -> mastwatch._handle.Handle:
    registry = prometheus_client.CollectorRegistry()
    more = {"judge_options": FAST, "detectors": (), **more}
    return mastwatch.instrument(judge=judge, store=path, registry=registry, **more)


def run(success: bool | None = False) -> str:
    with mastwatch.run("harbour", task="Find the log.") as handle:
        for number, text in enumerate(("Find it.", LOOP, "Not there.", LOOP)):
            mastwatch.message("Clerk" if number % 2 else "Chair", text)
        if success is not None:
            mastwatch.outcome(success=success)
    return handle.id


def until(true: Callable[[], Any], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("mastwatch-judge")]


def test_a_failed_run_is_judged_and_what_is_found_is_told(path, spans) -> None:
    told = []
    with watched(path) as handle:
        mastwatch.on_finding(told.append)
        run_id = run()
        store = SqliteStore(path)
        until(lambda: store.report(run_id) and told)
        registry = handle._metrics._prometheus.registry
        counted = registry.get_sample_value(
            "mastwatch_judge_verdicts_total", {"mode": "FM-1.3", "verdict": "present"}
        )
    assert counted == 1
    assert [(f.mode, f.source, f.run_id) for f in told] == [("FM-1.3", "judge", run_id)]
    report = store.report(run_id)
    assert (report.trigger, report.coverage) == ("outcome", 1.0)
    # The run's own spans, and none of the judge's.
    names = {span.name for span in spans.get_finished_spans()}
    assert names == {"invoke_workflow harbour", "agent_message Chair", "agent_message Clerk"}
    assert threads() == []


def test_no_thread_before_the_first_finished_run_and_healthy_runs_wait_for_the_sample(path) -> None:
    with watched(path, judge_options={**FAST, "sample": 0.0}) as handle:
        assert threads() == []
        healthy = run(success=True)
        assert handle.flush(5.0)
        store = SqliteStore(path)
        assert store.trace(healthy) is not None
        assert store.queue("judge") == {"waiting": 0, "running": 0, "done": 0}


def test_an_outcome_that_comes_late_has_the_run_judged(path) -> None:
    with watched(path, judge_options={**FAST, "sample": 0.0}):
        run_id = run(success=None)
        mastwatch.outcome(success=False, run_id=run_id)
        store = SqliteStore(path)
        until(lambda: store.report(run_id))
    assert store.report(run_id).trigger == "outcome"


def blaming(messages: list[dict[str, str]], schema: Any) -> dict[str, Any]:
    """Blames #3 for a failed run, and finds that the run did its task."""
    if "modes" in schema["properties"]:
        return {**model(messages, schema), "task_completed": "yes"}
    return {"step": 3, "agent": "", "reason": "It searches again.", "confidence": 0.9}


ONCE = {**FAST, "attribution": "all_at_once"}


def test_a_failed_run_is_attributed_after_it_was_judged(path, spans) -> None:
    with watched(path, blaming, judge_options=ONCE) as handle:
        run_id = run()
        store = SqliteStore(path)
        until(lambda: store.attribution(run_id))
        registry = handle._metrics._prometheus.registry
        labels = {
            "method": "all_at_once", "framework": "custom", "agent": "Clerk",
            "result": "attributed",
        }  # fmt: skip
        until(lambda: registry.get_sample_value("mastwatch_attributions_total", labels))
    found = store.attribution(run_id)
    assert (found.step, found.agent, found.trigger) == (3, "Clerk", "outcome")
    assert found.modes == ("step_repetition",)
    names = {span.name for span in spans.get_finished_spans()}
    assert names == {"invoke_workflow harbour", "agent_message Chair", "agent_message Clerk"}


def test_an_outcome_that_comes_after_the_judge_has_the_run_attributed(path) -> None:
    with watched(path, blaming, judge_options={**ONCE, "sample": 1.0}):
        run_id = run(success=None)
        store = SqliteStore(path)
        until(lambda: store.report(run_id))
        assert store.attribution(run_id) is None
        mastwatch.outcome(success=False, run_id=run_id)
        until(lambda: store.attribution(run_id))
        mastwatch.outcome(success=False, run_id=run_id)  # said again
    assert store.attribution(run_id).trigger == "outcome"
    assert store.queue("attribute") == {"waiting": 0, "running": 0, "done": 1}


def test_attribution_can_be_switched_off(path) -> None:
    with watched(path, blaming, judge_options={**FAST, "attribution": "off"}) as handle:
        run_id = run()
        store = SqliteStore(path)
        until(lambda: store.report(run_id))
        mastwatch.outcome(success=False, run_id=run_id)
        assert handle.flush(5.0)
    assert store.attribution(run_id) is None
    assert store.queue("attribute") == {"waiting": 0, "running": 0, "done": 0}


def test_judging_can_be_left_to_another_process(path) -> None:
    with watched(path, judge_options={**FAST, "in_process": False}) as handle:
        run()
        assert handle.flush(5.0)
        assert threads() == []
    assert SqliteStore(path).queue("judge")["waiting"] == 1


@pytest.mark.parametrize(
    ("judge", "options", "told"),
    [
        (True, FAST, "needs a model"),
        ("m", {"per_day": {"usd": 1}}, "no price"),
        ("m", {"modle": "x"}, "modle"),
        ("m", {"modes": ["FM-9.9"]}, "FM-9.9"),
        (7.5, FAST, "float"),
    ],
)
def test_a_judge_that_cannot_be_is_said_and_runs_are_kept(
    path, caplog, monkeypatch, judge, options, told
) -> None:
    monkeypatch.delenv("MASTWATCH_JUDGE_MODEL", raising=False)
    with watched(path, judge, judge_options=options) as handle:
        run_id = run()
        assert handle.flush(5.0)
    assert told in caplog.text
    assert "none is judged" in caplog.text
    assert SqliteStore(path).trace(run_id) is not None


def test_a_key_and_the_name_of_a_model_alone_do_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("MASTWATCH_JUDGE_MODEL", "m")
    monkeypatch.chdir(tmp_path)
    Path("mastwatch.toml").write_text('[judge]\nmodel = "m"\nsample = 1.0\n')
    with mastwatch.instrument(registry=prometheus_client.CollectorRegistry()) as handle:
        run()
        handle.flush(1.0)
        assert threads() == []
        assert handle.recorder is None
    assert [p.name for p in tmp_path.iterdir()] == ["mastwatch.toml"]


def test_a_chat_model_that_judges_is_not_watched_itself(path, spans) -> None:
    """The judge's own calls are no runs: else every report would be judged in turn."""
    pytest.importorskip("langchain_core")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from mastwatch.taxonomy import MODES

    schema = {"properties": {"modes": {"required": [mode.slug for mode in MODES]}}}
    reply = AIMessage(content=json.dumps(model([], schema)))
    chat = GenericFakeChatModel(messages=iter([reply] * 50))
    with watched(path, chat, frameworks=["langchain"]) as handle:
        run_id = run()
        store = SqliteStore(path)
        until(lambda: store.report(run_id))
        assert handle.flush(5.0)
    assert list(store.runs()) == [run_id]
    assert not [span.name for span in spans.get_finished_spans() if "chat" in span.name]


def test_a_model_that_hangs_does_not_hold_up_the_process_s_exit(path) -> None:
    code = """
        import sys, time
        import mastwatch

        def model(messages, schema):
            time.sleep(60)

        mastwatch.instrument(
            judge=model, store=sys.argv[1], metrics="none", flush_timeout=1.0,
            judge_options={"sample": 1.0},
        )
        with mastwatch.run("harbour"):
            mastwatch.message("Chair", "Find the log.")
        time.sleep(0.5)
        print(time.time(), flush=True)
    """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "OPENAI_API_KEY": "none"},
    )
    took = time.time() - float(process.stdout)
    assert process.returncode == 0, process.stderr
    assert took < 2.0
    assert SqliteStore(path).queue("judge") == {"waiting": 1, "running": 0, "done": 0}
