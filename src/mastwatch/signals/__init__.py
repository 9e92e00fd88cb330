"""What all detectors need, computed once per event: read ``Signals`` first.

Modules: ``facts`` (the records), ``text`` (hashes and sketches), ``clusters`` (near-repeats and
novelty), ``claims`` and ``vocabulary`` (the words of finishing), ``reading`` (messages),
``identity`` and ``calls`` (tool calls), ``requests`` (model requests), ``state`` (the whole).
"""

from mastwatch.signals.facts import Call, ErrorClass, Request, RequestChange, Result, Utterance
from mastwatch.signals.state import Signals

__all__ = [
    "Call",
    "ErrorClass",
    "Request",
    "RequestChange",
    "Result",
    "Signals",
    "Utterance",
]
