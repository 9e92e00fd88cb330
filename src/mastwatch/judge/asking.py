"""One question to a model until it is answered or known to stay unanswered.

What can pass is tried again: a busy server after a wait, an unsupported way of holding replies to
the schema by the next one, an unreadable or truncated reply once. Everything else is a stated
failure. Nothing is ever read out of prose.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Generic

from mastwatch.judge import prompt
from mastwatch.judge.answers import Answer, Failure, Question, Remembered, add
from mastwatch.judge.budget import Budget, NoBudget
from mastwatch.judge.client import RUNGS, Ask, ModelClient, ModelError, Reply
from mastwatch.judge.form import T
from mastwatch.judge.learned import Learned, was_cut
from mastwatch.judge.pace import Pace
from mastwatch.judge.replies import Unreadable, refuses
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.windows import tokens
from mastwatch.spans.suppress import untraced
from mastwatch.store import Store, Usage

LONGEST_WAIT = 120.0
"""Seconds; a server that asks for more is asked again when the run is judged again."""
_PASSING = ("rate_limited", "timeout", "unreachable", "provider_error")
_GRACE = 5.0
"""Seconds a client gets beyond its time-out before it is cancelled."""


@dataclass(slots=True)
class _Attempt(Generic[T]):
    """How far the asking of one question has come.

    Attributes:
        kept: An answer that lacks something, to be completed by the next reply.
    """

    max_tokens: int
    addition: str = ""
    waits: int = 0
    repaired: bool = False
    enlarged: bool = False
    usage: Usage = field(default_factory=Usage)
    ratio: float = 0.0
    kept: Answer[T] | None = None


class Asking:
    """Asks questions of one model.

    Args:
        client: The model.
        settings: Time-outs, retries, sampling.
        pace: How many calls at once.
        learned: Of this model at this server.
        store: Keeps answers; None for no cache.
    """

    def __init__(
        self,
        client: ModelClient,
        settings: JudgeSettings,
        pace: Pace,
        learned: Learned,
        store: Store | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._pace = pace
        self._answers = Remembered(client, settings, store)
        self.learned = learned

    async def ask(self, question: Question[T], budget: Budget) -> Answer[T]:
        """Ask until there is an answer or none is to be had. Never raises for what a model does."""
        cached = await asyncio.to_thread(self._answers.get, question)
        if cached is not None:
            return cached
        attempt = _Attempt[T](self._settings.reply_tokens)
        while True:
            try:
                ask, outcome = await self._call(question, attempt, budget)
            except NoBudget as none:
                return _failed("budget", attempt, str(none))
            if isinstance(outcome, Reply):
                answer = await self._read(question, ask, outcome, attempt)
            else:
                answer = self._refused(outcome, ask, attempt)
            if answer is not None:
                return answer

    async def _call(
        self, question: Question[T], attempt: _Attempt[T], budget: Budget
    ) -> tuple[Ask, Reply | ModelError]:
        """Make one call when it is its turn.

        Raises:
            NoBudget: It may not be made.
        """
        async with self._pace.slot() as round_:
            # Built now: other questions may have taught us something while this one waited.
            ask = self._as_ask(question, attempt)
            size = tokens(ask.system + ask.user)
            planned = int(size * self.learned.correction) + 1
            held = await budget.reserve(budget.estimate(planned, ask.max_tokens))
            usage = budget.used(None, ask, planned)
            try:
                outcome = await self._complete(ask)
                usage = budget.used(outcome, ask, planned)
            finally:  # also when cancelled: what was set aside must not stay so
                await budget.settle(held, usage)
            attempt.usage = add(attempt.usage, usage)
            if isinstance(outcome, Reply):
                self._pace.succeeded()
                return ask, self._learn(outcome, ask, size, attempt)
            if outcome.kind in _PASSING:
                self._pace.refused(round_, attempt.waits, _bearable(outcome.retry_after))
        if outcome.kind == "context_overflow" and outcome.context_tokens:
            self.learned.overflowed(size, ask.max_tokens, outcome.context_tokens)
        return ask, outcome

    def _as_ask(self, question: Question[T], attempt: _Attempt[T]) -> Ask:
        rung = RUNGS[self.learned.rung]
        schema = question.form.schema()
        words = prompt.in_words(schema) if rung in ("extract", "json_object") else ""
        return Ask(
            system=question.system + words,
            user=question.user + attempt.addition,
            schema=schema,
            schema_name=question.form.name,
            rung=rung,
            max_tokens=attempt.max_tokens,
            sampling=self._settings.sampling if self.learned.sampling else {},
            timeout=self._settings.timeout,
        )

    async def _complete(self, ask: Ask) -> Reply | ModelError:
        try:
            with untraced():
                return await asyncio.wait_for(self._client.complete(ask), ask.timeout + _GRACE)
        except ModelError as error:
            return error
        except (asyncio.TimeoutError, TimeoutError):
            return ModelError("timeout", f"no answer within {ask.timeout:.0f} s")
        except Exception as error:  # of a client we did not write: its message may quote the run
            return ModelError("bad_request", f"the client failed: {type(error).__name__}")

    def _learn(self, reply: Reply, ask: Ask, size: int, attempt: _Attempt[T]) -> Reply | ModelError:
        if was_cut(reply.input_tokens, size):
            read = reply.input_tokens or 0
            self.learned.overflowed(size, ask.max_tokens, read + ask.max_tokens)
            problem = f"the server read {read} tokens of about {size}: it cut the question silently"
            return ModelError("context_overflow", problem)
        attempt.ratio = self.learned.used(reply.input_tokens, size)
        return reply

    def _refused(self, error: ModelError, ask: Ask, attempt: _Attempt[T]) -> Answer[T] | None:
        """Say what becomes of a call without an answer; None when it is to be tried again."""
        if error.kind == "unsupported":
            return self._step_down(error, ask, attempt)
        bearable = (error.retry_after or 0.0) <= LONGEST_WAIT
        if error.kind in _PASSING and bearable and attempt.waits < self._settings.retries:
            attempt.waits += 1
            return None
        kind: Failure = "provider_error" if error.kind == "bad_request" else error.kind
        return _failed(kind, attempt, str(error))

    def _step_down(self, error: ModelError, ask: Ask, attempt: _Attempt[T]) -> Answer[T] | None:
        """Send no sampling parameters, or hold replies to the schema less strictly.

        Questions under way at once learn it together: only what this one tried is ruled out.
        """
        if ask.sampling and error.sampling is not False:
            self.learned.sampling = False
            return None
        if ask.rung == RUNGS[-1] or error.sampling:
            return _failed("provider_error", attempt, str(error))
        self.learned.rung = max(self.learned.rung, RUNGS.index(ask.rung) + 1)
        return None

    async def _read(
        self, question: Question[T], ask: Ask, reply: Reply, attempt: _Attempt[T]
    ) -> Answer[T] | None:
        """Read a reply; None when the question is to be asked again."""
        if reply.refusal:
            return _failed("refusal", attempt, "the model refused")
        read = question.form.read(reply.text)
        cut = reply.truncated or (isinstance(read, Unreadable) and read.problem == "truncated")
        if cut and (isinstance(read, Unreadable) or question.form.lacking(read)):
            return self._enlarge(attempt)
        if isinstance(read, Unreadable):
            return self._unreadable(question, reply, read, attempt)
        return await self._accept(question, ask, reply, read, attempt)

    async def _accept(
        self, question: Question[T], ask: Ask, reply: Reply, read: T, attempt: _Attempt[T]
    ) -> Answer[T] | None:
        form, whole = question.form, attempt.kept is None
        if attempt.kept is not None and attempt.kept.parsed is not None:
            read = form.joined(attempt.kept.parsed, read)
        lacking = ", ".join(form.lacking(read))
        problem = f"nothing readable on {lacking}" if lacking else ""
        answer = Answer(
            parsed=read,
            usage=attempt.usage,
            rung=ask.rung if form.clean(read) else "extract",
            model=reply.model,
            ratio=attempt.ratio,
            problem=problem,
        )
        if lacking and not attempt.repaired:
            attempt.kept = answer
            self._repair(problem, question, attempt)
            return None
        if whole and not lacking:
            await asyncio.to_thread(self._answers.put, question, reply, ask.rung)
        return answer

    def _enlarge(self, attempt: _Attempt[T]) -> Answer[T] | None:
        if attempt.enlarged:
            return _failed("truncated", attempt, f"cut off after {attempt.max_tokens} tokens")
        attempt.enlarged = True
        attempt.max_tokens *= 2
        return None

    def _unreadable(
        self, question: Question[T], reply: Reply, read: Unreadable, attempt: _Attempt[T]
    ) -> Answer[T] | None:
        if refuses(reply.text):
            return _failed("refusal", attempt, "the model refused")
        problem = read.detail or read.problem
        if attempt.repaired:
            return _failed("empty" if read.problem == "empty" else "unparsable", attempt, problem)
        self._repair(problem, question, attempt)
        return None

    def _repair(self, problem: str, question: Question[T], attempt: _Attempt[T]) -> None:
        attempt.repaired = True
        attempt.addition = question.form.repair(problem)


def _bearable(seconds: float | None) -> float | None:
    return None if seconds is None else min(seconds, LONGEST_WAIT)


def _failed(failure: Failure, attempt: _Attempt[T], problem: str) -> Answer[T]:
    """The end of a question; verdicts that an earlier reply did hold are not lost with it."""
    if attempt.kept is not None:
        return replace(attempt.kept, usage=attempt.usage)
    return Answer(failure=failure, usage=attempt.usage, problem=problem, ratio=attempt.ratio)
