"""Attributes of the utterance a span carries, and of the verdicts that fire on it."""

from __future__ import annotations

from typing import Any

from mastwatch.events import MessageSent
from mastwatch.findings import Finding
from mastwatch.spans import semconv
from mastwatch.spans.content import ContentPolicy
from mastwatch.spans.core import Verdict


def of_message(event: MessageSent, content: ContentPolicy) -> dict[str, Any]:
    """Attributes of the span that carries an utterance; text only where ``content`` says so."""
    attributes: dict[str, Any] = {
        semconv.MESSAGE_INDEX: event.index,
        semconv.MESSAGE_SENDER: event.sender,
        semconv.MESSAGE_KIND: event.kind,
    }
    if event.recipients:
        attributes[semconv.MESSAGE_RECIPIENT] = event.recipients
    if event.text is not None:
        attributes[semconv.MESSAGE_LENGTH] = len(event.text)
    if content.capture:
        message, cut = content.output_message(
            event.sender, event.role, event.text, event.tool_calls
        )
        attributes[semconv.OUTPUT_MESSAGES] = message
        attributes[semconv.MESSAGE_TRUNCATED] = cut
    return attributes


def of_verdict(verdict: Verdict) -> tuple[str, dict[str, Any]]:
    """Name and attributes of the span event for a finding or notice."""
    common = {
        "severity": verdict.severity.label,
        "detector": verdict.detector,
        "agent": verdict.agent,
        "message_index": verdict.message_index,
        "evidence": verdict.evidence,
        "explanation": verdict.explanation,
    }
    if isinstance(verdict, Finding):
        own = {
            "mode": verdict.mode,
            "slug": verdict.slug,
            "score": verdict.severity.score,
            "fingerprint": verdict.fingerprint,
            "episode": verdict.episode,
        }
        prefix, name = semconv.FINDING_PREFIX, semconv.FINDING_EVENT
    else:
        own = {"name": verdict.name}
        prefix, name = semconv.NOTICE_PREFIX, semconv.NOTICE_EVENT
    return name, {prefix + key: value for key, value in (common | own).items()}
