"""The providers of ``any-llm-sdk``: one function for some fifty of them."""

from __future__ import annotations

from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.judge.clients.completions import messages, reply_of, request
from mastwatch.judge.clients.errors import from_exception

PREFIX = "any-llm:"


class AnyLLMClient:
    """Asks a provider through any-llm, which finds the key in the provider's own variable.

    Args:
        model: As any-llm names it, ``provider:model``.
        base_url: The provider's server, where it is not the usual one.
        api_key: The provider's own variable by default.

    Raises:
        ValueError: The name has no provider.
    """

    def __init__(self, model: str, base_url: str | None = None, api_key: str | None = None) -> None:
        self.provider, colon, name = model.partition(":")
        if not (self.provider and colon and name):
            raise ValueError(f"{model!r} names no provider: write any-llm:PROVIDER:MODEL")
        self.model = name
        self.address = base_url or PREFIX + self.provider
        self._name, self._url, self._key = model, base_url, api_key

    async def complete(self, ask: Ask) -> Reply:
        """Ask once.

        Raises:
            ModelError: There is no answer.
        """
        try:
            from any_llm import acompletion
        except ImportError:
            raise ModelError(
                "unreachable",
                "any-llm is not installed: pip install 'mastwatch[any-llm]' (Python 3.11 or newer)",
            ) from None
        try:
            completion = await acompletion(
                model=self._name,
                messages=[*messages(ask)],
                api_base=self._url,
                api_key=self._key,
                max_tokens=ask.max_tokens,
                timeout=ask.timeout,
                **request(ask),
            )
        except Exception as error:
            raise from_exception(error, self.address) from None
        return reply_of(completion, ask, self.address)

    async def close(self) -> None:
        """Nothing is kept open."""
