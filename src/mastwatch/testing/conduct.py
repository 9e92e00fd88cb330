"""How a detector behaves: never raises, keeps apart what is apart, repeats itself, only reads."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from mastwatch.events import Event
from mastwatch.findings import Finding
from mastwatch.signals import Signals
from mastwatch.testing.odd import odd_runs
from mastwatch.testing.trial import Raised, Subject, steps, verdicts
from mastwatch.testing.watched import watched


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheard(Event):
    """An event of a later version."""


def never_raises(subject: Subject) -> Iterator[str]:
    """Withheld, empty, huge and odd texts, missing arguments, rows out of order."""
    bugs: dict[str, str] = {}
    for about, events in odd_runs():
        for step in steps(subject.make, events):
            try:
                step.observe()
            except Raised as error:
                bugs.setdefault(error.place, f"{error}; {about}")
    yield from bugs.values()


def ignores_unknown_events(subject: Subject) -> Iterator[str]:
    """An event type it never saw between any two others changes nothing."""
    for name, events, _ in subject.samples:
        mixed = [e for event in events for e in (event, _unheard(event))]
        if _through(subject, mixed) != _through(subject, events):
            yield f"unknown events change its findings (run {name!r}): it must ignore their types"
            return


def _unheard(event: Event) -> Event:
    return Unheard(run_id=event.run_id, branch=event.branch, at=event.at)


def keeps_runs_apart(subject: Subject) -> Iterator[str]:
    """Runs whose events arrive in turns give what each gives alone."""
    alone = {name: _through(subject, events) for name, events, _ in subject.samples}
    turns = zip_longest(*(events for _, events, _ in subject.samples))
    mixed = _through(subject, (event for turn in turns for event in turn if event is not None))
    for name, found in alone.items():
        together = [f for f in mixed if f.run_id.startswith(f"{name}/")]
        if together != found:
            yield (
                f"interleaved with other runs, run {name!r} gives other findings than alone: "
                "it keeps state outside its instance"
            )
            return


def repeats_itself(subject: Subject) -> Iterator[str]:
    """The same events give the same verdicts twice in one process."""
    for name, events, _ in subject.samples:
        if verdicts(subject.make, events) != verdicts(subject.make, events):
            yield (
                f"run {name!r} gives other findings the second time: it is not deterministic "
                "(chance, a clock, state outside its instance)"
            )
            return


def only_reads(subject: Subject) -> Iterator[str]:
    """Neither events nor signals change under ``observe``."""
    events_changed = signals_changed = False
    for _, events, _ in subject.samples:
        events = copy.deepcopy(events)
        before = copy.deepcopy(events)
        for step in steps(subject.make, events):
            facts = _facts(step.signals)
            step.observe()
            now = _facts(step.signals)
            signals_changed |= any(now.get(name) != value for name, value in facts.items())
        events_changed |= events != before
    if events_changed:
        yield "it changes events: they are snapshots, to be read only"
    if signals_changed:
        yield "it changes signals: they are shared by all detectors, to be read only"


def _facts(signals: Signals) -> dict[str, object]:
    """The public facts; what signals keep for themselves may be worked out when it is asked for."""
    facts = {name: value for name, value in vars(signals).items() if not name.startswith("_")}
    said = signals.utterance
    if said is not None:
        names = (name for name in said.__slots__ if not name.startswith("_"))
        facts |= {f"utterance.{name}": getattr(said, name, None) for name in names}
    return facts


def _through(subject: Subject, events: Iterable[Event]) -> list[Finding]:
    try:
        return list(watched(events, subject.make).findings)
    except Exception as error:
        raise Raised(error, "in a watch") from error
