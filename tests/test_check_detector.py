"""The kit for detectors: a good one passes, and each breach is caught and named."""

from __future__ import annotations

import inspect
import os
import random
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mastwatch.detector import Detector
from mastwatch.events import Event, MessageSent, ToolCalled, ToolReturned
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Signals
from mastwatch.testing import Sample, Script, check_detector, corpus, findings, watched
from mastwatch.testing.form import is_well_formed
from mastwatch.testing.speech import Run
from mastwatch.testing.trial import Step

LENGTH = 10  # too short for memory to tell anything


class Good(Detector):
    """Notices an agent that asks again for a tool it does not have.

    Args:
        times: Calls of unknown tools by one agent for ``SUSPECT``.

    Example:
        >>> Good(times=3).mode
        'FM-1.2'

    Source: Cemri et al., arXiv 2503.13657, FM-1.2.
    """

    mode: ClassVar[str] = "FM-1.2"
    name: ClassVar[str] = "good"
    ceiling: ClassVar[Severity] = Severity.SUSPECT

    def __init__(self, *, times: int = 2) -> None:
        self._times = times
        self._seen: deque[tuple[str, int]] = deque(maxlen=64)

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if not isinstance(event, ToolReturned) or event.error != "ToolNotFound":
            return None
        self._seen.append((event.agent, event.index))
        rows = tuple(row for agent, row in self._seen if agent == event.agent)
        return self.say(signals, event, rows) if len(rows) >= self._times else None

    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        return self.finding(
            Severity.SUSPECT,
            signals,
            key="unknown tools",
            agent=event.agent,
            evidence=rows,
            explanation=f"{event.agent} asked {len(rows)} times for tools it does not have",
        )


BAD: list[tuple[type[Any], tuple[str, ...], bool]] = []


def breaks(*words: str, more: bool = False) -> Any:
    """Register a class that differs from ``Good`` in one thing, and how each breach is told.

    With ``more`` other checks may notice it too.
    """

    def register(make: type[Any]) -> type[Any]:
        make.__doc__ = make.__doc__ or Good.__doc__
        BAD.append((make, words, more))
        return make

    return register


@breaks("is no subclass of mastwatch.Detector")
class Stranger:
    pass


@breaks("has no default", "must work without arguments: TypeError")
class Demanding(Good):
    def __init__(self, *, times: int) -> None:
        super().__init__(times=times)


@breaks("parameter times is not keyword-only")
class Positional(Good):
    def __init__(self, times: int = 2) -> None:
        super().__init__(times=times)


@breaks("default that can change: []")
class Shared(Good):
    def __init__(self, *, times: Any = []) -> None:  # noqa: B006
        super().__init__()


@breaks("parameter tools is not explained")
class Unexplained(Good):
    def __init__(self, *, times: int = 2, tools: tuple[str, ...] = ()) -> None:
        super().__init__(times=times)


@breaks("mode is '1.2'")
class OldMode(Good):
    mode = "1.2"


@breaks("name is 'UnknownTools'")
class Camel(Good):
    name = "UnknownTools"


@breaks("ceiling is 'warn', no Severity")
class Ceiling(Good):
    ceiling: Any = "warn"


@breaks("observes is [<class")
class Listening(Good):
    observes: ClassVar[Any] = [ToolReturned]


@breaks("observe() raised AttributeError at test_check_detector.py:")
class Trusting(Good):
    """Takes every event for a tool's result."""

    __doc__ = Good.__doc__

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        assert event.error != "?"  # type: ignore[attr-defined]
        return super().observe(event, signals)


