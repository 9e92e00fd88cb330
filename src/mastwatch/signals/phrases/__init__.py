"""Phrases that say where a run stands: one ``.toml`` file per language beside this module.

Which lists there are and how to add a language: ``README.md`` in this folder. All files are read
once, when signals are first used. A text is searched for the phrases of the scripts it holds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_ENGLISH = " the "
"""What holds it is taken for English: phrases of others in Latin letters are not looked for."""

_SCRIPTS = {
    "cyrillic": re.compile("[\u0400-\u04ff]"),
    "hangul": re.compile("[\uac00-\ud7a3]"),
    "han": re.compile("[\u3040-\u30ff\u3400-\u9fff]"),
}
"""Other scripts: only a text with such letters is searched for their phrases, and for English."""


ascii_words = re.compile("[a-z'-]+").findall
"""Words of a casefolded ASCII text."""


def _load() -> dict[str, dict[str, Any]]:
    folder = sorted(files(__name__).iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8"))
        for file in folder
        if file.name.endswith(".toml")
    }


LANGUAGES = _load()
"""The lists of each language, as its file has them."""


class _Group(NamedTuple):
    """Phrases that are looked for together; each holds one of the stems, which are fewer."""

    stems: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    def within(self, text: str) -> bool:
        if not _holds(text, self.stems):
            return False
        return self.stems is self.phrases or _holds(text, self.phrases)


class Phrases:
    """One list of phrases in all languages.

    >>> FAREWELL.within("thank you for your help"), FAREWELL.within("感谢您的帮助")
    (True, True)
    """

    __slots__ = ("_ascii", "_by_head", "_english", "_every", "_latin", "_other", "_words")

    def __init__(self, name: str) -> None:
        groups: dict[str, tuple[list[str], list[str]]] = {}
        for language, lists in LANGUAGES.items():
            phrases = _folded(lists.get(name, ()))
            stems = _folded(lists.get(f"{name}_stems", ())) or phrases
            for phrase in phrases:
                groups.setdefault(_group(language, phrase), ([], []))[1].append(phrase)
            for stem in stems:
                groups.setdefault(_group(language, stem), ([], []))[0].append(stem)
        made = {key: _made(*lists) for key, lists in groups.items()}
        self._english = made.pop("english", _Group())
        self._ascii = made.pop("ascii", _Group())
        self._latin = made.pop("latin", _Group())
        self._other = tuple((_SCRIPTS[script].search, group) for script, group in made.items())
        self._every = tuple(p for _, lists in groups.items() for p in lists[1])
        ascii_ones = (*self._english.phrases, *self._ascii.phrases)
        self._words = frozenset(max(ascii_words(p), key=len, default=p) for p in ascii_ones)
        self._by_head: dict[str, list[str]] = {}  # their first two letters
        for phrase in self._every:
            self._by_head.setdefault(phrase[:2], []).append(phrase)

    def within(self, text: str) -> bool:
        """Whether a casefolded text holds one of the phrases."""
        if self._english.within(text):
            return True
        if text.isascii():
            return _ENGLISH not in text and self._ascii.within(text)
        latin = _ENGLISH not in text
        for written_in, group in self._other:
            if written_in(text):
                latin = False
                if group.within(text):
                    return True
        return latin and (self._ascii.within(text) or self._latin.within(text))

    def may_hold(self, text: str) -> bool:
        """Whether a casefolded ASCII text has the longest word of a phrase, a third of the work."""
        return not self._words.isdisjoint(ascii_words(text))

    def opens(self, text: str) -> bool:
        """Whether a casefolded text begins with one of the phrases, as whole words."""
        text = text.lstrip()
        for phrase in self._by_head.get(text[:2], ()):
            if text.startswith(phrase) and _ends(phrase, text):
                return True
        return False

    def closes(self, text: str) -> bool:
        """Whether a text ends with one of the phrases, as they are written."""
        return text.endswith(self._every)


def pattern(*names: str) -> str:
    """Return a regular expression for any phrase of these lists; words are matched whole.

    >>> bool(re.search(pattern("says"), "Please reply with a number.", re.IGNORECASE))
    True
    """
    phrases = {p for lists in LANGUAGES.values() for name in names for p in lists.get(name, ())}
    spaced = sorted(p for p in phrases if not _unspaced(p))
    unspaced = sorted(p for p in phrases if _unspaced(p))
    whole = rf"\b(?:{'|'.join(map(re.escape, spaced))})\b" if spaced else ""
    return "(?:" + "|".join(filter(None, [whole, *map(re.escape, unspaced)])) + ")"


def _holds(text: str, phrases: tuple[str, ...]) -> bool:
    for phrase in phrases:  # noqa: SIM110 - any() takes twice as long
        if phrase in text:
            return True
    return False


def _folded(phrases: Iterable[str]) -> list[str]:
    return [phrase.casefold() for phrase in phrases]


def _group(language: str, phrase: str) -> str:
    if language == "en":
        return "english"
    for script, letters in _SCRIPTS.items():
        if letters.search(phrase):
            return script
    return "ascii" if phrase.isascii() else "latin"


def _made(stems: list[str], phrases: list[str]) -> _Group:
    every = tuple(dict.fromkeys(phrases))
    return _Group(every if stems == phrases else tuple(dict.fromkeys(stems)), every)


def _unspaced(phrase: str) -> bool:
    return bool(_SCRIPTS["han"].search(phrase) or _SCRIPTS["hangul"].search(phrase))


def _ends(phrase: str, text: str) -> bool:
    after = text[len(phrase) : len(phrase) + 1]
    return _unspaced(phrase) or not (after.isalnum() or after == "_")


FAREWELL = Phrases("farewell")
VERDICT = Phrases("verdict")
UNSOLVABLE = Phrases("unsolvable")
SETTLED = Phrases("settled")
REPLAN = Phrases("replan")
SUMMARY = Phrases("summary")
GREETING = Phrases("greeting")
INTRODUCTION = Phrases("introduction")
COURTESY = Phrases("courtesy")
QUESTION = Phrases("question")
LEADS = Phrases("leads")
OVER = Phrases("over")
FAILED = Phrases("failed")
INFRA = Phrases("infra")
