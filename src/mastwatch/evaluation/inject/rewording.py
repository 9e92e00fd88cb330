"""Copies of steps that are not quite the same."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from mastwatch.evaluation.inject import edit as edits
from mastwatch.evaluation.inject.language import phrases
from mastwatch.evaluation.inject.records import Step, again

_BANDS = {"near": edits.NEAR, "paraphrase": edits.PARAPHRASE}


def edited_message(
    step: Step, edit: str, band: str, language: str, rng: random.Random
) -> Step | None:
    """A message whose 4-gram Jaccard with the original lies in the band; None if none was found.

    Args:
        step: One message.
        edit: ``numbers``, ``stamp`` or ``words``.
        band: ``near`` or ``paraphrase``.
        language: For the words that are put in.
        rng: Chance.

    Raises:
        ValueError: No such edit or band.
    """
    if edit not in ("numbers", "stamp", "words") or band not in _BANDS:
        raise ValueError(
            f"edit={edit!r}, band={band!r}: known are numbers, stamp, words and {', '.join(_BANDS)}"
        )
    text = step[0]["content"]
    if edit == "numbers":
        changed = edits.new_numbers(text, _BANDS[band], rng)
    elif edit == "stamp":
        changed = edits.stamped(text, _BANDS[band], rng)
    else:
        changed = edits.to_band(text, _BANDS[band], rng, phrases(language)["fillers"])
    if changed is None:
        return None
    copy = again(step)
    copy[0]["content"] = changed
    return copy


def edited_call(step: Step, edit: str, rng: random.Random) -> Step | None:
    """The same call in another guise; None if the step does not lend itself to it.

    Args:
        step: A message with calls, and their results.
        edit: ``keys`` (arguments reordered, fresh request id), ``nonce`` (results bear a fresh id
            and time), ``result_keys`` (JSON results reordered), ``new_result`` (another answer).
        rng: Chance.

    Raises:
        ValueError: No such edit.
    """
    copy = again(step)
    if edit == "keys":
        calls = copy[0]["tool_calls"]
        if not all(isinstance(call.get("arguments"), Mapping) for call in calls):
            return None
        for call in calls:
            fresh = {**call["arguments"], "request_id": edits.token(rng)}
            call["arguments"] = edits.reordered(fresh, rng)
        return copy
    if edit not in _RESULTS:
        raise ValueError(f"edit={edit!r}: known are keys, {', '.join(_RESULTS)}")
    for row in copy[1:]:
        changed = _RESULTS[edit](row["content"] or "", rng)
        if changed is None:
            return None
        row["content"] = changed
    return copy


def _nonce(text: str, rng: random.Random) -> str:
    """Put a fresh id and time into a result, as wrappers do."""
    value = _object(text)
    if value is None:
        return f"[{edits.clock(rng)}] {text} (response id {edits.token(rng)}{edits.token(rng)})"
    stamped = {**value, "messageId": edits.token(rng) * 2, "servedAt": edits.clock(rng)}
    return json.dumps(stamped, ensure_ascii=False)


def _result_keys(text: str, rng: random.Random) -> str | None:
    value = _object(text)
    if value is None or len(value) < 2:
        return None
    return json.dumps(edits.reordered(value, rng), ensure_ascii=False)


def _new_result(text: str, rng: random.Random) -> str:
    """Give another answer: a job that gets on."""
    share = rng.randint(1, 99)
    value = _object(text)
    if value is None:
        return f"{text}\nstate: {share}.{rng.randint(100, 999)} % done"
    return json.dumps({**value, "done": share, "left": rng.randint(100, 999)}, ensure_ascii=False)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


_RESULTS = {"nonce": _nonce, "result_keys": _result_keys, "new_result": _new_result}
