"""The reply's schema, and reading a reply: typed values or a stated problem, never guesses."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mastwatch.judge.render import visible

ReplyProblem = Literal["refusal", "empty", "truncated", "unparsable", "schema"]
Word = Literal["present", "absent", "unsure"]
_WORDS: dict[str, Word] = {"present": "present", "absent": "absent", "unsure": "unsure"}
_TASK = ("yes", "no", "unclear")
MAX_REPLY = 400_000
"""Characters of a reply that are read; a longer one is no answer to our question."""
MAX_EVIDENCE = 12
_REFUSES = re.compile(
    r"\b(?:i(?:['’]m| am)? (?:sorry|unable|not able|can(?:no|['’])t|won['’]t)|i must decline"
    r"|against my)\b|对不起|抱歉|无法(?:协助|提供)|申し訳|お手伝いできません",
    re.IGNORECASE,
)
WHY_CHARS = 600


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote as the model gave it: the row it named (None when it named none) and the words."""

    index: int | None
    text: str


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


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply that is no answer."""

    problem: ReplyProblem
    detail: str = field(default="", compare=False)


def reply_schema(slugs: Sequence[str]) -> dict[str, Any]:
    """JSON schema of a reply about the modes; every object closed, every key required.

    Lengths and ranges are checked after parsing: strict modes accept only a subset of the language.
    """
    quote = _closed({"msg": {"type": "integer"}, "quote": {"type": "string"}})
    opinion = _closed(
        {
            "verdict": {"type": "string", "enum": list(_WORDS)},
            "confidence": {"type": "number"},
            "evidence": {"type": "array", "items": quote},
            "why": {"type": "string"},
        }
    )
    return _closed(
        {
            "modes": _closed(dict.fromkeys(slugs, opinion)),
            "task_completed": {"type": "string", "enum": list(_TASK)},
        }
    )


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def parse(text: str, slugs: Sequence[str]) -> Parsed | Unreadable:
    """Read a reply.

    Args:
        text: As it came; prose, fences or a byte order mark around one JSON object are passed over.
        slugs: The modes that were asked for.

    >>> parse("Step repetition: yes.", ["step_repetition"])
    Unreadable(problem='unparsable', detail="no JSON object with 'modes'")
    """
    text = text.strip().lstrip("\ufeff").lstrip()
    if not text:
        return Unreadable("empty")
    if len(text) > MAX_REPLY:
        return Unreadable("truncated", f"{len(text)} characters")
    found = [value for value in _objects(text) if isinstance(value.get("modes"), dict)]
    if not found:
        return Unreadable("unparsable", "no JSON object with 'modes'")
    if len(found) > 1:
        return Unreadable("unparsable", f"{len(found)} JSON objects with 'modes'")
    if "modes" in found[0].twice:
        return Unreadable("unparsable", "'modes' stands twice in the JSON object")
    return _read(found[0], slugs, clean=text.startswith("{") and text.endswith("}"))


def refuses(text: str) -> bool:
    """Whether a reply that cannot be read declines to answer; it holds no JSON then.

    >>> refuses("I'm sorry, but I can't help with that."), refuses("Ignored agent input: yes")
    (True, False)
    """
    return "{" not in text and bool(_REFUSES.search(text[:400]))


class _Pairs(dict[str, Any]):
    """A JSON object that remembers keys that came twice."""

    twice: Mapping[str, list[Any]]


def _pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    made = _Pairs(pairs)
    by_key: dict[str, list[Any]] = {}
    for key, value in pairs:
        by_key.setdefault(key, []).append(value)
    made.twice = {key: values for key, values in by_key.items() if len(values) > 1}
    return made


def _objects(text: str) -> list[_Pairs]:
    """All JSON objects of a text that stand in no other one."""
    decoder = json.JSONDecoder(object_pairs_hook=_pairs)
    found: list[_Pairs] = []
    at = text.find("{")
    tries = 0
    while at >= 0 and tries < 64:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, _Pairs):
            found.append(value)
        at = text.find("{", end)
    return found


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


def _opinion(modes: _Pairs, slug: str) -> Opinion | None:
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
    quotes = [_quote(item) for item in evidence] if isinstance(evidence, list) else []
    why = answer.get("why")
    return Opinion(
        word=word,
        confidence=_confidence(answer.get("confidence")),
        quotes=tuple(quote for quote in quotes if quote is not None)[:MAX_EVIDENCE],
        why=visible(why[:WHY_CHARS]) if isinstance(why, str) else "",
    )


def _quote(item: object) -> Quote | None:
    if not isinstance(item, dict) or not isinstance(item.get("quote"), str):
        return None
    return Quote(_index(item.get("msg")), visible(item["quote"]))


def _index(value: object) -> int | None:
    """A row number: 17, 17.0, "17" or "#17"; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = value.strip().lstrip("#")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def _confidence(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= 1 else None
