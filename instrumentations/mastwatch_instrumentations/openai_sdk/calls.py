"""What one call of the SDK leads to: an exchange of its own, or a word to the call above."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mastwatch.guard import guard
from mastwatch.spans.emit import Exchange, ModelCall
from mastwatch_instrumentations.openai_sdk.collecting import Collector
from mastwatch_instrumentations.openai_sdk.reading import Answer


class Kind:
    """One of the SDK's two ways to ask a model.

    Args:
        read: Reads a whole answer.
        collect: Puts a streamed one together.
    """

    def __init__(self, read: Callable[[object], Answer], collect: Callable[[], Collector]) -> None:
        self.read = read
        self.collect = collect


class Asking:
    """A call under way, until its answer is known; told once.

    Args:
        kind: How the answer is read.
        exchange: The call, where it is one of its own.
        above: Else the call of the library above, which tells of it.
        provider: As in ``gen_ai.provider.name``.
        model: As asked for.
        later: Has something told later, which a finalizer must not tell by itself.

    Attributes:
        heard: What a stream has given so far.
    """

    def __init__(
        self,
        kind: Kind,
        exchange: Exchange | None,
        above: ModelCall | None,
        provider: str,
        model: str,
        later: Callable[[Callable[[], None]], None],
    ) -> None:
        self.kind = kind
        self.heard: Collector | None = None
        self._exchange = exchange
        self._above = above
        self._provider = provider
        self._model = model
        self._later = later
        self._over = False

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope while the SDK is at work."""
        if self._exchange is None:
            yield
        else:
            with self._exchange.call.attached():
                yield

    def answered(self, answer: Answer) -> None:
        """Tell what came back."""
        if self._over:
            return
        self._over = True
        if self._above is not None:
            self._above.enrich(
                model=self._model or answer.model,
                provider=self._provider,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
            )
        elif self._exchange is None:
            return
        elif answer.error is not None:
            self._exchange.failed(answer.error)
        elif not answer.finished:
            self._exchange.abandoned(answer.text)
        else:
            self._exchange.answered(
                answer.text,
                tool_calls=answer.tool_calls,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                id=answer.id,
            )

    def failed(self, error: BaseException) -> None:
        """Tell what was raised; a library above sees the same exception."""
        if self._over:
            return
        self._over = True
        if self._exchange is not None:
            self._exchange.failed(error)

    def left(self) -> None:
        """Nobody will read any more: what was heard is all that is known."""
        heard = self.heard
        self.answered(Answer(finished=False) if heard is None else heard.answer())

    def __del__(self) -> None:
        if not self._over:
            with guard("openai.left"):
                self._later(self.left)
