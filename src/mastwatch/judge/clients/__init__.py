"""Adapters to models; each imports its library when it is first used."""

from __future__ import annotations

from typing import Any, cast

from mastwatch.judge.client import ModelClient
from mastwatch.judge.clients.any_llm import PREFIX, AnyLLMClient
from mastwatch.judge.clients.function import FunctionClient
from mastwatch.judge.clients.langchain import LangChainClient
from mastwatch.judge.clients.openai import OpenAIClient
from mastwatch.judge.settings import JudgeSettings

__all__ = ["AnyLLMClient", "FunctionClient", "LangChainClient", "OpenAIClient", "make"]


def make(model: Any, settings: JudgeSettings, api_key: str | None = None) -> ModelClient:
    """Make a client.

    Args:
        model: A name at an OpenAI-compatible server; ``any-llm:PROVIDER:MODEL``; a function of
            messages and schema; a LangChain chat model; or a client already. The settings' model
            when None or empty.
        settings: The base URL, and the model where none is given.
        api_key: For a model by name; the library's own variable by default.

    Raises:
        ValueError: No model is named.
        TypeError: It is nothing that can be asked.

    >>> make("qwen3:8b", JudgeSettings(base_url="http://127.0.0.1:11434/v1")).address
    'http://127.0.0.1:11434/v1'
    """
    model = model or settings.model
    if isinstance(model, str):
        return _named(model.strip(), settings, api_key)
    if hasattr(model, "complete") and hasattr(model, "close"):
        return cast(ModelClient, model)
    if hasattr(model, "ainvoke"):
        return LangChainClient(model)
    if callable(model):
        return FunctionClient(model)
    raise TypeError(
        f"a judge's model is a name, a function, a LangChain chat model or a ModelClient, not "
        f"{type(model).__name__}"
    )


def _named(name: str, settings: JudgeSettings, api_key: str | None) -> ModelClient:
    if not name:
        raise ValueError(
            "the judge needs a model: give its name (judge model, --model or MASTWATCH_JUDGE_MODEL)"
        )
    if name.startswith(PREFIX):
        return AnyLLMClient(name[len(PREFIX) :], settings.base_url, api_key)
    return OpenAIClient(name, settings.base_url, api_key)
