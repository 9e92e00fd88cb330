"""Reads the texts of a conversation, and remembers what it must to tell old from new."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from mastwatch.events import MessageSent
from mastwatch.signals import claims
from mastwatch.signals import text as texts
from mastwatch.signals.clusters import AgentClusters, Novelty
from mastwatch.signals.facts import Call, Utterance

AGENTS_KEPT = 24
"""Agents whose recent messages are kept; the longest silent is forgotten."""
NOVELTY_WORDS = 6
OPENING_WORDS = 40
TASK_WORDS = 12
NUMERIC_WORDS = 150
_NOTHING: frozenset[int] = frozenset()


class Glance(NamedTuple):
    """What is told of a tool result's text: length in words, and the share that is new."""

    words: int
    novelty: float | None


class Reading:
    """What has been read in one conversation.

    Attributes:
        numeric: The task is about numbers.
    """

    def __init__(self) -> None:
        self.numeric = False
        self._agents: OrderedDict[str, AgentClusters] = OrderedDict()
        self._novelty = Novelty()
        self._numbers = claims.Numbers()
        self._task: frozenset[int] = _NOTHING

    @property
    def has_task(self) -> bool:
        """Whether a task was given that is long enough to be recognised."""
        return bool(self._task)

    def task(self, text: str) -> None:
        """Take in what the run was asked to do."""
        parts = texts.words(text)
        count = texts.length(text, parts)
        figures = sum(part.isdigit() for part in parts)
        # Long tasks and tasks with code hold numbers too, but those are not what is asked for.
        self.numeric = figures >= 2 and count <= NUMERIC_WORDS and "```" not in text
        self._numbers.add(text)
        if count >= TASK_WORDS:
            self._task = frozenset(texts.sketch(texts.shingles(texts.word_hashes(parts))))

    def result(self, text: str) -> Glance:
        """Take in a tool's result."""
        parts = texts.words(text)
        fresh = self._novelty.add(texts.sketch(texts.shingles(texts.word_hashes(parts))))
        self._numbers.add(text)
        count = texts.length(text, parts)
        return Glance(count, fresh if count >= NOVELTY_WORDS else None)

    def message(
        self,
        event: MessageSent,
        *,
        by_model: bool,
        states_task: bool,
        calls: tuple[Call, ...],
        tokens: tuple[str, ...],
    ) -> Utterance:
        """Take in a message.

        Args:
            event: The message.
            by_model: A language model wrote it.
            states_task: It is the one that states the task.
            calls: The calls it makes.
            tokens: What ends the run when said.
        """
        text = event.text or ""
        parts = texts.words(text)
        hashes = texts.word_hashes(parts)
        grams = texts.shingles(hashes)
        sketch = texts.sketch(grams)
        count = texts.length(text, parts)
        digest = texts.digest(text.strip()) if text.strip() else 0
        cluster, seen = self._agent(event.sender).add(digest, sketch) if digest else (0, False)
        fresh = self._novelty.add(sketch)
        tone = claims.Tone(text, bool(event.tool_calls))
        return Utterance(
            agent=event.sender,
            row=event.index,
            role=event.role,
            kind=event.kind,
            by_model=by_model,
            words=count,
            digest=digest,
            cluster=cluster,
            seen=seen,
            opening=frozenset(texts.shingles(hashes[:OPENING_WORDS])) if by_model else _NOTHING,
            novelty=fresh if count >= NOVELTY_WORDS else None,
            new_numbers=self._numbers.add(text),
            claim=_claim(text, calls, tokens) if by_model else "",
            answer=claims.answer(text) if by_model else 0,
            closing=tone.closing,
            verdict=tone.verdict,
            unsolvable=tone.unsolvable,
            question=tone.question,
            task_overlap=0.0 if states_task else texts.containment(self._task, grams),
            replan=tone.replan,
            calls=calls,
        )

    def _agent(self, name: str) -> AgentClusters:
        agent = self._agents.get(name)
        if agent is None:
            agent = self._agents[name] = AgentClusters()
            if len(self._agents) > AGENTS_KEPT:
                self._agents.popitem(last=False)
        else:
            self._agents.move_to_end(name)
        return agent


def _claim(text: str, calls: tuple[Call, ...], tokens: tuple[str, ...]) -> str:
    finishing = next((call.tool for call in calls if call.finishes), "")
    return finishing or claims.claimed_token(text, tokens)
