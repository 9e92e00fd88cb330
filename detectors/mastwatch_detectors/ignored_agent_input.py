"""FM-2.5: an agent goes on as if another had not spoken."""

from __future__ import annotations

from operator import attrgetter
from typing import ClassVar

from mastwatch.detector import Detector
from mastwatch.events import Event, MessageSent
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.signals import Signals, Utterance, claims
from mastwatch.signals import text as texts
from mastwatch_detectors._hints.phrases import CORRECTION
from mastwatch_detectors._hints.words import substance

AGENTS_KEPT = 8
TEXT_KEPT = 1000
"""Characters of each agent's latest message that are kept."""


class _Latest:
    """The latest message of an agent; filled anew each time, since it is done at each message."""

    __slots__ = ("agent", "calls", "novelty", "row", "text")

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.row = -1
        self.text = ""
        self.novelty: float | None = None
        self.calls: tuple[int, ...] = ()  # keys


class IgnoredAgentInput(Detector):
    r"""Notices an agent that answers another, or a person, as if nothing had been said.

    - I1: the message before was new and of some substance; the reply (not addressed to others)
      takes up next to none of the words it added, and brings nothing new itself: it nearly repeats
      the agent's own last message.
    - I2: another agent or a person said plainly that it was wrong, and it makes the very same
      calls again.

    Praise, thanks, results of tools and what a proxy says each turn are no such input, and a reply
    that makes a new call is an answer (I1).

    Args:
        taken_up: Share of the added words that the reply or its calls take up, below which they
            are ignored (I1), 0 to 1.
        novelty: Share of the reply that is new, in the run and beside the agent's last message,
            below which it repeats, 0 to 1.
        input_novelty: Share of the input that must be new, 0 to 1.
        least_words: Words of substance the input must add.

    Example:
        >>> detector, signals = IgnoredAgentInput(), Signals("run-1")
        >>> plan = "We sort the parcels by weight, then load the heavy ones first."
        >>> asked = "The scales broke yesterday; please order by postal district, Lisbon ahead."
        >>> for row, (agent, text) in enumerate([("a", plan), ("b", asked), ("a", plan)]):
        ...     event = MessageSent(run_id="run-1", index=row, sender=agent, text=text)
        ...     signals.update(event)
        ...     found = detector.observe(event, signals)
        >>> found.severity.label, found.agent, found.evidence
        ('suspect', 'a', (0, 1, 2))

    Misses: input that is acknowledged in words and ignored in deeds, and replies that ignore it in
    words of their own: the judge's work.

    Source: Cemri et al., arXiv 2503.13657, FM-2.5.
    """

    mode: ClassVar[str] = "FM-2.5"
    name: ClassVar[str] = "ignored_agent_input"
    ceiling: ClassVar[Severity] = Severity.SUSPECT
    observes: ClassVar[tuple[type[Event], ...]] = (MessageSent,)

    def __init__(
        self,
        *,
        taken_up: float = 0.05,
        novelty: float = 0.3,
        input_novelty: float = 0.5,
        least_words: int = 6,
    ) -> None:
        self._taken_up = taken_up
        self._novelty = novelty
        self._input_novelty = input_novelty
        self._least = least_words
        self._latest: dict[str, _Latest] = {}  # by agent

    def observe(self, event: Event, signals: Signals) -> Finding | Notice | None:
        """Look at one event."""
        said = signals.utterance
        if said is None or not isinstance(event, MessageSent) or event.text is None:
            return None
        found = None
        if said.by_model:
            # Both rules need one of these; few messages have them.
            repeats = said.novelty is not None and said.novelty < self._novelty
            if repeats or said.calls:
                found = self._judge(said, event, repeats, signals)
        elif said.kind not in ("reply", "human") or said.role in ("tool", "system"):
            return None
        self._keep(said, event.text)
        return found

    def _judge(
        self, said: Utterance, event: MessageSent, repeats: bool, signals: Signals
    ) -> Finding | None:
        own = self._latest.get(said.agent)
        heard = max(self._latest.values(), key=attrgetter("row"), default=None)
        if own is None or heard is None or heard is own:
            return None
        if event.recipients and heard.agent not in event.recipients:
            return None
        rows = (own.row, heard.row, said.row)
        same = own.calls and any(call.key in own.calls and not call.poll for call in said.calls)
        if same and CORRECTION.within(heard.text.casefold()):
            what = f"made the same call again after {heard.agent} had said it was wrong"
            return self._say("call", said.agent, rows, what, signals)
        acts = said.calls and any(not call.times for call in said.calls)
        if not repeats or acts or not heard.novelty or heard.novelty < self._input_novelty:
            return None
        if claims.verdict(heard.text) or claims.farewell(heard.text):
            return None  # praise and thanks ask for nothing
        text = event.text or ""
        grams = texts.grams(texts.words(text[:TEXT_KEPT]))
        if texts.containment(grams, texts.grams(texts.words(own.text))) < 1 - self._novelty:
            return None
        added = substance(heard.text) - substance(own.text)
        if len(added) < self._least:
            return None
        calls = " ".join([str(call.arguments) for call in event.tool_calls])
        taken = added & substance(f"{text} {calls}")
        if len(taken) >= self._taken_up * len(added):
            return None
        what = (
            f"repeated itself and took up {len(taken)} of {len(added)} words that {heard.agent} "
            "had added"
        )
        return self._say("reply", said.agent, rows, what, signals)

    def _keep(self, said: Utterance, text: str) -> None:
        latest = self._latest.get(said.agent)
        if latest is None:
            if len(self._latest) >= AGENTS_KEPT:
                del self._latest[min(self._latest.values(), key=attrgetter("row")).agent]
            latest = self._latest[said.agent] = _Latest(said.agent)
        latest.row = said.row
        latest.text = text if len(text) <= TEXT_KEPT else text[:TEXT_KEPT]
        latest.novelty = said.novelty
        latest.calls = tuple([call.key for call in said.calls]) if said.calls else ()

    def _say(
        self, key: str, agent: str, rows: tuple[int, ...], what: str, signals: Signals
    ) -> Finding:
        return self.finding(
            Severity.SUSPECT,
            signals,
            key=key,
            agent=agent,
            evidence=rows,
            explanation=f"{agent} {what}",
        )
