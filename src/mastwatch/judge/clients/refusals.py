"""What servers say when they refuse, in OpenAI's error object and in words of their own.

They tell the same things in different ways, most of them only in words, so those of the common ones
are written down here. They are read and never passed on: they may quote the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mastwatch.judge.client import ErrorKind

_OVERFLOW_CODES = (
    "context_length_exceeded",  # OpenAI
    "exceed_context_size_error",  # llama.cpp
    "context_exceeded",
    "string_above_max_length",
)
_OVERFLOW = re.compile(
    r"maximum context length|context (?:length|window|size)|max(?:imum)? model len"
    r"|(?:prompt|input|request) (?:is )?too (?:long|large)|too many (?:input )?tokens"
    r"|input tokens? (?:count )?(?:\(\d+\) )?exceeds?",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"(?:context length|model length|context (?:window|size))(?: \(| is | of |: ?)+(\d+)"
    r"|(\d+) (?:maximum|max)\b|with (\d+) maximum|(?:limit|length) of (\d+)"
    r"|allowed \((\d+)\)|tokens per min[^.]*limit:? (\d+)",
    re.IGNORECASE,
)
_TOO_LARGE_A_REQUEST = re.compile(r"request too large", re.IGNORECASE)
_FORMAT = re.compile(
    r"response_format|json_schema|json_object|json schema|json mode|structured output|grammar"
    r"|guided|tool_choice|\btools?\b|function call",
    re.IGNORECASE,
)
_SAMPLING = re.compile(
    r"temperature|top_p|top_k|\bseed\b|frequency_penalty|presence_penalty|sampling", re.IGNORECASE
)
_GRAMMAR = re.compile(r"parse grammar", re.IGNORECASE)  # llama.cpp, of a schema it cannot follow
_SPENT = re.compile(r"insufficient_quota|insufficient_funds|billing|credit", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What a server said beside its answer.

    Attributes:
        status: HTTP status; 0 when unknown.
        code, param, message: As in OpenAI's error object; the message is read, never shown.
        limit: What the model can take, where the error has a field for it.
        headers: With lower-case names.
    """

    status: int = 0
    code: str = ""
    param: str = ""
    message: str = ""
    limit: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def refusal_of(body: object) -> Refusal:
    """Read the error object of a reply, in or out of its ``error`` key."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(inner, str):
        return Refusal(message=inner)
    if not isinstance(inner, Mapping):
        return Refusal()
    code, sort = inner.get("code"), inner.get("type")
    limit = inner.get("n_ctx")  # llama.cpp
    return Refusal(
        status=code if isinstance(code, int) and 400 <= code < 600 else 0,
        code=code if isinstance(code, str) else _text(sort),
        param=_text(inner.get("param")),
        message=_text(inner.get("message")),
        limit=limit if isinstance(limit, int) and limit > 0 else None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def kind_of(refusal: Refusal, named: ErrorKind | None = None) -> ErrorKind:
    """What a refusal means.

    Args:
        refusal: It, with its status.
        named: What the library takes it for.
    """
    status, code = refusal.status, refusal.code
    words = f"{refusal.param} {code} {refusal.message}"
    if status in (401, 402, 403) or out_of_credit(refusal):
        return "auth"
    if named == "context_overflow" or code in _OVERFLOW_CODES:
        return "context_overflow"
    if status == 429:  # a request above the whole minute's allowance is never let through
        too_large = _TOO_LARGE_A_REQUEST.search(refusal.message)
        return "context_overflow" if too_large else "rate_limited"
    if status == 413 or (status in (400, 422, 500) and overflows(refusal.message)):
        return "context_overflow"
    if status in (400, 422, 501) and (_FORMAT.search(words) or _SAMPLING.search(words)):
        return "unsupported"
    if status == 500 and _GRAMMAR.search(words):
        return "unsupported"
    if status in (408, 504, 524):  # the model may have answered, and a proxy waited no longer
        return "timeout"
    if status >= 500 or status in (409, 425):
        return "provider_error"
    return "bad_request" if status else (named or "provider_error")


def overflows(message: str) -> bool:
    """Whether a message says that the question is too long."""
    return bool(_OVERFLOW.search(message))


def out_of_credit(refusal: Refusal) -> bool:
    """Whether the account is empty: waiting does not help."""
    return refusal.status == 402 or bool(_SPENT.search(refusal.code))


def minds_sampling(refusal: Refusal) -> bool | None:
    """Whether what is unsupported is a sampling parameter; None where that is not clear."""
    for said in (refusal.param, f"{refusal.code} {refusal.message}"):
        sampling, form = bool(_SAMPLING.search(said)), bool(_FORMAT.search(said))
        if sampling != form:
            return sampling
    return None


def limit_of(refusal: Refusal) -> int | None:
    """How many tokens the model can take, where the refusal says so."""
    if refusal.limit:
        return refusal.limit
    found = _LIMIT.search(refusal.message)
    value = next((group for group in found.groups() if group), None) if found else None
    return int(value) if value and len(value) < 10 else None
