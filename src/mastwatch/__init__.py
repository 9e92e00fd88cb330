"""mastwatch: watch live multi-agent LLM systems.

``mastwatch.instrument()`` in an existing app gives OpenTelemetry spans for every agent message and
tool call and flags MAST failure modes while the run is still going.
"""

from mastwatch._instrument import Handle, flush, instrument, on_finding, uninstrument
from mastwatch.detector import Detector
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.instrumentor import DidNotEnable, Instrumentor
from mastwatch.manual import message, outcome, run, tool

__all__ = [
    "Detector",
    "DidNotEnable",
    "Finding",
    "Handle",
    "Instrumentor",
    "Notice",
    "Severity",
    "flush",
    "instrument",
    "message",
    "on_finding",
    "outcome",
    "run",
    "tool",
    "uninstrument",
]
