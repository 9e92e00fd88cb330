"""Reads the texts of a conversation, and remembers what it must to tell old from new."""

from __future__ import annotations

from typing import NamedTuple

from mastwatch.events import MessageSent
from mastwatch.signals import claims
from mastwatch.signals import text as texts
from mastwatch.signals.clusters import Clusters, Novelty
from mastwatch.signals.facts import Call, Utterance
from mastwatch.signals.numbers import Numbers

NOVELTY_WORDS = 6
TASK_WORDS = 12
NUMERIC_WORDS = 150
_PROBES, _PROBES_FOUND = 5, 2


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
        self._clusters = Clusters()
        self._novelty = Novelty()
        self._numbers = Numbers()
        self._task: frozenset[tuple[str, str, str]] = frozenset()
        self._task_length = 0
        self._task_probes: list[str] = []

    @property
    def has_task(self) -> bool:
        """Whether a task was given that is long enough to be recognised."""
        return bool(self._task)

    def task(self, text: str) -> None:
        """Take in what the run was asked to do."""
        parts = texts.words(text)
        count = texts.length(text)
        figures = sum(part.isdigit() for part in parts)
        # Long tasks and tasks with code hold numbers too, but those are not what is asked for.
        self.numeric = figures >= 2 and count <= NUMERIC_WORDS and "```" not in text
        if self.numeric:
            self._numbers.give(text)
        if count >= TASK_WORDS:
            text = text[: texts.TEXT_CAP]
            self._task = frozenset(texts.grams(texts.tokens(text)))
            self._task_length, self._task_probes = len(text), texts.probes(text, _PROBES)

    def result(self, text: str) -> Glance:
        """Take in a tool's result."""
        fresh = self._novelty.add(text.encode("utf-8", "surrogatepass"))
        if self.numeric:
            self._numbers.result(text)
        count = texts.length(text)
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
        said = Utterance(event, text, by_model, texts.length(text), calls, self._clusters)
        raw = text.encode("utf-8", "surrogatepass")
        fresh = self._novelty.add(raw)
        if said.words >= NOVELTY_WORDS:
            said.novelty = fresh
        if stripped := raw.strip():
            said.digest = texts.quick_digest(stripped)
            said.cluster, said.seen = self._clusters.add(
                said.agent, said.digest, text, fresh, self._novelty.pieces
            )
        if self.numeric:
            said.new_numbers, said.restates = self._numbers.add(text)
        if by_model:
            said.claim = _claim(text, calls, tokens)
            said.answer = claims.answer(text)
        if not states_task:
            said.task_overlap = self._overlap(text)
        return said

    def _overlap(self, text: str) -> float:
        if not self._task or len(text) < self._task_length // 2:
            return 0.0
        if not texts.may_hold(text, self._task_probes, _PROBES_FOUND):
            return 0.0
        return texts.containment(self._task, texts.grams(texts.tokens(text)))


def _claim(text: str, calls: tuple[Call, ...], tokens: tuple[str, ...]) -> str:
    finishing = next((call.tool for call in calls if call.finishes), "") if calls else ""
    return finishing or claims.claimed_token(text, tokens)
