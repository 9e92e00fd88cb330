"""Which of the languages with phrases of their own a text is in, and those phrases."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = ("en", "zh", "ja", "mixed")
"""English, Chinese, Japanese, Chinese with much English in it."""

_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]+")
_LOOKED_AT = 20_000


def language(text: str) -> str:
    """Tell the language by its letters; what is none of ours counts as English.

    >>> language("Which order?"), language("请告诉我订单号"), language("注文番号を教えてください")
    ('en', 'zh', 'ja')
    >>> language("这个 service 的 latency 在 deploy 之后 rollback 了吗")
    'mixed'
    """
    text = text[:_LOOKED_AT]
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    latin = len(_LATIN.findall(text))
    if han + kana < latin / 4 or not han + kana:
        return "en"
    if kana > 0.1 * (han + kana):
        return "ja"
    return "mixed" if latin > 0.1 * han else "zh"


@cache
def phrases(language: str) -> dict[str, Any]:
    """What injectors say in a language; of one without a file of its own, in English.

    ``fillers`` (words put in by edits), ``claims``, ``acks`` and ``goodbyes`` (the run is over),
    ``nags`` and ``stalled`` (what a program repeats, what its partner replies), ``chatter``
    (verdicts and praise), ``narration`` (frames of a summing up), ``summary`` (of a compaction),
    ``system`` (a system prompt).

    >>> sorted(phrases("ja")) == sorted(phrases("en"))
    True
    """
    name = language if language in LANGUAGES else "en"
    file = resources.files(__package__) / "phrases" / f"{name}.json"
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded
