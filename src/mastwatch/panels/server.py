"""A client of Prometheus' HTTP API: the few calls that are needed, nothing else."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

TIMEOUT = 30
_SCHEMES = ("http", "https")


class QueryError(Exception):
    """The server refused a query; the text is the server's."""


class ServerError(Exception):
    """The server cannot be asked; the text says why."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer.

    Attributes:
        labels: Its labels.
        points: Time and value, ascending; one for an instant query.
    """

    labels: dict[str, str]
    points: tuple[tuple[float, float], ...]


class Prometheus:
    """A running Prometheus.

    Args:
        url: Its address, ``http://localhost:9090``; a path before ``/api`` may follow.

    Raises:
        ServerError: The address is none of HTTP.
    """

    def __init__(self, url: str) -> None:
        if urllib.parse.urlsplit(url).scheme not in _SCHEMES:
            raise ServerError(f"{url!r} is no address; write http://localhost:9090")
        self.url = url.rstrip("/")

    def now(self) -> float:
        """The server's clock: series of the future are as empty as those of the past."""
        return float(self._get("query", {"query": "time()"})["result"][0])

    def query(self, expr: str, at: float) -> list[Series]:
        """The value at a time.

        Raises:
            QueryError: The server refuses it.
            ServerError: The server cannot be asked.
        """
        return _series(self._get("query", {"query": expr, "time": f"{at:.3f}"}))

    def query_range(self, expr: str, start: float, end: float, step: float) -> list[Series]:
        """The values between two times.

        Raises:
            QueryError: The server refuses it.
            ServerError: The server cannot be asked.
        """
        asked = {"query": expr, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
        return _series(self._get("query_range", asked))

    def rules(self) -> dict[str, str]:
        """Health of the rules that are loaded, by name: ``ok``, ``unknown`` or the error."""
        groups = self._get("rules", {})["groups"]
        return {
            rule["name"]: rule.get("lastError") or rule["health"]
            for group in groups
            for rule in group["rules"]
        }

    def _get(self, what: str, asked: dict[str, str]) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1/{what}",
            # As a form: a long query fits no address.
            data=urllib.parse.urlencode(asked).encode() if asked else None,
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise _refusal(error, self.url) from error
        except (OSError, ValueError, KeyError) as error:
            reason = getattr(error, "reason", error)
            raise ServerError(f"no Prometheus answers at {self.url}: {reason}") from error


def _refusal(error: urllib.error.HTTPError, url: str) -> Exception:
    try:
        return QueryError(str(json.load(error)["error"]))
    except (ValueError, KeyError, TypeError):
        return ServerError(f"{url} answers with HTTP status {error.code}; is it a Prometheus?")


def _series(data: Any) -> list[Series]:
    if data["resultType"] in ("scalar", "string"):
        return [Series({}, (_point(data["result"]),))]
    return [
        Series(found["metric"], tuple(map(_point, found.get("values") or [found["value"]])))
        for found in data["result"]
    ]


def _point(pair: list[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])
