"""What holds for all six: never above suspect, bounded, quiet where text is withheld."""

from __future__ import annotations

import pytest

from mastwatch.detector import Detector
from mastwatch.findings import Finding, Severity
from mastwatch.signals import Signals
from mastwatch.testing import Script, corpus, findings
from mastwatch_detectors.ignored_agent_input import IgnoredAgentInput
from mastwatch_detectors.information_withholding import InformationWithholding
from mastwatch_detectors.loss_of_conversation_history import LossOfConversationHistory
from mastwatch_detectors.no_or_incomplete_verification import NoOrIncompleteVerification
from mastwatch_detectors.premature_termination import PrematureTermination
from mastwatch_detectors.reasoning_action_mismatch import ReasoningActionMismatch

from .test_bounds import long_run, size

HINTS: tuple[type[Detector], ...] = (
    LossOfConversationHistory,
    InformationWithholding,
    IgnoredAgentInput,
    ReasoningActionMismatch,
    PrematureTermination,
    NoOrIncompleteVerification,
)


@pytest.mark.parametrize("make", HINTS)
def test_never_above_suspect(make: type[Detector]) -> None:
    assert make.ceiling is Severity.SUSPECT
    said = make().finding(
        Severity.ALERT, Signals("run"), key="k", agent="a", evidence=(), explanation=""
    )
    assert said.severity is Severity.SUSPECT


def test_the_corpus_holds_nothing_above_suspect() -> None:
    found: list[Finding] = [f for s in corpus() for f in findings(s.events, *HINTS)]
    assert found
    assert {f.severity for f in found} == {Severity.SUSPECT}


@pytest.mark.parametrize("make", HINTS)
def test_withheld_text_says_nothing(make: type[Detector]) -> None:
    script = Script().start(None)
    for n in range(12):
        script.say("Coder", None).say("Reviewer", None).human(None)  # type: ignore[arg-type]
        script.call("read_log", {"n": n % 2}, None, agent="Coder")
        script.asks("Coder", ("system", None), ("user", None))
    assert findings(script.end("completed"), make) == []


def observed(rows: int) -> list[Detector]:
    signals, detectors = Signals("long"), [make() for make in HINTS]
    for event in long_run(rows).events:
        signals.update(event)
        for detector in detectors:
            detector.observe(event, signals)
    return detectors


@pytest.mark.slow
def test_state_is_bounded_over_20_000_events() -> None:
    short, long = size(*observed(4_000)), size(*observed(20_000))
    assert long <= 96 * 1024, f"{long / 1024:.0f} KiB"
    assert long <= 1.1 * short
