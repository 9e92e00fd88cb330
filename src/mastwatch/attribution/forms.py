"""The replies that attribution asks for: their schemas, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mastwatch.attribution.said import (
    Checked,
    Half,
    HalfSaid,
    Proposal,
    Proposals,
    StepSaid,
    Word,
)
from mastwatch.judge.replies import (
    Pairs,
    Unreadable,
    closed,
    confidence,
    index,
    is_clean,
    one_object,
    quote,
    words,
)

_WORDS: dict[str, Word] = {"yes": "yes", "no": "no", "unsure": "unsure"}
_HALVES: dict[str, Half] = {"first": "first", "second": "second", "unclear": "unclear"}
MAX_PROPOSALS = 10
MAX_NAME = 120
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ObjectForm(Generic[_T]):
    """A reply that is one small JSON object; it is whole or it is none.

    Attributes:
        name: Names the schema.
        key: What the object must hold to be the answer.
        properties: JSON schema by key.
        make: Reads the object; None when a value is not as the schema wants it. The second
            argument says whether nothing stood around it.
    """

    name: str
    key: str
    properties: dict[str, Any]
    make: Callable[[Pairs, bool], _T | None]

    @property
    def about(self) -> tuple[str, ...]:
        """Its name: what is asked stands in the words of the question."""
        return (self.name,)

    def schema(self) -> dict[str, Any]:
        """JSON schema of the reply."""
        return closed(self.properties)

    def read(self, text: str) -> _T | Unreadable:
        """Read a reply."""
        found = one_object(text, self.key)
        if isinstance(found, Unreadable):
            return found
        made = self.make(found, is_clean(text)) if not found.twice else None
        return made if made is not None else Unreadable("schema", f"{self.key!r} cannot be read")

    def lacking(self, read: _T) -> tuple[str, ...]:
        """Nothing: a reply that lacks something is unreadable."""
        return ()

    def joined(self, first: _T, then: _T) -> _T:
        """The later one."""
        return then

    def clean(self, read: _T) -> bool:
        """Whether the reply was one JSON object and nothing else."""
        return bool(getattr(read, "clean", True))

    def repair(self, problem: str) -> str:
        """What is added to the question when a reply could not be used."""
        keys = ", ".join(self.properties)
        return (
            f"\n\nYour last answer could not be used: {problem}. Answer again with one JSON object "
            f"with exactly these keys: {keys}."
        )


_QUOTE = closed({"msg": {"type": "integer"}, "quote": {"type": "string"}})
_TEXT = {"type": "string"}
_YES_NO = {"type": "string", "enum": list(_WORDS)}
_STEP = {
    "step": {"type": ["integer", "null"]},
    "agent": _TEXT,
    "reason": _TEXT,
    "confidence": {"type": "number"},
}


def _proposals(value: Pairs, clean: bool) -> Proposals | None:
    listed = value["candidates"]
    if not isinstance(listed, list):
        return None
    items = [item for item in listed[:MAX_PROPOSALS] if isinstance(item, dict)]
    if listed and not items:
        return None
    return Proposals(steps=tuple(_proposal(item) for item in items), clean=clean)


def _proposal(item: dict[str, Any]) -> Proposal:
    return Proposal(
        step=index(item.get("step")),
        agent=words(item.get("agent"))[:MAX_NAME],
        reason=words(item.get("reason")),
        counterfactual=words(item.get("counterfactual")),
        confidence=confidence(item.get("confidence")),
        quote=quote(item.get("evidence")),
    )


def _choice(value: Pairs, clean: bool) -> Proposals | None:
    """One step, or none: ``null`` says that no step is to blame."""
    if value["step"] is None:
        return Proposals(clean=clean)
    proposal = _proposal(value)
    return None if proposal.step is None else Proposals(steps=(proposal,), clean=clean)


def _checked(value: Pairs, clean: bool) -> Checked | None:
    error, doomed, saves = (_word(value.get(key)) for key in ("is_error", "lost_before", "saves"))
    if error is None or doomed is None or saves is None:
        return None
    return Checked(
        error=error,
        doomed=doomed,
        saves=saves,
        quote=quote(value.get("evidence")),
        why=words(value.get("why")),
        clean=clean,
    )


def _step_said(value: Pairs, clean: bool) -> StepSaid | None:
    error = _word(value["error"])
    if error is None:
        return None
    said, found = words(value.get("reason")), quote(value.get("evidence"))
    return StepSaid(error=error, reason=said, quote=found, clean=clean)


def _half_said(value: Pairs, clean: bool) -> HalfSaid | None:
    said = value["half"]
    half = _HALVES.get(said.strip().lower()) if isinstance(said, str) else None
    reason = words(value.get("reason"))
    return None if half is None else HalfSaid(half=half, reason=reason, clean=clean)


def _word(value: object) -> Word | None:
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else None


PROPOSALS = ObjectForm(
    "proposals",
    "candidates",
    {
        "candidates": {
            "type": "array",
            "items": closed({**_STEP, "counterfactual": _TEXT, "evidence": _QUOTE}),
        }
    },
    _proposals,
)
CHOICE = ObjectForm("choice", "step", _STEP, _choice)
CHECK = ObjectForm(
    "check",
    "is_error",
    {
        "is_error": _YES_NO,
        "lost_before": _YES_NO,
        "saves": _YES_NO,
        "evidence": _QUOTE,
        "why": _TEXT,
    },
    _checked,
)
STEP = ObjectForm(
    "step", "error", {"error": _YES_NO, "reason": _TEXT, "evidence": _QUOTE}, _step_said
)
HALF = ObjectForm(
    "half",
    "half",
    {"half": {"type": "string", "enum": list(_HALVES)}, "reason": _TEXT},
    _half_said,
)
