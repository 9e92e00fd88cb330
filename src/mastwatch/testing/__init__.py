"""The public kit for testing detectors and instrumentors of your own.

Write a run as a ``Script``, ask ``findings`` (or ``watched``) what a whole watch says of it, and
let ``check_detector`` go through the contract of ``detectors/README.md``:

>>> from mastwatch_detectors.step_repetition import StepRepetition
>>> run = Script()
>>> for _ in range(3):
...     run = run.call("read_page", {"page": 4}, "The bar is four metres deep.", agent="pilot")
>>> [(f.severity.label, f.agent, f.message_index) for f in findings(run, StepRepetition)]
[('warn', 'pilot', 2)]

For instrumentors there are ``Recording`` and ``check_instrumentor``, which goes through the
contract of ``instrumentations/README.md``.

Ids and times are counted up from the same start, so equal scripts are equal runs. An error of a
detector is raised here, where a live watch would count it and go on.
"""

from mastwatch.testing.contract import check_detector
from mastwatch.testing.corpus import Sample, corpus
from mastwatch.testing.instrumentors import Exercise, check_instrumentor
from mastwatch.testing.model_server import ScriptedModelServer
from mastwatch.testing.recording import Recording
from mastwatch.testing.script import Script
from mastwatch.testing.watched import Seen, findings, watched

__all__ = [
    "Exercise",
    "Recording",
    "Sample",
    "Script",
    "ScriptedModelServer",
    "Seen",
    "check_detector",
    "check_instrumentor",
    "corpus",
    "findings",
    "watched",
]
