"""An existing LangChain chat model as the judge."""

from __future__ import annotations

import json
from typing import Any

from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.judge.clients.completions import text_of
from mastwatch.judge.clients.errors import from_exception

_TRUNCATED = ("length", "max_tokens")
_REFUSED = ("content_filter", "safety", "refusal")
_NOT_THERE = (NotImplementedError, AttributeError, TypeError)


class LangChainClient:
    """Asks a chat model as its owner configured it: key, retries, sampling and reply length.

    Args:
        model: A ``BaseChatModel``, or what has its ``ainvoke``.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.provider = str(getattr(model, "_llm_type", "") or "langchain")
        name = getattr(model, "model_name", None) or getattr(model, "model", None)
        self.model = name if isinstance(name, str) and name else type(model).__name__
        url = getattr(model, "openai_api_base", None) or getattr(model, "base_url", None)
        made_by = f"{type(model).__module__}.{type(model).__qualname__}"
        self.address = f"{made_by} {url}" if isinstance(url, str) and url else made_by

    async def complete(self, ask: Ask) -> Reply:
        """Ask once.

        Raises:
            ModelError: There is no answer.
        """
        asked = [("system", ask.system), ("human", ask.user)]
        runnable = self._holding(ask)
        try:
            answer = await runnable.ainvoke(asked)
        except _NOT_THERE as error:
            if ask.rung == "extract":
                raise from_exception(error, self._where) from None
            raise self._unsupported() from None
        except Exception as error:
            raise from_exception(error, self._where) from None
        # With a schema LangChain gives its own reading beside the message; ours is stricter.
        message = answer.get("raw") if isinstance(answer, dict) else answer
        return _reply(message, ask)

    async def close(self) -> None:
        """The model is its owner's."""

    @property
    def _where(self) -> str:
        return f"the chat model {type(self._model).__name__}"

    def _holding(self, ask: Ask) -> Any:
        """The model, told to hold its reply to the schema."""
        schema = {"title": ask.schema_name, "description": "The verdicts.", **ask.schema}
        try:
            if ask.rung == "json_schema":
                return self._model.with_structured_output(schema, include_raw=True)
            if ask.rung == "tool":
                return self._model.bind_tools([schema], tool_choice=ask.schema_name)
        except (*_NOT_THERE, ValueError, ImportError):
            raise self._unsupported() from None
        if ask.rung == "json_object":  # LangChain has no common word for it
            raise self._unsupported()
        return self._model

    def _unsupported(self) -> ModelError:
        return ModelError(
            "unsupported", f"{self._where} cannot hold replies to a schema this way", sampling=False
        )


def _reply(message: Any, ask: Ask) -> Reply:
    usage = getattr(message, "usage_metadata", None) or {}
    told = getattr(message, "response_metadata", None) or {}
    reason = str(told.get("finish_reason") or told.get("stop_reason") or "").lower()
    refusal = (getattr(message, "additional_kwargs", None) or {}).get("refusal")
    if not refusal and reason in _REFUSED:
        refusal = reason
    return Reply(
        text=_arguments(message, ask) or text_of(getattr(message, "content", message)),
        model=str(told.get("model_name") or told.get("model") or ""),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        truncated=reason in _TRUNCATED,
        refusal=str(refusal or ""),
    )


def _arguments(message: Any, ask: Ask) -> str:
    for call in getattr(message, "tool_calls", None) or []:
        if call.get("name") == ask.schema_name and ask.rung != "extract":
            return json.dumps(call.get("args"), default=str)
    return ""
