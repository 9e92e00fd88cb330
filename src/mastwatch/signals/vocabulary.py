"""The words that signals are read from: names of tools, and the phrases of finishing.

Phrases are casefolded and matched as they stand. Adding a language is adding lines; no phrase may
be ordinary in the middle of work.
"""

from __future__ import annotations

MUTATING_VERBS = """
    add append apply approve assign book buy cancel change commit copy create delete deploy drop
    edit exchange insert install like merge modify move order patch pay post publish purchase put
    rename replace reset return save send set submit transfer uninstall update upload write
"""
"""Parts of a tool's name that say it changes the world, unless it begins with a reading verb."""

READING_VERBS = """
    check count describe fetch find get list load look query read search show view
"""

SPACER_TOOLS = """
    sleep wait pause noop idle think done scroll scroll_up scroll_down page_up page_down go_back
"""
"""Tools that pass time or move a viewport."""

FINISHING_TOOLS = """
    finish final_answer finalanswer complete_task task_complete attempt_completion finish_task
    submit_final_answer terminate end_conversation end_task mark_task_complete
"""
"""Tools whose call says that the run is over."""

VOLATILE_ARGUMENTS = """
    call_id callid tool_call_id toolcallid request_id requestid message_id messageid trace_id
    span_id nonce timestamp idempotency_key idempotencykey
"""
"""Arguments that identify the call. ``id`` alone is none: which object is asked for matters."""

FAREWELL = (
    "thank you", "thanks", "you're welcome", "you are welcome", "goodbye", "good bye", "bye!",
    "have a great", "have a good", "have a nice", "have a wonderful", "take care", "farewell",
    "until next time", "see you", "my pleasure", "glad i could help", "happy to help",
    "best of luck", "good luck", "feel free to reach out", "cheers",
    "danke", "vielen dank", "auf wiedersehen", "tschüss", "merci", "au revoir", "bonne journée",
    "gracias", "adiós", "hasta luego", "obrigad", "grazie", "arrivederci",
    "谢谢", "謝謝", "再见", "再見", "不客气", "ありがとう", "さようなら", "감사합니다",
    "спасибо", "до свидания",
)  # fmt: skip

VERDICT = (
    "is correct", "are correct", "correctly", "was correct", "is indeed", "are indeed", "is right",
    "i agree", "we agree", "all agree", "agree with", "in agreement", "is consistent", "matches",
    "is confirmed", "i confirm", "can confirm", "confirms", "confirmed", "is verified", "verified",
    "is accurate", "is valid", "validated", "aligns", "align with", "well done", "great job",
    "great work", "good job", "great teamwork", "teamwork", "collaboration", "successfully",
    "consensus", "no further", "nothing further", "concludes", "conclude that", "task is complete",
    "ist korrekt", "stimmt", "est correct", "es correcto", "正确", "正確", "同意", "верно",
)  # fmt: skip

UNSOLVABLE = (
    "cannot be solved", "can't be solved", "can not be solved", "unsolvable", "not solvable",
    "cannot solve", "can't solve", "impossible to solve", "impossible to determine",
    "cannot be determined", "can't be determined", "cannot determine", "cannot continue",
    "not enough information", "insufficient information", "don't have enough information",
    "need more information", "missing information", "insufficient data", "no solution",
    "unable to solve", "unable to complete", "cannot complete", "nicht lösbar",
    "无法解决", "无法确定",
)  # fmt: skip

UNSOLVABLE_STEMS = (
    "not solv", "cannot", "'t solve", "not be", "'t be", "impossible", "ufficient", "unable",
    "enough information", "more information", "missing information", "unsolvable", "no solution",
    "nicht lösbar", "无法",
)  # fmt: skip
"""What each of them holds, to be looked for first."""

REPLAN = ("new plan", "updated plan", "revised plan", "stalled", "replanning", "re-planning")


FAREWELL_ASCII = tuple(phrase for phrase in FAREWELL if phrase.isascii())
"""Those that an ASCII text can hold."""


def holds(text: str, phrases: tuple[str, ...]) -> bool:
    """Whether a casefolded text holds one of the phrases."""
    for phrase in phrases:  # noqa: SIM110 - any() takes twice as long
        if phrase in text:
            return True
    return False
