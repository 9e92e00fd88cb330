"""Reads a hub's envelopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mastwatch_instrumentations.ag2.reading import as_json

MESSAGE = "ag2.msg."
PACKET = "ag2.packet"  # a whole round of a workflow, its text included


@dataclass(frozen=True, slots=True)
class Post:
    """What one envelope says.

    Attributes:
        id: The hub's id of it.
        sender_id: Who posted it.
        audience: Whom it is for; None for everyone in the channel.
        text: What is said; empty for a packet that only hands over.
        answers: It was posted as the reply to another envelope.
        next_id: Whom the sender hands over to; empty for nobody.
        people: Those of the hub who are no agents.
    """

    id: str
    sender_id: str
    audience: tuple[str, ...] | None
    text: str
    answers: bool
    next_id: str
    people: frozenset[str]

    def to(self, participants: list[str]) -> list[str]:
        """Whom it reaches, of a channel's participants."""
        ids = participants if self.audience is None else self.audience
        return [each for each in ids if each != self.sender_id]


def read(hub: Any, envelope: Any, metadata: Any) -> Post | None:
    """Read an envelope; None for the protocol's own and for data."""
    kind, data = envelope.event_type, envelope.event_data
    if kind != PACKET and not kind.startswith(MESSAGE):
        return None
    said = data.get("body" if kind == PACKET else "text")
    routing = data.get("routing") or {}
    audience = envelope.audience
    return Post(
        id=envelope.envelope_id,
        sender_id=envelope.sender_id,
        audience=None if audience is None else tuple(audience),
        text=said if isinstance(said, str) else "" if said is None else as_json(said),
        answers=envelope.causation_id is not None,
        next_id=_next(hub, envelope, routing) if routing.get("kind") == "handoff" else "",
        people=_people(hub, [participant.agent_id for participant in metadata.participants]),
    )


def _next(hub: Any, envelope: Any, routing: dict[str, Any]) -> str:
    # A tool says whom it hands over to, or the workflow's graph has a rule for the tool.
    state = hub.adapter_state(envelope.channel_id)
    return str(routing.get("target") or getattr(state, "expected_next_speaker", None) or "")


def _people(hub: Any, ids: list[str]) -> frozenset[str]:
    passports = getattr(hub, "_passports", {})  # the public way to them is a coroutine
    return frozenset(
        each for each in ids if getattr(passports.get(each), "effective_kind", "agent") == "human"
    )
