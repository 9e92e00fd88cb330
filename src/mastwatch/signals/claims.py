"""When a message says that the run is over, and what it gives as the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

from mastwatch.signals import text as texts
from mastwatch.signals.vocabulary import (
    FAREWELL,
    FAREWELL_ASCII,
    REPLAN,
    UNSOLVABLE,
    UNSOLVABLE_STEMS,
    VERDICT,
    holds,
)

FALLBACK_TOKENS = ("TERMINATE", "###STOP###", "TASK_COMPLETE", "TASK COMPLETED", "<DONE>")
"""Looked for when neither the framework nor a prompt says how the run ends."""

CLOSING_CHARS = 250
TAIL_CHARS = 240
VERDICT_CHARS = 1000
MAX_TOKENS = 8
NUMBERS_KEPT = 256

# An instruction names the token: 'reply "TERMINATE" when done', "end with DONE", "say <STOP>".
_MINED = re.compile(
    r"""\b(?i:reply|respond|answer|end|finish|say|return|output|write|type|send|include|add)\b"""
    r"""[^.\n]{0,60}?["'`“‘(]*(TERMINATE|[A-Z]{3,}(?:_[A-Z]+)+|DONE|FINISHED|COMPLETED?|STOP|EXIT"""
    r"""|\#{2,3}[A-Z]+\#{2,3}|<[A-Z][A-Z_]{2,20}>|\[[A-Z][A-Z_]{2,20}\])(?![A-Za-z])"""
)
_INSTRUCTS = re.compile(
    r"\b(?:reply|respond|say|says|saying|only with|when|once|until|if|unless|before)\b",
    re.IGNORECASE,
)
# \b, \f, \a, \v and escape, eaten by a string literal that should have been raw.
_DAMAGED = re.compile(r"[\x07\x08\x0b\x0c\x1b][a-zA-Z]{2,}")
_NOISE = re.compile(r"\n[^\n]*(?:/|\\)[^\n]*:\d+: \w*Warning: .*\Z", re.DOTALL)
_ANSWER = re.compile(
    r"(?:\\|\x08)?b?oxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
    r"|(?:FINAL[ _]ANSWER|SOLUTION_FOUND)\W{0,6}([^\n]{1,200})"
)
_FINAL_LINE = re.compile(r"(?:\*\*)?(?:FINAL ANSWER|<final_answer>)\W")
_BLANK = re.compile(r"\\(?:text|mathrm|mbox|,|;|!|%|\$)|[\s{}$*`'\",]+|\.+$")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ENDS = "*_ \t\r\n"


def mine_tokens(prompts: Iterable[str]) -> tuple[str, ...]:
    """Find the tokens that prompts tell agents to end with.

    >>> mine_tokens(['Solve it. Reply "TERMINATE" when you are done.'])
    ('TERMINATE',)
    """
    found: dict[str, None] = {}
    for prompt in prompts:
        for match in _MINED.finditer(prompt[-8 * texts.TEXT_CAP :]):
            found.setdefault(match.group(1))
    return tuple(found)[:MAX_TOKENS]


def damaged(prompt: str) -> int:
    r"""Return a digest of the first token in a prompt that escapes destroyed, or 0.

    >>> damaged("put it in \x08oxed{}") != 0, damaged(r"put it in \boxed{}")
    (True, 0)
    """
    match = _DAMAGED.search(prompt)
    return texts.digest(match.group()) if match else 0


def claimed_token(text: str, tokens: tuple[str, ...]) -> str:
    r"""Return the token by which a text ends the run, or an empty string.

    The token stands alone on the last line, or last after a finished sentence; not in quotes or
    a code fence, not in a sentence that says when to use it.

    >>> claimed_token("All done. TERMINATE", ("TERMINATE",))
    'TERMINATE'
    >>> claimed_token('I will say "TERMINATE"', ("TERMINATE",))
    ''
    """
    # A claim stands at the end; looking there first spares searching the whole of most texts.
    end = text if "Warning:" in text[-TAIL_CHARS:] else text[-TAIL_CHARS:]
    for token in tokens:
        if token in end:
            break
    else:
        return "FINAL ANSWER" if _final_line(end) else ""
    body = _NOISE.sub("", text).rstrip(_ENDS)
    for token in tokens:
        for end in (body, body.rstrip(".!").rstrip(_ENDS)):
            if end.endswith(token) and _stands_alone(end[: -len(token)]):
                return token
    return ""


def _stands_alone(before: str) -> bool:
    if before.count("```") % 2:
        return False
    line = before[before.rfind("\n") + 1 :].rstrip(_ENDS)
    if not line:
        return True
    if line[-1] not in ".!?:;)]}。！？":
        return False
    sentence = re.split(r"(?<=[.!?。！？])\s+", line)[-1]
    return not (line[-1] in ":;" and _INSTRUCTS.search(sentence))


def _final_line(text: str) -> bool:
    if "FINAL ANSWER" not in text and "<final_answer>" not in text:
        return False
    last = text.rstrip(_ENDS).rpartition("\n")[2]
    return bool(_FINAL_LINE.match(last))


def answer(text: str) -> int:
    r"""Digest the last final value a text states, or 0; notation does not matter.

    >>> answer(r"so \boxed{7}") == answer(r"It is \boxed{\text{7}}.") != 0
    True
    """
    if "oxed{" not in text and "FINAL" not in text and "SOLUTION_FOUND" not in text:
        return 0
    value = ""
    for match in _ANSWER.finditer(text):
        value = match.group(1) or match.group(2) or ""
    value = _BLANK.sub("", value).casefold()
    return texts.digest(value) if value else 0


def question(text: str) -> bool:
    """Whether a text ends by asking."""
    return text.rstrip(_ENDS + "\"')").endswith(("?", "？"))


def farewell(text: str) -> bool:
    """Whether a text is a short farewell that asks for nothing."""
    if not 0 < len(text) < CLOSING_CHARS or "?" in text or "？" in text:
        return False
    return holds(text.casefold(), FAREWELL_ASCII if text.isascii() else FAREWELL)


def verdict(text: str) -> bool:
    """Whether a text praises, agrees or confirms and asks for nothing."""
    if len(text) >= VERDICT_CHARS or "?" in text or "？" in text:
        return False
    return holds(text.casefold(), VERDICT)


def unsolvable(text: str) -> bool:
    """Whether a text says that the task cannot be done."""
    folded = text[:VERDICT_CHARS].casefold()
    # Each of the phrases has one of the stems; most texts have none, and each search takes time.
    return holds(folded, UNSOLVABLE_STEMS) and holds(folded, UNSOLVABLE)


def replan(text: str) -> bool:
    """Whether a text opens like a new plan."""
    return holds(text[:40].casefold(), REPLAN)


class Numbers:
    """The numbers a run has met; after ``NUMBERS_KEPT`` it starts anew."""

    __slots__ = ("_met",)

    def __init__(self) -> None:
        self._met: set[int] = set()

    def add(self, text: str) -> int:
        """Take a text in; return how many numbers in it are new."""
        met = self._met
        before = len(met)
        for found in _NUMBER.findall(text[: texts.TEXT_CAP]):
            plain = found.replace(",", "")
            if "." in plain:
                plain = plain.rstrip("0").rstrip(".")
            met.add(crc32(plain.encode()))
        fresh = len(met) - before
        if len(met) > NUMBERS_KEPT:
            met.clear()
        return fresh

    def __len__(self) -> int:
        return len(self._met)
