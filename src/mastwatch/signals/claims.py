"""When a message says that the run is over, and what it gives as the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mastwatch.signals import text as texts
from mastwatch.signals.phrases import (
    FAREWELL,
    OVER,
    QUESTION,
    REPLAN,
    SETTLED,
    UNSOLVABLE,
    VERDICT,
    pattern,
)

FALLBACK_TOKENS = ("TERMINATE", "###STOP###", "TASK_COMPLETE", "TASK COMPLETED", "<DONE>")
"""Looked for when neither the framework nor a prompt says how the run ends."""

CLOSING_CHARS = 250
TAIL_CHARS = 240
VERDICT_CHARS = 1000
MAX_TOKENS = 8

# An instruction names the token: 'reply "TERMINATE" when done', "end with DONE", "say <STOP>".
_TOKEN = re.compile(
    r"(?:TERMINATE|[A-Z]{3,}(?:_[A-Z]+)+|DONE|FINISHED|COMPLETED?|STOP|EXIT"
    r"|\#{2,3}[A-Z]+\#{2,3}|<[A-Z][A-Z_]{2,20}>|\[[A-Z][A-Z_]{2,20}\])(?![A-Za-z])"
)
# A token of other scripts is quoted, and says in its own words that something is over.
_QUOTED = re.compile(
    "[“\"'‘「『【]"
    "([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3][\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3 ]{1,11})"
    "(?=[。！.!]?[”\"'’」』】])"
)
_DENIED = re.compile("[未没沒不]|ない|ません|안 |못")
# The verb stands before it in the same sentence, or right behind: 「TERMINATE」と返信してください.
# 请说 asks for a word, 请说明 for an explanation.
_SAYS = re.compile(rf"(?i:{pattern('says')})(?!明)[^.。\n]*\Z")
_SAYS_AFTER = re.compile(rf"[。！.!]?[\"'`”’」』】）)]*\s?(?i:{pattern('says_after')})")
_SAYS_CHARS = 72  # before the token
_INSTRUCTS = re.compile(pattern("instructs"), re.IGNORECASE)
# \b, \f, \a, \v and escape, eaten by a string literal that should have been raw.
_DAMAGED = re.compile(r"[\x07\x08\x0b\x0c\x1b][a-zA-Z]{2,}")
_NOISE = re.compile(r"\n[^\n]*(?:/|\\)[^\n]*:\d+: \w*Warning: .*\Z", re.DOTALL)
_ANSWER = re.compile(
    r"(?:\\|\x08)?b?oxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
    r"|(?:FINAL[ _]ANSWER|SOLUTION_FOUND)\W{0,6}([^\n]{1,200})"
)
_FINAL_LINE = re.compile(r"(?:\*\*)?(?:FINAL ANSWER|<final_answer>)\W")
_FINAL_STARTS = ("FINAL ANSWER", "**FINAL ANSWER", "<final_answer>", "**<final_answer>")
_BLANK = re.compile(r"\\(?:text|mathrm|mbox|,|;|!|%|\$)|[\s{}$*`'\",]+|\.+$")
_ENDS = "*_ \t\r\n"
_STOPS = ".!。！"


def mine_tokens(prompts: Iterable[str]) -> tuple[str, ...]:
    """Find the tokens that prompts tell agents to end with.

    >>> mine_tokens(['Solve it. Reply "TERMINATE" when you are done.', "完成后回复“任务完成”。"])
    ('TERMINATE', '任务完成')
    """
    found: dict[str, None] = {}
    for prompt in prompts:
        end, past = prompt[-8 * texts.TEXT_CAP :], 0
        for match in sorted((*_TOKEN.finditer(end), *_quoted(end)), key=re.Match.start):
            before = end[max(past, match.start() - _SAYS_CHARS) : match.start()]
            if _SAYS.search(before) or _SAYS_AFTER.match(end, match.end()):
                found.setdefault(match.group(match.lastindex or 0))
                past = match.end()
    return tuple(found)[:MAX_TOKENS]


def _quoted(prompt: str) -> list[re.Match[str]]:
    if prompt.isascii():
        return []
    quoted = _QUOTED.finditer(prompt)
    return [m for m in quoted if OVER.within(m.group(1)) and not _DENIED.search(m.group(1))]


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
    tail = text[-TAIL_CHARS:].rstrip(_ENDS)
    ends = tail.endswith(tokens) or tail.rstrip(_STOPS).rstrip(_ENDS).endswith(tokens)
    if not ends and "Warning:" not in tail:
        return "FINAL ANSWER" if _final_line(tail) else ""
    body = _NOISE.sub("", text).rstrip(_ENDS)
    for token in tokens:
        for end in (body, body.rstrip(_STOPS).rstrip(_ENDS)):
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
    last = text.rpartition("\n")[2]
    return last.startswith(_FINAL_STARTS) and bool(_FINAL_LINE.match(last))


def answer(text: str) -> int:
    r"""Digest the last final value a text states, or 0; notation does not matter.

    >>> answer(r"so \boxed{7}") == answer(r"It is \boxed{\text{7}}.") != 0
    True
    """
    starts = [text.find(marker) for marker in _markers(text)]
    first = min((start for start in starts if start >= 0), default=-1)
    if first < 0:
        return 0
    value = ""
    for match in _ANSWER.finditer(text, max(0, first - len(r"\b"))):
        value = match.group(1) or match.group(2) or ""
    value = _BLANK.sub("", value).casefold()
    return texts.digest(value) if value else 0


def _markers(text: str) -> tuple[str, ...]:
    """What to look for; most texts lack a letter of it, which is found ten times as fast."""
    braces = ("oxed{",) if "{" in text else ()
    return (*braces, "FINAL", "SOLUTION_FOUND") if "F" in text else braces


def question(text: str) -> bool:
    """Whether a text ends by asking."""
    end = text.rstrip(_ENDS + "\"')")
    if end.endswith(("?", "？")):
        return True
    return not end.isascii() and QUESTION.closes(end.rstrip("。．.」』"))


def farewell(text: str) -> bool:
    """Whether a text is a short farewell that asks for nothing."""
    if not 0 < len(text) < CLOSING_CHARS or "?" in text or "？" in text:
        return False
    folded = text.casefold()
    if text.isascii() and not FAREWELL.may_hold(folded):
        return False
    return FAREWELL.within(folded)


def verdict(text: str) -> bool:
    """Whether a text praises, agrees or confirms and asks for nothing."""
    if len(text) >= VERDICT_CHARS or "?" in text or "？" in text:
        return False
    return VERDICT.within(text.casefold())


def plain(text: str) -> bool:
    """Whether a text asks nothing and shows neither formula nor code: what is left is talk."""
    # Four searches for one character; a pattern with all of them takes three times as long.
    return not ("=" in text or "?" in text or "`" in text or "？" in text)


def unsolvable(text: str) -> bool:
    """Whether a text says that the task cannot be done."""
    return UNSOLVABLE.within(text[:VERDICT_CHARS].casefold())


def settled(text: str) -> bool:
    """Whether a text says that the answer stands and nothing is left to do."""
    return SETTLED.within(text[:VERDICT_CHARS].casefold())


def replan(text: str) -> bool:
    """Whether a text opens like a new plan."""
    return REPLAN.within(text[:40].casefold())
