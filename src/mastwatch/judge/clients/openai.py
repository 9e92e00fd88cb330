"""Any server that speaks OpenAI's chat completions, through the ``openai`` SDK."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.judge.clients.completions import messages, reply_of, request
from mastwatch.judge.clients.errors import from_exception

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_URL = "https://api.openai.com/v1"
NO_KEY = "mastwatch-no-key"
"""Sent where there is no key: local servers want none, and the SDK wants one."""
_LENGTH_NAME = re.compile(r"max_(?:completion_)?tokens")
_REPLY_LIMIT = re.compile(r"at most (\d{1,7}) (?:completion|output) tokens")


class OpenAIClient:
    """Asks an OpenAI-compatible server.

    Args:
        model: The model's name there.
        base_url: The server; ``OPENAI_BASE_URL`` or OpenAI itself by default.
        api_key: ``OPENAI_API_KEY`` by default.
    """

    provider = "openai"

    def __init__(self, model: str, base_url: str | None = None, api_key: str | None = None) -> None:
        self.model = model
        self._url = base_url or os.environ.get("OPENAI_BASE_URL") or ""
        self._key = api_key or os.environ.get("OPENAI_API_KEY") or ""
        self.address = _shown(self._url or DEFAULT_URL)
        # A connection belongs to the event loop that opened it.
        self._sdks: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()
        openai_itself = urlsplit(self.address).hostname == "api.openai.com"
        self._length = "max_completion_tokens" if openai_itself else "max_tokens"
        self._longest: int | None = None

    async def complete(self, ask: Ask) -> Reply:
        """Ask once.

        Raises:
            ModelError: There is no answer.
        """
        sdk = self._sdk()
        length = self._length
        try:
            return await self._ask(sdk, ask, length)
        except ModelError:
            raise
        except Exception as error:
            if not self._learn_length(error, length):
                raise from_exception(error, self.address) from None
        try:
            return await self._ask(sdk, ask, self._length)
        except ModelError:
            raise
        except Exception as error:
            raise from_exception(error, self.address) from None

    async def close(self) -> None:
        """Let go of this event loop's connections."""
        sdk = self._sdks.pop(asyncio.get_running_loop(), None)
        if sdk is not None:
            await sdk.close()

    async def _ask(self, sdk: AsyncOpenAI, ask: Ask, length: str) -> Reply:
        most = ask.max_tokens if self._longest is None else min(ask.max_tokens, self._longest)
        made: dict[str, Any] = {**request(ask), length: most}
        completion = await sdk.chat.completions.create(
            model=self.model,
            messages=messages(ask),  # type: ignore[arg-type]
            timeout=ask.timeout,
            **made,
        )
        return reply_of(completion, ask, self.address)

    def _learn_length(self, error: Exception, tried: str) -> bool:
        """Whether the server minds how, or how much, reply was asked for, and we can do better.

        Models know one of two names for the longest reply, and some limit it themselves.
        """
        status, said = getattr(error, "status_code", 0), str(getattr(error, "message", ""))
        if status not in (400, 422) or not _LENGTH_NAME.search(said):
            return False
        limit = _REPLY_LIMIT.search(said)
        if limit:
            self._longest = int(limit.group(1))
            return True
        minds = getattr(error, "code", None) == "unsupported_parameter" or "support" in said
        if not minds or not re.search(rf"\b{tried}\b", said):
            return False
        self._length = "max_tokens" if tried == "max_completion_tokens" else "max_completion_tokens"
        return True

    def _sdk(self) -> AsyncOpenAI:
        if not self._key and not self._url:
            raise ModelError(
                "auth",
                "no key for OpenAI: set OPENAI_API_KEY, or give the base URL of another server "
                "(--base-url or OPENAI_BASE_URL); local ones need no key",
            )
        loop = asyncio.get_running_loop()
        if loop not in self._sdks:
            self._sdks[loop] = self._opened()
        return self._sdks[loop]

    def _opened(self) -> AsyncOpenAI:
        try:
            from openai import AsyncOpenAI
        except ImportError:
            raise ModelError(
                "unreachable",
                "the openai package is not installed: pip install 'mastwatch[openai]'",
            ) from None
        # We retry ourselves: within the budget, at our pace, and counted.
        return AsyncOpenAI(
            api_key=self._key or NO_KEY, base_url=self._url or DEFAULT_URL, max_retries=0
        )


def _shown(url: str) -> str:
    """A URL without the password it may hold."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl().rstrip("/")
