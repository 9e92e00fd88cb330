"""Lets ``opentelemetry-instrument`` switch mastwatch on: one entry point for all frameworks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

import mastwatch


class MastwatchInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Calls ``mastwatch.instrument()``; which libraries are there it finds out itself."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """None: an absent library must not disable the others."""
        return ()

    def _instrument(self, **kwargs: Any) -> None:
        mastwatch.instrument()

    def _uninstrument(self, **kwargs: Any) -> None:
        mastwatch.uninstrument()
