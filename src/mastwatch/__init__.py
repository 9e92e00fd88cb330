"""mastwatch: watch live multi-agent LLM systems.

``mastwatch.instrument()`` in an existing app gives OpenTelemetry spans for every agent message and
tool call and flags MAST failure modes while the run is still going.
"""

from typing import TYPE_CHECKING

from mastwatch._instrument import (
    carrier,
    flush,
    halt,
    instrument,
    on_finding,
    span_processor,
    uninstrument,
)
from mastwatch.allowances import allow
from mastwatch.detector import Detector
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.instrumentor import DidNotEnable, Instrumentor
from mastwatch.manual import message, outcome, run, tool

if TYPE_CHECKING:
    from mastwatch._handle import Handle
    from mastwatch.interventions import RunHalted

__all__ = [
    "Detector",
    "DidNotEnable",
    "Finding",
    "Handle",
    "Instrumentor",
    "Notice",
    "RunHalted",
    "Severity",
    "allow",
    "carrier",
    "flush",
    "halt",
    "instrument",
    "message",
    "on_finding",
    "outcome",
    "run",
    "span_processor",
    "tool",
    "uninstrument",
]


def __getattr__(name: str) -> object:
    """Import what is heavy when it is asked for."""
    if name == "Handle":
        from mastwatch._handle import Handle

        return Handle
    if name == "RunHalted":
        from mastwatch.interventions import RunHalted

        return RunHalted
    if name == "__version__":
        from importlib import metadata

        return metadata.version("mastwatch")
    raise AttributeError(f"module 'mastwatch' has no attribute {name!r}")
