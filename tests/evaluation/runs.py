"""Small records and detectors of our own, so that these tests do not depend on the real rules."""

from __future__ import annotations

import json

from mastwatch import registry
from mastwatch.detector import Detector
from mastwatch.events import MessageSent, ModelCalled, RunFinished
from mastwatch.findings import Severity


def record(id, *texts, agents=("Solver", "Checker"), **more):
    """A run whose messages go round the agents; a text may be a whole row."""
    rows = []
    for index, text in enumerate(texts):
        row = {"agent": agents[index % len(agents)], "role": "assistant", "content": text}
        rows.append({"index": index, **(text if isinstance(text, dict) else row)})
    return {"id": id, "framework": "custom", "task": "t", **more, "messages": rows}


def write(path, *records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return str(path)


class Word(Detector):
    """Fires where a message says so: ``hint``, ``overrun`` or ``LOUD``."""

    mode = "FM-1.5"
    name = "word"
    _levels = (("hint", Severity.SUSPECT), ("overrun", Severity.WARN), ("LOUD", Severity.ALERT))

    def observe(self, event, signals):
        if isinstance(event, RunFinished):
            return self._say(Severity.WARN, signals, "end") if event.reason else None
        text = event.text if isinstance(event, MessageSent) else None
        for word, level in self._levels:
            if text and word in text:
                return self._say(level, signals, word)
        return None

    def _say(self, level, signals, key):
        return self.finding(level, signals, key=key, agent="", evidence=(), explanation="said so")


class Loop(Word):
    mode = "FM-1.3"
    name = "loop"
    _levels = (("again", Severity.WARN),)


class Restart(Word):
    mode = "FM-2.1"
    name = "restart"
    _levels = (("anew", Severity.WARN),)

    def _say(self, level, signals, key):
        return super()._say(level, signals, f"{key}-{signals.index}")


class Counts(Detector):
    """Counts rows by their numbers instead of by messages: duplicated emission misleads it."""

    mode = "FM-1.3"
    name = "counts"

    def observe(self, event, signals):
        if signals.index < 4 or isinstance(event, ModelCalled | RunFinished):
            return None
        return self.finding(
            Severity.WARN, signals, key="k", agent="", evidence=(), explanation="row 4"
        )


STUBS = (Word, Loop, Restart)


def plugins(*kinds):
    found = [
        registry.Plugin(registry.DETECTORS, kind.name, "tests", "1", "t:T", kind) for kind in kinds
    ]
    return lambda group=None: found
