"""Words of substance, in any script."""

from __future__ import annotations

from mastwatch.signals import text as texts

LETTERS = 4
"""Shorter words of spaced scripts are mostly grammar; numbers always count."""


def substance(text: str) -> frozenset[str]:
    """Return the words of a text that carry what it says.

    Where words are not spaced, two characters that follow each other stand for a word.

    >>> sorted(substance("The pump at gate 12 is broken")), sorted(substance("修水泵"))
    (['12', 'broken', 'gate', 'pump'], ['修水', '水泵'])
    """
    parts = texts.words(text.replace("_", " "))
    if text.isascii():
        return frozenset([w for w in parts if len(w) >= LETTERS or w.isdigit()])
    found = set()
    for word, after in zip(parts, [*parts[1:], ""], strict=True):
        if len(word) == 1 and not word.isascii():
            if len(after) == 1 and not after.isascii():
                found.add(word + after)
        elif len(word) >= LETTERS or word.isdigit():
            found.add(word)
    return frozenset(found)


def capped(text: str, size: int = texts.TEXT_CAP) -> str:
    """Return a text cut to a bounded length; the same object where it is short."""
    return text if len(text) <= size else text[:size]
