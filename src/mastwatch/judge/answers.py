"""What is asked of a model and what became of it, and the answers kept for the next time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, Literal

from mastwatch.guard import report
from mastwatch.judge import prompt
from mastwatch.judge.client import ModelClient, Reply, Rung
from mastwatch.judge.form import Form, T
from mastwatch.judge.replies import Unreadable
from mastwatch.judge.settings import JudgeSettings
from mastwatch.store import Store, StoreError, Usage

Failure = Literal[
    "refusal", "empty", "truncated", "unparsable", "budget", "auth", "context_overflow",
    "rate_limited", "timeout", "unreachable", "provider_error",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What is asked.

    Attributes:
        system, user: As in ``Ask``.
        form: The kind of reply that is wanted.
        key: Identity of the question for the cache, without the frame's random word.
    """

    system: str
    user: str
    form: Form[T]
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """What became of a question.

    Attributes:
        parsed: The reply, where one could be read.
        failure: Why there is none.
        usage: What it cost, failed attempts among it.
        rung: How the reply was held to the schema.
        model: As the server names it.
        ratio: Input tokens as reported over our estimate; 0 when not reported.
        problem: One sentence on the failure; no text of the run.
    """

    parsed: T | None = None
    failure: Failure | None = None
    usage: Usage = field(default_factory=Usage)
    rung: str = ""
    model: str = ""
    ratio: float = 0.0
    problem: str = ""


class Remembered:
    """Answers to earlier questions of the same model, kept in the store.

    Args:
        client: The model.
        settings: Whether to remember; sampling parameters are part of a question.
        store: Where; None for no memory.
    """

    def __init__(self, client: ModelClient, settings: JudgeSettings, store: Store | None) -> None:
        self._client = client
        self._sampling = sorted(settings.sampling.items())
        self._store = store if settings.cache else None

    def get(self, question: Question[T]) -> Answer[T] | None:
        """The answer to the same question, if it was asked before."""
        kept = self._kept(question)
        if kept is None:
            return None
        value = json.loads(kept)
        read = question.form.read(value["text"])
        if isinstance(read, Unreadable):
            return None
        return Answer(
            parsed=read, usage=Usage(cached_calls=1), rung=value["rung"], model=value["model"]
        )

    def put(self, question: Question[T], reply: Reply, rung: Rung) -> None:
        """Keep an answer."""
        if self._store is None:
            return
        value = {"text": reply.text, "rung": rung, "model": reply.model}
        try:
            self._store.cache(self._key(question), json.dumps(value))
        except StoreError as error:
            report("judge.cache", error)

    def _kept(self, question: Question[T]) -> str | None:
        if self._store is None:
            return None
        try:
            return self._store.cached(self._key(question))
        except StoreError as error:  # then it is asked again: an answer counts more than its price
            report("judge.cache", error)
            return None

    def _key(self, question: Question[T]) -> str:
        client = self._client
        asked = [
            question.key,
            prompt.PROMPT_VERSION,
            client.provider,
            client.address,
            client.model,
            self._sampling,
            question.form.about,
        ]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def add(a: Usage, b: Usage) -> Usage:
    """What two things took together."""
    usd = None if a.usd is None and b.usd is None else (a.usd or 0.0) + (b.usd or 0.0)
    return Usage(
        calls=a.calls + b.calls,
        input_tokens=a.input_tokens + b.input_tokens,
        output_tokens=a.output_tokens + b.output_tokens,
        usd=usd,
        estimated=a.estimated or b.estimated,
        planned_tokens=a.planned_tokens + b.planned_tokens,
        cached_calls=a.cached_calls + b.cached_calls,
        seconds=a.seconds + b.seconds,
    )


def total(usages: Iterable[Usage]) -> Usage:
    """What several things took together."""
    result = Usage()
    for usage in usages:
        result = add(result, usage)
    return result
