"""How others write their spans: one module per producer, each with a ``DIALECT``.

To add one, write ``spans/dialects/<name>.py`` against ``spans.foreign.step.Dialect`` and name it
in ``NAMES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from mastwatch.spans.foreign.step import Dialect

NAMES = (
    "openinference",
    "openlit",
    "openllmetry",
    "langsmith",
    "ag2_classic",
    "ag2",
    "autogen_core",
    "pydantic_ai",
    "google_adk",
    "agent_framework",
    "strands",
    "mcp",
    "genai",
)
"""Asked in this order whether a span is theirs: who writes keys of its own first, ``genai`` last,
since nearly all write some of its keys."""

FAMILIES = ("gen_ai.", "openinference.", "traceloop.", "llm.", "ag2.", "langsmith.", "gcp.vertex.")
"""How keys begin by which a span may be told; a span without any is of no dialect."""


@cache
def dialects() -> tuple[Dialect, ...]:
    """All dialects, in the order in which they are asked."""
    return tuple(import_module(f"{__name__}.{name}").DIALECT for name in NAMES)


@lru_cache(maxsize=512)
def by_scope(scope: str, version: str) -> Dialect | None:
    """The dialect of an instrumentation scope; None where the scope alone does not tell."""
    return next((each for each in dialects() if each.claims(scope, version, {})), None)


def may_be_read(attributes: Mapping[str, Any]) -> bool:
    """Whether some key is such that a dialect might know the span by it."""
    return any(key.startswith(FAMILIES) for key in attributes)


def by_attributes(scope: str, version: str, attributes: Mapping[str, Any]) -> Dialect | None:
    """The dialect of a span by what is written on it; None for a span that is none of ours."""
    if not may_be_read(attributes):
        return None  # most spans of most processes: cheaper than asking everyone
    return next((each for each in dialects() if each.claims(scope, version, attributes)), None)
