"""What it tells of a run: everything that happened in-process, no text outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from unittest import mock

from mastwatch.events import (
    Event,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.spans import semconv
from mastwatch.testing.instrumentors.subject import (
    Listening,
    Subject,
    difference,
    done,
    installed,
    still_open,
    told,
)
from mastwatch.testing.recording import Recording
from mastwatch.testing.speech import QUOTE, strings

_STEPS = (semconv.INVOKE_WORKFLOW, semconv.INVOKE_AGENT, semconv.CHAT, semconv.EXECUTE_TOOL)
_LABELS = ("sender", "agent", "name", "model", "provider", "framework", "outcome", "error", "tags")
"""What of an event becomes a metric's label, or stands on spans whatever the content policy."""
_MUST = (RunStarted, MessageSent, ModelCalled, ToolCalled, ToolReturned, RunFinished)


def tells_what_happened(subject: Subject) -> Iterator[str]:
    """Every kind of event, every text; one span each, one trace, all ended, context as before."""
    recording = subject.recorded()
    kinds = {type(event) for event in recording.events}
    for kind in _MUST:
        if kind not in kinds:
            yield f"it tells no {kind.__name__} of run()"
    if count := still_open(recording):
        yield f"{count} runs never end"
    elif not subject.kind.listens:  # else the spans are the library's
        try:
            recording.check()
        except AssertionError as error:
            yield f"run(): {str(error).splitlines()[0] or 'Recording.check() fails'}"
    said = list(strings(map(_said, recording.events)))
    for text in subject.exercise.texts:
        if not any(text in each for each in said):
            yield f"it does not tell the text {text!r}, in-process"
    ends = {event.outcome for event in recording.of(RunFinished)}
    if ends - {"completed"}:
        yield f"run() is healthy, but ends as {', '.join(sorted(ends))}"
    if (prior := _unasked(recording.events)) is not None:
        yield f"a {type(prior).__name__} comes before its run's RunStarted, or after its end"


def _said(event: Event) -> object:
    """What it says of the transcript; a model's request only repeats that, but for its prompts."""
    if isinstance(event, ModelCalled):
        return [message.content for message in event.request or () if message.role == "system"]
    return event


def _unasked(events: Iterable[Event]) -> Event | None:
    """The first event of a run that has not begun, or is over."""
    going: set[tuple[str, str]] = set()
    for event in events:
        key = (event.run_id, event.branch)
        if isinstance(event, RunStarted):
            going.add(key)
        elif key not in going:
            return event
        if isinstance(event, RunFinished):
            going.discard(key)
    return None


def exports_no_text(subject: Subject) -> Iterator[str]:
    """Neither spans nor labels nor the log hold 12 characters of what was said."""
    recording = Recording()
    with Listening("mastwatch") as heard, installed(subject.kind, recording):
        done(subject.exercise.run)
    texts = subject.exercise.texts
    grams = {text[at : at + QUOTE] for text in texts for at in range(len(text) - QUOTE + 1)}
    for where, exported in _exported(recording, heard.lines):
        if any(exported[at : at + QUOTE] in grams for at in range(len(exported) - QUOTE + 1)):
            yield f"{where} quotes what was said in run()"
            return


def _exported(recording: Recording, lines: list[str]) -> Iterator[tuple[str, str]]:
    for span in recording.spans:
        yield f"the name of the span {span.name.split()[0]}", span.name
        yield f"the status of the span {span.name!r}", span.status.description or ""
        about: list[tuple[str, Any]] = list((span.attributes or {}).items())
        about += [item for event in span.events for item in (event.attributes or {}).items()]
        for key, value in about:
            for text in strings([value]):
                yield f"{key} of the span {span.name!r}", text
    for event in recording.events:
        for label in _LABELS:
            for text in strings([getattr(event, label, None)]):
                yield f"{label} of a {type(event).__name__}", text
    for line in lines:
        yield "the log of mastwatch", line


def leaves_spans_to_others(subject: Subject) -> Iterator[str]:
    """Where another producer is active it tells the same and opens no span of a step."""
    if not subject.kind.producers:
        return
    alone = told(subject.recorded())
    with mock.patch.object(subject.kind, "traced_by", return_value=subject.kind.producers):
        recording = subject.recorded()
    names = {span.name.split()[0] for span in recording.spans}
    if doubled := names.intersection(_STEPS):
        yield f"it opens {', '.join(sorted(doubled))} spans though {subject.kind.producers[0]} does"
    if told(recording) != alone:
        more = difference(told(recording), alone)
        yield f"beside another producer it tells something else: {more}"


def begins_anew_each_time(subject: Subject) -> Iterator[str]:
    """Two runs, one after the other, are two runs that tell the same."""
    once = told(subject.recorded())
    recording = Recording()
    with installed(subject.kind, recording):
        done(subject.exercise.run)
        done(subject.exercise.run)
    twice = {key: 2 * count for key, count in once.items()}
    if told(recording) != twice:
        more = difference(told(recording), once + once)
        yield f"a second run tells something else than the first: {more}"
    runs = {event.run_id for event in recording.of(RunStarted)}
    alone = {event.run_id for event in subject.recorded().of(RunStarted)}
    if len(runs) != 2 * len(alone):
        yield f"two runs of the exercise are {len(runs)} runs, one is {len(alone)}"
