"""Spans of the host's own: next to no cost, and still found where they matter."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider

from mastwatch.events import MessageSent, RunStarted
from mastwatch.spans.bridge import Bridge, span_processor
from mastwatch.spans.bridging.passing import MAX_PASSING
from mastwatch.testing import Recording


def test_the_host_s_spans_are_held_no_longer_than_they_are_open():
    recording, provider = Recording(), TracerProvider()
    bridge = Bridge(recording.emitter)
    bridge.start()
    provider.add_span_processor(span_processor())
    tracer = provider.get_tracer("shop.http")
    try:
        left = [tracer.start_span("never ended") for _ in range(MAX_PASSING + 10)]
        assert len(bridge.listener._passing._spans) == MAX_PASSING
        for span in left:
            span.end()
        assert not bridge.listener._passing._spans
        assert not bridge.listener._open.all()
    finally:
        bridge.close()


def test_a_span_by_hand_is_known_by_what_is_written_on_it():
    recording, provider = Recording(), TracerProvider()
    bridge = Bridge(recording.emitter)
    bridge.start()
    provider.add_span_processor(span_processor())
    tracer = provider.get_tracer("shop.agents")
    try:
        with (
            tracer.start_as_current_span("GET /shop"),
            tracer.start_as_current_span("invoke_agent Clerk") as agent,
        ):
            agent.set_attribute("gen_ai.operation.name", "invoke_agent")
            agent.set_attribute("gen_ai.agent.name", "Clerk")
            with tracer.start_as_current_span("chat small") as chat:
                chat.set_attribute("gen_ai.operation.name", "chat")
                said = '[{"role": "assistant", "parts": [{"type": "text", "content": "Tea?"}]}]'
                chat.set_attribute("gen_ai.output.messages", said)
    finally:
        bridge.close()
    assert [(m.sender, m.text) for m in recording.of(MessageSent)] == [("Clerk", "Tea?")]
    assert len(recording.of(RunStarted)) == 1
