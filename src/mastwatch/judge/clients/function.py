"""A function of your own as the model."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.judge.clients.completions import messages
from mastwatch.judge.clients.errors import from_exception

Answered = str | Mapping[str, Any] | Reply | None
Function = Callable[[list[dict[str, str]], Mapping[str, Any]], Answered | Awaitable[Answered]]
"""Takes messages (``role``, ``content``) and the JSON schema of the reply."""

_numbers = itertools.count(1)


class FunctionClient:
    """Asks a function, sync or async.

    Args:
        function: Given the messages and the schema it returns the reply as text, as a dict, or as a
            ``Reply`` with its usage. A sync one runs in a thread; it is not stopped at a time-out.
        model: A name for reports; the function's own by default.
    """

    provider = "function"

    def __init__(self, function: Function, model: str = "") -> None:
        self._function = function
        self.address = _identity(function)
        self.model = model or getattr(function, "__name__", type(function).__name__)

    async def complete(self, ask: Ask) -> Reply:
        """Ask once.

        Raises:
            ModelError: The function failed, or returned something else.
        """
        try:
            answer = await self._answer(ask)
        except Exception as error:
            raise from_exception(error, f"the function {self.model}") from None
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, Mapping):
            return Reply(text=json.dumps(dict(answer), default=str), model=self.model)
        if answer is None or isinstance(answer, str):
            return Reply(text=answer or "", model=self.model)
        raise ModelError(
            "bad_request",
            f"the function {self.model} returned {type(answer).__name__}; it must return a text, "
            "a dict or a Reply",
        )

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _answer(self, ask: Ask) -> Any:
        called = getattr(self._function, "__call__", None)  # noqa: B004  an object's own method
        if inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(called):
            return await self._function(messages(ask), ask.schema)  # type: ignore[misc]
        answer = await asyncio.to_thread(self._function, messages(ask), ask.schema)
        return await answer if inspect.isawaitable(answer) else answer


def _identity(function: Function) -> str:
    """A name that no other function has: answers are kept under it, also for later processes."""
    name = getattr(function, "__qualname__", "")
    if not name or "<" in name or getattr(function, "__self__", None) is not None:
        return f"{type(function).__module__}.{name or type(function).__name__}#{next(_numbers)}"
    return f"{function.__module__}.{name}"
