"""What a detector says: nothing of the text it saw, below its ceiling, of rows that there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from mastwatch.detector import Detector
from mastwatch.events import Event, MessageSent
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.testing.trial import Step, Subject, steps, verdicts

QUOTE = 12
"""Characters in a row, of text or arguments, that make an explanation or a key a quotation."""
KEY_LENGTH = 200
"""Characters of an episode's key at most."""
EPISODES = 4
"""Episodes in a run that say nothing about the key yet, however short the run."""

_NAMED = {"sender", "recipients", "agent", "source", "target", "name"}
_TEXTS = {"text", "arguments", "result", "content", "task", "prompts", "request", "tool_calls"}


def speaks_by_the_rules(subject: Subject) -> Iterator[str]:
    """Every verdict on every run."""
    spoke = False
    told: set[str] = set()
    for sample in subject.samples:
        run = Run(sample.events)
        episodes: set[str] = set()
        for step in steps(subject.make, sample.events):
            keys = _overheard(step.detector)
            verdict = step.observe()
            if verdict is None:
                continue
            spoke = True
            for breach in run.breaches(step, verdict, keys):
                if breach not in told:
                    yield f"{breach} (run {sample.name!r}, row {step.signals.index})"
                told.add(breach)
            if isinstance(verdict, Finding):
                episodes.add(verdict.fingerprint)
        if len(episodes) > max(EPISODES, len(run.rows) // 4):
            yield (
                f"it names {len(episodes)} episodes in a run of {len(run.rows)} rows "
                f"({sample.name!r}): the key must stay the same while the fault does"
            )
    if not spoke:
        yield "it says nothing of any run: give events=… in which it speaks"


def leaves_healthy_runs_alone(subject: Subject) -> Iterator[str]:
    """No warning of a run in which all is well."""
    for name, events, healthy in subject.samples:
        if not healthy:
            continue
        found = [v for v in verdicts(subject.make, events) if v.severity >= Severity.WARN]
        if found:
            yield (
                f"it says {found[0].severity.label} of the healthy run {name!r}, "
                f"row {found[0].message_index}"
            )
            return


def _overheard(detector: Detector) -> list[str]:
    """The keys that the detector will give to ``finding``: a Finding only holds their digest."""
    keys: list[str] = []
    say = type(detector).finding

    def finding(*args: object, **kwargs: object) -> Finding:
        keys.append(str(kwargs.get("key", "")))
        return say(detector, *args, **kwargs)  # type: ignore[arg-type]

    vars(detector)["finding"] = finding
    return keys


class Run:
    """What a run holds, to hold verdicts against."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        indices = (getattr(event, "index", -1) for event in events)
        self.rows = {index for index in indices if index >= 0}
        self._names = {name for event in events for name in _names(event)} - {""}
        words = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        self._named = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None
        texts = {text for event in events for text in strings(_parts(event, _TEXTS))}
        self._grams = {text[at : at + QUOTE] for text in texts for at in _places(text)}

    def breaches(self, step: Step, said: Finding | Notice, keys: list[str]) -> Iterator[str]:
        """What is wrong with a verdict."""
        detector = step.detector
        if isinstance(said, Finding) and (said.mode, said.detector) != (
            detector.mode,
            detector.name,
        ):
            yield "its finding has another mode or detector than its class"
        if said.severity > detector.ceiling:
            level, ceiling = said.severity.label, detector.ceiling.label
            yield f"its finding is {level}, above its ceiling {ceiling}"
        if said.run_id != step.event.run_id or said.message_index != step.signals.index:
            yield "its finding is not at the run and row of the event: use self.finding(...)"
        if said.agent and said.agent not in self._names:
            yield f"its finding names an agent that is not in the run: {said.agent!r}"
        if isinstance(said, Finding) and said.tool and said.tool not in self._names:
            yield f"its finding names a tool that is not in the run: {said.tool!r}"
        past = {row for row in self.rows if row <= step.signals.index}
        if not past.issuperset(said.evidence) or list(said.evidence) != sorted(said.evidence):
            yield f"its evidence {said.evidence} holds rows that the run did not have so far"
        if not said.explanation.strip():
            yield "its explanation is empty"
        if self._quotes(said.explanation):
            yield "its explanation quotes text or arguments of the run"
        for key in keys:
            if self._quotes(key):
                yield "the key of its finding quotes text or arguments of the run"
            if len(key) > KEY_LENGTH:
                yield f"the key of its finding has {len(key)} characters, over {KEY_LENGTH}"

    def _quotes(self, said: str) -> bool:
        if self._named is not None:  # agents and tools may be called by their names
            said = self._named.sub("\n", said)
        return any(said[at : at + QUOTE] in self._grams for at in _places(said))


def _places(text: str) -> range:
    return range(len(text) - QUOTE + 1)


def _names(event: Event) -> Iterator[str]:
    yield from strings(_parts(event, _NAMED))
    if isinstance(event, MessageSent):
        yield from (call.name for call in event.tool_calls)


def _parts(event: Event, names: set[str]) -> Iterator[object]:
    return (getattr(event, f.name) for f in fields(event) if f.name in names)


def strings(things: Iterable[object]) -> Iterator[str]:
    """All strings in a heap of values, however nested."""
    for thing in things:
        if isinstance(thing, str):
            yield thing
        elif isinstance(thing, Mapping):
            yield from strings(thing.values())
        elif isinstance(thing, (list, tuple, set, frozenset)):
            yield from strings(thing)
        elif is_dataclass(thing):
            yield from strings(getattr(thing, field.name) for field in fields(thing))
