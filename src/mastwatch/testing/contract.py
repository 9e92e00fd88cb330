"""``check_detector``: the contract of a detector, as checks that any detector can be put to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mastwatch.detector import Detector
from mastwatch.events import Event
from mastwatch.testing import conduct, cost, form, fresh, speech
from mastwatch.testing.corpus import Sample, corpus
from mastwatch.testing.trial import OWN, Raised, Subject, apart

Check = Callable[[Subject], Iterable[str]]

CHECKS: tuple[Check, ...] = (
    conduct.never_raises,
    conduct.only_reads,  # early: what it changes would be changed for the others
    conduct.ignores_unknown_events,
    conduct.keeps_runs_apart,
    conduct.repeats_itself,
    fresh.agrees_in_a_fresh_process,
    speech.speaks_by_the_rules,
    speech.leaves_healthy_runs_alone,
    cost.stays_bounded,
    cost.keeps_to_its_budget,
)


def check_detector(
    detector_class: type[Detector],
    *,
    events: Iterable[Event] | None = None,
    budget: float = cost.BUDGET,
    length: int = cost.LENGTH,
) -> None:
    """Put a detector to its contract; it takes some seconds.

    It is fed the runs of ``corpus()`` (healthy chats, tool runs, loops, overruns, restarts,
    branches, withheld texts, Chinese) and yours. Checked are: the class (default-constructible,
    keyword-only documented parameters with immutable defaults, mode, name, a doctest that passes,
    a source); that it never raises, whatever is missing or odd; ignores unknown events; keeps runs
    apart; gives the same findings twice and in another process; changes neither events nor
    signals; says nothing of the text it saw; stays below its ceiling; names rows that there are,
    and one episode per fault; is silent at warn on healthy runs; and is bounded in memory and time,
    also where your run goes on and on.

    Args:
        detector_class: The class, at the top level of an importable module.
        events: A run in which it speaks, for checks of what it says; needed where no run of the
            corpus shows its mode.
        budget: What ``observe`` may take, in times of what ``Signals.update`` takes for the same
            events in the same loop (medians by event type): no absolute time, so that a busy
            machine changes nothing.
        length: Events of the run that memory is measured over.

    Raises:
        AssertionError: It breaks the contract; the message lists every breach.
    """
    fresh.refuse_to_nest()
    breaches = list(form.is_well_formed(detector_class))
    if form.works(detector_class):
        own = [Sample(OWN, tuple(events), healthy=False)] if events is not None else []
        samples = apart([*corpus(), *own])
        breaches += _breaches(Subject(detector_class, samples, budget, length))
    if breaches:
        name = getattr(detector_class, "__name__", repr(detector_class))
        points = "".join(f"\n- {breach}" for breach in breaches)
        raise AssertionError(f"{name} breaks the contract of detectors:{points}")


def _breaches(subject: Subject) -> list[str]:
    told: list[str] = []
    for check in CHECKS:
        try:
            told.extend(check(subject))
        except Raised as error:
            # One bug is one breach, however many checks meet it.
            if not any(error.place in breach for breach in told):
                told.append(str(error))
    return told
