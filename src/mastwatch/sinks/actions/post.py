"""One signed message over HTTP: the standard library's client, verifying, following nobody."""

from __future__ import annotations

import hashlib
import hmac
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any, NamedTuple

SIGNATURE_HEADER = "X-Mastwatch-Signature"
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class Answer(NamedTuple):
    """What came of one try.

    Attributes:
        problem: What went wrong, without the address; empty when it arrived.
        again: Whether another try may help.
        wait: Seconds after which the receiver asks for it, if it does.
    """

    problem: str = ""
    again: bool = False
    wait: float | None = None


def sign(secret: str, body: bytes, at: int) -> str:
    """The signature header's value: time, and HMAC-SHA256 of ``<time>.<body>``.

    >>> sign("k", b"{}", 7)[:14]
    't=7,v1=676b269'
    """
    signed = hmac.new(secret.encode(), b"%d.%s" % (at, body), hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def post(url: str, body: bytes, secret: str, timeout: float) -> Answer:
    """Send a body once; a redirect is an error, since the next host was not asked for."""
    headers = {"Content-Type": "application/json", "User-Agent": "mastwatch"}
    if secret:
        headers[SIGNATURE_HEADER] = sign(secret, body, int(time.time()))
    request = urllib.request.Request(url, body, headers, method="POST")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout):
            return Answer()
    except urllib.error.HTTPError as error:
        error.close()
        wait = _retry_after(error.headers.get("Retry-After"))
        return Answer(f"HTTP {error.code}", error.code in _PASSING, wait)
    except urllib.error.URLError as error:
        return Answer(type(error.reason).__name__, again=True)
    except (OSError, HTTPException) as error:
        return Answer(type(error).__name__, again=True)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date; None for neither.

    >>> _retry_after("3"), _retry_after("soon"), _retry_after("Thu, 01 Jan 1970 00:00:00 GMT")
    (3.0, None, 0.0)
    """
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