@breaks("(object of type 'NoneType' has no len()) on a MessageSent; text is None")
class NeedsText(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if isinstance(event, MessageSent):
            len(event.text)  # type: ignore[arg-type]
        return super().observe(event, signals)


@breaks("on a MessageSent; text with lone surrogates")
class Encodes(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if isinstance(event, MessageSent):
            (event.text or "").encode()
        return super().observe(event, signals)


@breaks("('NoneType' object is not iterable) on a ToolCalled; text is None")
class NeedsArguments(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if isinstance(event, ToolCalled) and not isinstance(event.arguments, (dict, str)):
            iter(event.arguments)  # type: ignore[call-overload]
        return super().observe(event, signals)


@breaks("unknown events change its findings (run 'unknown tools')")
class Counting(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        self._all = getattr(self, "_all", 0) + 1
        return super().observe(event, signals) if self._all < 14 else None


@breaks("interleaved with other runs, run", "gives other findings the second time", more=True)
class Leaking(Good):
    """Counts calls in all runs together."""

    __doc__ = Good.__doc__
    ceiling = Severity.ALERT
    _calls: ClassVar[dict[str, int]] = {}

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if not isinstance(event, ToolReturned):
            return None
        calls = self._calls[event.name] = self._calls.get(event.name, 0) + 1
        return self.finding(
            Severity.WARN if calls > 20 else Severity.INFO,
            signals,
            key=event.name,
            agent=event.agent,
            evidence=(event.index,),
            explanation=f"{calls} calls",
        )


@breaks("gives other findings the second time: it is not deterministic", more=True)
class Chancy(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        found = super().say(signals, event, rows)
        return replace(found, explanation=f"{random.random()} times")


@breaks("other findings in a fresh process: a key or an order rests on hash()")
class Salted(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        found = super().say(signals, event, rows)
        return replace(found, fingerprint=f"{hash(event.agent):x}")


@breaks("it changes events")
class Tidying(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if isinstance(event, ToolCalled) and isinstance(event.arguments, dict):
            event.arguments.pop("offset", None)
        return super().observe(event, signals)


@breaks("it changes signals")
class Correcting(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        signals.progress += 1
        return super().observe(event, signals)


@breaks("its explanation quotes text or arguments of the run (run 'deaf colleagues', row 4)")
class Quoting(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if not isinstance(event, MessageSent) or "Aurora" not in (event.text or ""):
            return super().observe(event, signals)
        said = self.finding(
            Severity.INFO,
            signals,
            key="wreck",
            agent=event.sender,
            evidence=(event.index,),
            explanation=f"{event.sender} said: {event.text}",
        )
        return said if signals.index == 4 else None


@breaks("key of its finding quotes", "key of its finding has 512 characters, over 200")
class LongKey(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        key = "no such berth" if len(rows) == 2 else "k" * 512
        return self.finding(
            Severity.INFO, signals, key=key, agent=event.agent, evidence=rows, explanation="x"
        )


@breaks("its finding is alert, above its ceiling suspect")
class Loud(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        found = super().say(signals, event, rows)
        return replace(found, severity=Severity.ALERT) if len(rows) == 2 else found


@breaks("holds rows that the run did not have so far")
class Foreseeing(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        return super().say(signals, event, (*rows, event.index + 1) if len(rows) == 2 else rows)


@breaks("names an agent that is not in the run: 'nobody'")
class Accusing(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        found = super().say(signals, event, rows)
        return replace(found, agent="nobody") if len(rows) == 2 else found


@breaks("has another mode or detector than its class")
class Disguised(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        found = super().say(signals, event, rows)
        return replace(found, mode="FM-1.3") if len(rows) == 2 else found


@breaks("names a tool that is not in the run: 'crane'")
class Blaming(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        found = super().say(signals, event, rows)
        return replace(found, tool="crane") if len(rows) == 2 else found


@breaks("returned False, no Finding, Notice or None", more=True)
class Boolean(Good):
    def observe(self, event: Event, signals: Signals) -> Any:
        return super().observe(event, signals) is not None


@breaks("is not at the run and row of the event")
class Late(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        found = super().say(signals, event, rows)
        return replace(found, message_index=0) if len(rows) == 2 else found


@breaks("its explanation is empty")
class Terse(Good):
    def say(self, signals: Signals, event: ToolReturned, rows: tuple[int, ...]) -> Finding:
        found = super().say(signals, event, rows)
        return replace(found, explanation=" ") if len(rows) == 2 else found


@breaks("it names 25 episodes in a run of 25 rows ('loop')")
class Restless(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if not isinstance(event, MessageSent | ToolReturned) or signals.run_id != "loop/loop":
            return super().observe(event, signals)
        row = event.index
        key, agent = f"at {row}", getattr(event, "sender", "mate")
        return self.finding(
            Severity.INFO, signals, key=key, agent=agent, evidence=(row,), explanation="x"
        )


@breaks("it says nothing of any run")
class Silent(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        return None


@breaks("it says warn of the healthy run 'pages', row 6")
class Hasty(Good):
    ceiling = Severity.WARN

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if not isinstance(event, ToolReturned) or event.index != 6 or event.name != "list_berths":
            return super().observe(event, signals)
        return self.finding(
            Severity.WARN, signals, key="x", agent=event.agent, evidence=(6,), explanation="x"
        )


@breaks("of a run; 64 KiB are allowed: bound its state")
class Hoarding(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        self.__dict__.setdefault("_all", []).append(event)
        return super().observe(event, signals)


@breaks("times what the signals take for the same events; its budget is 2")
class Slow(Good):
    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        sum(range(20_000))
        return super().observe(event, signals)


def breaches(make: type[Any], length: int = LENGTH) -> list[str]:
    try:
        check_detector(make, length=length)
    except AssertionError as error:
        return str(error).split("\n- ")[1:]
    return []


def test_a_good_detector_passes() -> None:
    check_detector(Good, length=LENGTH)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "words", "more"), BAD, ids=[bad[0].__name__ for bad in BAD])
def test_each_breach_is_caught_and_named(
    make: type[Any], words: tuple[str, ...], more: bool
) -> None:
    told = breaches(make, 10_000 if make is Hoarding else LENGTH)
    assert len(told) >= len(words) if more else len(told) == len(words), told
    for word in words:
        assert any(word in breach for breach in told), told


class Page(Good):
    """Its page is written by the test."""


HEAD = "Notices something.\n\n    Args:\n        times: How often.\n"
EXAMPLE = "\n    Example:\n        >>> 1 + 1\n        2\n"
NO_SOURCE = "its docstring names no source (a section 'Source:')"
SOURCE = "\n    Source:\n        A paper.\n    "


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (HEAD + EXAMPLE + SOURCE, []),
        (HEAD + EXAMPLE, [NO_SOURCE]),
        (HEAD + EXAMPLE + "\n    Source:\n", [NO_SOURCE]),
        (HEAD + SOURCE, ["its docstring has no example (doctest)"]),
        (
            HEAD + EXAMPLE.replace("2", "3") + SOURCE,
            ["the example in its docstring fails: 1 + 1 / Expected: / 3 / Got: / 2"],
        ),
        (
            EXAMPLE + SOURCE,
            ["parameter times is not explained in the docstring's Args section"],
        ),
    ],
)
def test_a_page_has_parameters_an_example_and_a_source(
    monkeypatch: pytest.MonkeyPatch, page: str, told: list[str]
) -> None:
    monkeypatch.setattr(Page, "__doc__", page)
    assert list(is_well_formed(Page)) == told


def test_a_class_without_docstring_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Page, "__doc__", None)
    assert "it has no docstring: that is its page" in list(is_well_formed(Page))


def test_all_breaches_are_told_at_once() -> None:
    class Both(Good):
        ceiling = Severity.INFO

        def __init__(self, times: int = 2) -> None:
            super().__init__(times=times)

    told = "\n".join(breaches(Both))
    for word in ("not keyword-only", "no docstring", "could not run in a fresh process"):
        assert word in told


def test_own_events_are_checked_beside_the_corpus() -> None:
    own = Script().call("fly", {}, None, agent="pilot", error="ToolNotFound")
    own.call("fly", {}, None, agent="pilot", error="ToolNotFound")
    assert [f.message_index for f in findings(own, Good)] == [1]
    check_detector(OwnRun, events=own, length=LENGTH)
    assert breaches(OwnRun) == ["it says nothing of any run: give events=… in which it speaks"]


def test_state_that_only_the_own_run_fills_is_measured_over_it() -> None:
    own = Script()
    for _ in range(3):
        own.call("fly", {}, None, agent="pilot", error="ToolNotFound")
    with pytest.raises(AssertionError, match="of your run, over and over; 64 KiB are allowed"):
        check_detector(Hoarder, events=own, length=20_000)


class Hoarder(Good):
    """Keeps every row of a pilot, who is in no run of the corpus.

    Args:
        times: Calls of unknown tools by the pilot.

    Example:
        >>> Hoarder().name
        'good'

    Source: this test.
    """

    def __init__(self, *, times: int = 2) -> None:
        super().__init__(times=times)
        self._rows: list[int] = []

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        if getattr(event, "agent", "") != "pilot":
            return None
        self._rows.append(signals.index)
        return super().observe(event, signals)


def test_a_script_that_checks_its_own_class_starts_no_chain_of_processes(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    good = inspect.getsource(sys.modules[__name__]).split("BAD:")[0]
    script.write_text(good + "check_detector(Good, length=1_000)\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "runs when the module is imported: call it in a test" in done.stderr


class OwnRun(Good):
    """Hears one agent only, who is in no run of the corpus.

    Args:
        times: Calls of unknown tools by the pilot.

    Example:
        >>> OwnRun().name
        'good'

    Source: this test.
    """

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        return super().observe(event, signals) if getattr(event, "agent", "") == "pilot" else None


@pytest.mark.parametrize("sample", corpus(), ids=lambda sample: sample.name)
def test_corpus_is_told_apart_by_the_detectors_that_are_installed(sample: Sample) -> None:
    severities = [f.severity for f in watched(sample.events).findings]
    loud = max(severities, default=Severity.INFO) >= Severity.WARN
    assert not (sample.healthy and loud)


def test_names_may_be_said_and_do_not_hide_a_quotation() -> None:
    """An agent called ``a`` must not make every text that holds an "a" pass."""
    own = Script().say("a", "All boats are at anchor off the pier.")
    own.say("harbour master of the southern harbour", "Aye, as ordered.")
    for n, quoted in enumerate(("at anchor off", "of harbour master of the southern harbour")):
        said = Finding(
            mode="FM-1.2",
            severity=Severity.INFO,
            detector="good",
            run_id="run",
            agent="a",
            message_index=1,
            evidence=(0,),
            explanation=f"a said something {quoted}",
            fingerprint="",
        )
        signals = Signals("run")
        signals.index = 1
        told = list(Run(tuple(own)).breaches(Step(own.events[1], signals, Good()), said, []))
        assert len(told) == (n == 0), told


def test_equal_scripts_are_equal_runs() -> None:
    assert [s.events for s in corpus()] == [s.events for s in corpus()]


def test_errors_of_a_detector_are_raised_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    with pytest.raises(TypeError):
        watched(Script().say("mate", None), NeedsText)
    assert "MASTWATCH_RAISE_ERRORS" not in os.environ
