"""FM-2.4: an agent keeps to itself what another asks it for."""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from typing import ClassVar, NamedTuple

from mastwatch.detector import Detector
from mastwatch.events import Event, MessageSent, RunStarted, ToolReturned
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hints.words import capped, substance

RESULTS_KEPT, RESULT_CHARS = 4, 1500
TEXTS_KEPT, TEXT_CHARS = 8, 1500
ENTITIES_KEPT = 16
"""Per result, the first ones."""
AROUND = 40
"""Characters on both sides of an entity that tell what it is."""

# Numbers of three digits, ids, paths, addresses, quoted names: what is found nowhere by chance.
_ENTITY = re.compile(
    r"https?://[^\s\"'<>)\]}]{4,80}"
    r"|(?<![\w.])/(?:[\w.-]+/)+[\w.-]+"
    r"|(?<![A-Za-z0-9_])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_-]{4,40}"
    r"|(?<![\w.])\d[\d.,]*\d{2}(?!\w)"
    r"|[\"“「『](?=[^\"”」』\n]{0,40}[A-Z\u3040-\u9fff])[^\"”」』\n:{}]{4,40}[\"”」』]"
)
_QUOTES = '"“”「」『』'


class _Result(NamedTuple):
    agent: str
    row: int
    tool: str
    text: str


class _Asked(NamedTuple):
    """A question for something that an agent knows, before the agent has answered it."""

    result: _Result
    entities: tuple[str, ...]
    agent: str
    row: int


class InformationWithholding(Detector):
    """Notices an agent that is asked for what a tool told it, and does not say it.

    Three steps, in this order:

    - a tool gives an agent something rare: a number of three digits or more, an id, a path, an
      address, a quoted name;
    - while it stands in no message, another agent asks this one (where the source tells to whom it
      spoke) in words that stand around it in the result;
    - the agent's next message does not hold it either, asks for nothing and makes no call.

    Args:
        words: Words of substance that the question shares with what stands around it.

    Example:
        >>> from mastwatch.events import ToolCalled
        >>> detector, signals = InformationWithholding(), Signals("run-1")
        >>> told = "booking reference: QX7731, cabin: economy"
        >>> asked = "Which booking reference did they give for the cabin?"
        >>> events = [
        ...     ToolCalled(run_id="run-1", index=0, agent="clerk", name="book"),
        ...     ToolReturned(run_id="run-1", index=1, agent="clerk", name="book", result=told),
        ...     MessageSent(run_id="run-1", index=2, sender="pilot", text=asked),
        ...     MessageSent(run_id="run-1", index=3, sender="clerk", text="It is all arranged."),
        ... ]
        >>> for event in events:
        ...     signals.update(event)
        ...     found = detector.observe(event, signals)
        >>> found.severity.label, found.agent, found.evidence
        ('suspect', 'clerk', (1, 2, 3))

    Misses: whatever nobody asks for, which is most of it, and what is asked for in other words
    than the tool's. Teams that all see the tools' results hardly ever fire it. What stands beyond
    the first 1,500 characters of a result, or was told more than 8 messages ago, is not looked at.

    Source: Cemri et al., arXiv 2503.13657, FM-2.4.
    """

    mode: ClassVar[str] = "FM-2.4"
    name: ClassVar[str] = "information_withholding"
    ceiling: ClassVar[Severity] = Severity.SUSPECT
    observes: ClassVar[tuple[type[Event], ...]] = (RunStarted, MessageSent, ToolReturned)

    def __init__(self, *, words: int = 2) -> None:
        self._words = max(1, words)
        self._results: deque[_Result] = deque(maxlen=RESULTS_KEPT)
        self._heard: deque[tuple[int, str]] = deque(maxlen=TEXTS_KEPT)  # rows and texts
        self._asked: _Asked | None = None
        self._task = ""

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        if isinstance(event, ToolReturned):
            self._told(event, signals)
        elif isinstance(event, MessageSent):
            said, text = signals.utterance, event.text
            if said is None or not text:
                return None
            found = self._answer(said, text, signals) if self._asked is not None else None
            # Texts are taken apart when somebody asks, which is rare, and not before.
            if self._results and said.by_model and said.question:
                self._ask(said, event, text)
            self._heard.append((said.row, text if len(text) <= TEXT_CHARS else text[:TEXT_CHARS]))
            return found
        elif isinstance(event, RunStarted):
            self._task = capped(event.task or "", TEXT_CHARS)
        return None

    def _told(self, event: ToolReturned, signals: Signals) -> None:
        result = signals.result
        if event.result and result is not None and result.call is not None and not result.error:
            text = capped(event.result, RESULT_CHARS)
            self._results.append(_Result(result.call.agent, event.index, result.call.tool, text))

    def _ask(self, said: Utterance, event: MessageSent, text: str) -> None:
        wanted = None
        for result in reversed(self._results):
            if result.agent == said.agent or not self._knows_all_since(result.row):
                continue
            if event.recipients and result.agent not in event.recipients:
                continue
            wanted = wanted or substance(text)
            public = "\n".join([self._task, text, *[heard for _, heard in self._heard]])
            entities = _secrets(result.text, public, wanted, self._words)
            if entities:
                self._asked = _Asked(result, entities, said.agent, said.row)
                return

    def _knows_all_since(self, row: int) -> bool:
        """Whether all messages since a row are kept in full: else one may hold the secret."""
        if len(self._heard) == TEXTS_KEPT and self._heard[0][0] > row:
            return False
        return not any(said > row and len(text) >= TEXT_CHARS for said, text in self._heard)

    def _answer(self, said: Utterance, text: str, signals: Signals) -> Finding | None:
        asked = self._asked
        if asked is None or said.agent != asked.result.agent:
            return None
        self._asked = None
        if said.calls or said.question or any(entity in text for entity in asked.entities):
            return None
        tool = asked.result.tool or "a tool"
        return self.finding(
            Severity.SUSPECT,
            signals,
            key=asked.agent,
            agent=said.agent,
            tool=asked.result.tool,
            evidence=(asked.result.row, asked.row, said.row),
            explanation=f"{said.agent} did not tell {asked.agent} what {tool} had told it at row "
            f"{asked.result.row}, though asked at row {asked.row}",
        )


def _secrets(told: str, public: str, wanted: frozenset[str], words: int) -> tuple[str, ...]:
    """What a result holds that was said nowhere and stands among the words that are asked for."""
    found: dict[str, None] = {}
    for match in islice(_ENTITY.finditer(told), ENTITIES_KEPT):
        entity = match.group().strip(_QUOTES)
        if entity not in public:
            near = told[max(0, match.start() - AROUND) : match.end() + AROUND]
            if len(substance(near.replace(entity, " ")) & wanted) >= words:
                found[entity] = None
    return tuple(found)
