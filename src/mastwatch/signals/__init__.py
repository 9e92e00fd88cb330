"""What all detectors need, computed once per event: read ``Signals`` first.

Modules: ``facts`` (the records), ``text`` (hashes and sketches), ``clusters`` (near-repeats and
novelty), ``claims`` (what a text says of the run's end), ``phrases`` (in which words, by language),
``vocabulary`` (the words in tools' names), ``reading`` (messages), ``identity`` and ``calls`` (tool
calls), ``requests`` and ``chain`` (model requests), ``state`` (the whole).
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
