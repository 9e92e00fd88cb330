"""The reply's schema, and reading a reply: typed values or a stated problem, never guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mastwatch.judge.replies import (
    Pairs,
    Quote,
    Unreadable,
    closed,
    confidence,
    is_clean,
    one_object,
    quote,
    words,
)

Word = Literal["present", "absent", "unsure"]
_WORDS: dict[str, Word] = {"present": "present", "absent": "absent", "unsure": "unsure"}
_TASK = ("yes", "no", "unclear")
MAX_EVIDENCE = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one reply says of one mode; not yet checked against the run.

    Attributes:
        word: Its verdict.
        confidence: 0 to 1; None when it is missing or no such number.
        quotes: Its evidence.
        why: In words.
        conflict: The reply judged the mode twice, differently.
    """

    word: Word
    confidence: float | None = None
    quotes: tuple[Quote, ...] = ()
    why: str = ""
    conflict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A reply that could be read.

    Attributes:
        opinions: By slug, those that were asked for and answered as the schema wants.
        task_completed: ``yes``, ``no`` or ``unclear``.
        missing: Slugs that were asked for and not answered.
        malformed: Slugs whose answer could not be read.
        ghosts: How many modes were judged that were not asked for.
        clean: The reply was one JSON object and nothing else.
    """

    opinions: Mapping[str, Opinion]
    task_completed: Literal["yes", "no", "unclear"] = "unclear"
    missing: tuple[str, ...] = ()
    malformed: tuple[str, ...] = ()
    ghosts: int = 0
    clean: bool = True


def reply_schema(slugs: Sequence[str]) -> dict[str, Any]:
    """JSON schema of a reply about the modes; every object closed, every key required.

    Lengths and ranges are checked after parsing: strict modes accept only a subset of the language.
    """
    evidence = closed({"msg": {"type": "integer"}, "quote": {"type": "string"}})
    opinion = closed(
        {
            "verdict": {"type": "string", "enum": list(_WORDS)},
            "confidence": {"type": "number"},
            "evidence": {"type": "array", "items": evidence},
            "why": {"type": "string"},
        }
    )
    return closed(
        {
            "modes": closed(dict.fromkeys(slugs, opinion)),
            "task_completed": {"type": "string", "enum": list(_TASK)},
        }
    )


def parse(text: str, slugs: Sequence[str]) -> Parsed | Unreadable:
    """Read a reply.

    Args:
        text: As it came; prose, fences or a byte order mark around one JSON object are passed over.
        slugs: The modes that were asked for.

    >>> parse("Step repetition: yes.", ["step_repetition"])
    Unreadable(problem='unparsable', detail="no JSON object with 'modes'")
    """
    found = one_object(text, "modes", dict)
    if isinstance(found, Unreadable):
        return found
    return _read(found, slugs, clean=is_clean(text))


def _read(value: Mapping[str, Any], slugs: Sequence[str], *, clean: bool) -> Parsed:
    modes = value["modes"]
    opinions: dict[str, Opinion] = {}
    malformed = []
    for slug in slugs:
        if slug not in modes:
            continue
        opinion = _opinion(modes, slug)
        if opinion is None:
            malformed.append(slug)
        else:
            opinions[slug] = opinion
    task = value.get("task_completed")
    return Parsed(
        opinions=opinions,
        task_completed=task if task in _TASK else "unclear",
        missing=tuple(slug for slug in slugs if slug not in modes),
        malformed=tuple(malformed),
        ghosts=sum(key not in slugs for key in modes),
        clean=clean,
    )


def _opinion(modes: Pairs, slug: str) -> Opinion | None:
    answers = [_one(answer) for answer in modes.twice.get(slug, [modes[slug]])]
    opinion = answers[-1]
    if opinion is None:
        return None
    if any(answer is None or answer.word != opinion.word for answer in answers):
        return Opinion(word="unsure", conflict=True, why=opinion.why)
    return opinion


def _one(answer: object) -> Opinion | None:
    if not isinstance(answer, dict):
        return None
    said = answer.get("verdict")
    word = _WORDS.get(said.strip().lower()) if isinstance(said, str) else None
    if word is None:
        return None
    evidence = answer.get("evidence")
    quotes = [quote(item) for item in evidence] if isinstance(evidence, list) else []
    return Opinion(
        word=word,
        confidence=confidence(answer.get("confidence")),
        quotes=tuple(found for found in quotes if found is not None)[:MAX_EVIDENCE],
        why=words(answer.get("why")),
    )
