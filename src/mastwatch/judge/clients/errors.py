"""From the errors of libraries and servers to a ``ModelError`` that says what to do.

Its message is ours: a server's or a library's may quote the run.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mastwatch.judge.client import ErrorKind, ModelError
from mastwatch.judge.clients.refusals import (
    Refusal,
    kind_of,
    limit_of,
    minds_sampling,
    out_of_credit,
    overflows,
    refusal_of,
)
from mastwatch.judge.clients.waits import seconds_asked

_PLAIN_CODE = re.compile(r"[A-Za-z0-9_.\-]{1,60}\Z")

_BY_CLASS: Mapping[str, ErrorKind] = {
    "ContextOverflowError": "context_overflow",
    "ContextLengthExceededError": "context_overflow",
    "ModelAuthenticationError": "auth",
    "ModelPermissionDeniedError": "auth",
    "AuthenticationError": "auth",
    "PermissionDeniedError": "auth",
    "MissingApiKeyError": "auth",
    "InsufficientFundsError": "auth",
    "ModelRateLimitError": "rate_limited",
    "RateLimitError": "rate_limited",
    "UnsupportedParameterError": "unsupported",
    "ModelTimeoutError": "timeout",
    "APITimeoutError": "timeout",
    "GatewayTimeoutError": "timeout",
    "TimeoutException": "timeout",
    "ModelConnectionError": "unreachable",
    "APIConnectionError": "unreachable",
    "TransportError": "unreachable",
    "ModelAPIError": "provider_error",
    "UpstreamProviderError": "provider_error",
    "APIResponseValidationError": "provider_error",
    "JSONDecodeError": "provider_error",
}
"""Errors of openai, LangChain, any-llm and httpx by the names of their classes: importing a
library to recognise its errors would load what the host does not use."""

_NEVER_SENT = ("ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror")
_LOST = ("RemoteProtocolError", "ReadError", "WriteError", "ConnectionError", "IncompleteRead")

_SAYS: Mapping[ErrorKind, str] = {
    "auth": "{where} refuses the key{told}: check it and what it may use",
    "rate_limited": "{where} is busy or limits requests{told}",
    "context_overflow": "the question is too long for the model at {where}{told}",
    "unsupported": "{where} does not support what was asked for{told}",
    "bad_request": "{where} refuses the request{told}",
    "timeout": "{where} did not answer in time, or closed the connection before it did",
    "unreachable": "{where} cannot be reached: check the address and that the server runs",
    "provider_error": "{where} had an error{told}",
}
_NOT_THERE = "{where} has no such model, or nothing at this address{told}"
"""No question fares better there: as though there were no server."""


def from_exception(error: BaseException, where: str) -> ModelError:
    """Say what an exception of a client library means.

    Args:
        error: It.
        where: The server or library, for the message.
    """
    if isinstance(error, ModelError):
        return error
    refusal = _refusal(error)
    named = _by_class(error)
    if refusal.status or refusal.code:
        return from_refusal(refusal, where, named)
    kind = _of_connection(error)
    if kind is not None:
        return _made(kind, where)
    if named is None and overflows(refusal.message):  # the server's words, and nothing else of it
        named = "context_overflow"
    return _made(
        named or "bad_request",
        where,
        told=f" ({type(error).__name__})",
        context_tokens=limit_of(refusal) if named == "context_overflow" else None,
    )


def from_refusal(refusal: Refusal, where: str, named: ErrorKind | None = None) -> ModelError:
    """Say what an error reply of a server means.

    Args:
        refusal: It.
        where: The server, for the message.
        named: What the library takes it for.
    """
    kind = kind_of(refusal, named)
    if refusal.status == 404 and kind == "bad_request":
        return ModelError("unreachable", _NOT_THERE.format(where=where, told=_told(refusal, kind)))
    return _made(
        kind,
        where,
        told=_told(refusal, kind),
        retry_after=seconds_asked(refusal.headers) if kind != "auth" else None,
        context_tokens=limit_of(refusal) if kind == "context_overflow" else None,
        sampling=minds_sampling(refusal) if kind == "unsupported" else None,
    )


def _told(refusal: Refusal, kind: ErrorKind) -> str:
    told = [f"HTTP {refusal.status}"] if refusal.status else []
    if _PLAIN_CODE.match(refusal.code):
        told.append(refusal.code)
    if refusal.status == 404:
        told.append("check the model's name, and the base URL, which mostly ends in /v1")
    if kind == "auth" and out_of_credit(refusal):
        told.append("the account has no credit left")
    return f" ({', '.join(told)})" if told else ""


def _made(
    kind: ErrorKind,
    where: str,
    *,
    told: str = "",
    retry_after: float | None = None,
    context_tokens: int | None = None,
    sampling: bool | None = None,
) -> ModelError:
    return ModelError(
        kind,
        _SAYS[kind].format(where=where, told=told),
        retry_after=retry_after,
        context_tokens=context_tokens,
        sampling=sampling,
    )


def _by_class(error: BaseException) -> ErrorKind | None:
    names = [kind.__name__ for kind in type(error).__mro__]
    return next((_BY_CLASS[name] for name in names if name in _BY_CLASS), None)


def _of_connection(error: BaseException) -> ErrorKind | None:
    """What became of the connection; None where the error is of another sort.

    A question that was sent may have been answered and charged for, though the answer was lost: it
    counts as timed out. One that could not be sent cost nothing.
    """
    names = {kind.__name__ for cause in _chain(error) for kind in type(cause).__mro__}
    if names.intersection(_NEVER_SENT):
        return "unreachable"
    if names.intersection(_LOST) or isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return "timeout"
    return "unreachable" if isinstance(error, OSError) else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(8):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or getattr(cause, "original_exception", None) or cause.__context__


def _refusal(error: BaseException) -> Refusal:
    """What an exception carries of the server's reply, and what the one it stands for carries."""
    original = getattr(error, "original_exception", None)
    source: Any = original if isinstance(original, BaseException) else error
    response = getattr(source, "response", None)
    headers = getattr(response, "headers", None) or {}
    found = refusal_of(getattr(source, "body", None))
    status = getattr(source, "status_code", None) or getattr(error, "status_code", None)
    return Refusal(
        status=status if isinstance(status, int) else 0,
        code=found.code or str(getattr(error, "code", None) or ""),
        param=found.param or str(getattr(error, "param", None) or ""),
        message=found.message or str(source),
        limit=found.limit,
        headers={str(key).lower(): str(value) for key, value in dict(headers).items()},
    )
