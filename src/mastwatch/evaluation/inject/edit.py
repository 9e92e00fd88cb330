"""Editing a text until it is as alike to the original as asked for, in any script.

The unit is the word; in scripts without spaces (Han, kana, Thai, ...) the character.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

NEAR = (0.80, 0.95)
"""Jaccard band of a near-duplicate."""
PARAPHRASE = (0.55, 0.75)
"""Band of a looser rewording."""
OPENING = 40
"""Words (or characters) by which an opening is known."""
REOPENED = (0.50, 0.70)
"""Share of an opening's first 40 words that a resampled opening keeps."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_SIGN = re.compile(rf"[{_UNSPACED}]")
_DIGITS = re.compile(r"\d+")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_SENTENCE_UNITS = 5
_TRIES = 400

Measure = Callable[[str, str], float]


def units(text: str) -> list[str]:
    """Split into casefolded words, or characters where words are not spaced.

    >>> units("Order 7 OK"), units("订单 A7")
    (['order', '7', 'ok'], ['订', '单', 'a7'])
    """
    return _UNIT.findall(text.casefold())


def length(text: str) -> int:
    """Count words in a reader's sense: two characters of an unspaced script make one.

    >>> length("Please check order 7"), length("请查一下订单 A7")
    (4, 4)
    """
    signs = len(_SIGN.findall(text))
    return len(_UNIT.findall(text)) - signs + (signs + 1) // 2


def grams(parts: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """All runs of ``size`` units."""
    return set(zip(*(parts[n:] for n in range(size)), strict=False))


def jaccard(one: str, other: str, size: int = 4) -> float:
    """Jaccard similarity of the 4-grams of two texts.

    >>> jaccard("one two three four five", "one two three four six")
    0.3333333333333333
    """
    a, b = grams(units(one), size), grams(units(other), size)
    return len(a & b) / len(a | b) if a or b else float(one == other)


def containment(opening: str, text: str, first: int = OPENING, size: int = 3) -> float:
    """Share of the 3-grams of an opening's first 40 units that a text holds."""
    head = grams(units(opening)[:first], size)
    return len(head & grams(units(text), size)) / len(head) if head else 0.0


def to_band(
    text: str,
    band: tuple[float, float],
    rng: random.Random,
    fillers: Sequence[str],
    measure: Measure = jaccard,
) -> str | None:
    """Edit words until the measure lies in the band; None where no edits lead there.

    >>> text = "please check whether the parcel for order A17 left the depot in Lyon before noon"
    >>> edited = to_band(text, NEAR, random.Random(7), ["now", "again"])
    >>> 0.80 <= jaccard(text, edited) <= 0.95
    True
    """
    return _walk(text, band, measure, rng, lambda now: _word_edit(now, rng, fillers))


def reopened(text: str, rng: random.Random, fillers: Sequence[str]) -> str | None:
    """Reword an opening: edit its first 40 words until .5 to .7 of their 3-grams are left."""
    ends = [match.end() for match in _UNIT.finditer(text)]
    if not ends:
        return None
    cut = ends[min(OPENING, len(ends)) - 1]
    head, rest = text[:cut], text[cut:]
    # Measured with the rest, as a reader of the whole message would.
    edited = to_band(head, REOPENED, rng, fillers, lambda _, now: containment(text, now + rest))
    return None if edited is None else edited + rest


def new_numbers(text: str, band: tuple[float, float], rng: random.Random) -> str | None:
    """Change digits, one number after the other, until the Jaccard lies in the band."""
    if not _DIGITS.search(text):
        return None
    return _walk(text, band, jaccard, rng, lambda now: _digit_edit(now, rng))


def stamped(text: str, band: tuple[float, float], rng: random.Random) -> str | None:
    """Put a time, an attempt number and an id around a text until the Jaccard lies in the band."""
    stamps = [f"{token(rng)}", f"({clock(rng)})", f"#{rng.randint(100, 999)}", f"[{token(rng)}]"]
    edited = text
    for number, stamp in enumerate(stamps):
        edited = f"{edited} {stamp}" if number % 2 == 0 else f"{stamp} {edited}"
        if jaccard(text, edited) <= band[1]:
            break
    else:
        return to_band(edited, band, rng, stamps, lambda _, now: jaccard(text, now))
    return edited if jaccard(text, edited) >= band[0] else None


def sentences(text: str) -> list[str]:
    """The sentences of a text that are long enough to say something.

    >>> sentences("It is late. The parcel left the depot at noon!")
    ['The parcel left the depot at noon!']
    """
    found = (part.strip() for part in _SENTENCE.findall(text))
    return [part for part in found if len(units(part)) >= _SENTENCE_UNITS]


def token(rng: random.Random) -> str:
    """An id as programs make them."""
    return f"{rng.getrandbits(48):012x}"


def clock(rng: random.Random) -> str:
    """A moment of one day."""
    hour, minute, second = rng.randint(8, 19), rng.randint(0, 59), rng.randint(0, 59)
    return f"2026-03-14T{hour:02}:{minute:02}:{second:02}Z"


def reordered(value: object, rng: random.Random) -> object:
    """JSON with the keys of its objects in another order; equal otherwise."""
    if isinstance(value, Mapping):
        keys = list(value)
        moved = keys[:]
        while len(keys) > 1 and moved == keys:
            rng.shuffle(moved)
        return {key: reordered(value[key], rng) for key in moved}
    if isinstance(value, list):
        return [reordered(item, rng) for item in value]
    return value


def _walk(
    text: str,
    band: tuple[float, float],
    measure: Measure,
    rng: random.Random,
    edit: Callable[[str], str],
) -> str | None:
    """Take edits that do not lead below the band until one leads into it."""
    low, high = band
    now = text
    for _ in range(_TRIES):
        tried = edit(now)
        alike = measure(text, tried)
        if alike < low:
            continue
        now = tried
        if alike <= high:
            return now
    return None


def _word_edit(text: str, rng: random.Random, fillers: Sequence[str]) -> str:
    """Replace, add or leave out one unit."""
    spans = [match.span() for match in _UNIT.finditer(text)]
    if not spans:
        return text
    start, end = rng.choice(spans)
    filler = rng.choice(fillers)
    spaced = " " if filler.isascii() else ""
    how = rng.randrange(3)
    if how == 0:
        return text[:start] + filler + text[end:]
    if how == 1:
        return text[:end] + spaced + filler + text[end:]
    return text[:start] + text[end:].lstrip(" ")


def _digit_edit(text: str, rng: random.Random) -> str:
    start, end = rng.choice([match.span() for match in _DIGITS.finditer(text)])
    first = str(rng.randint(1, 9))
    return text[:start] + first + "".join(rng.choices("0123456789", k=end - start - 1)) + text[end:]
