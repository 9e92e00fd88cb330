"""What LlamaIndex's agents, messages and tools say, read without touching them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from mastwatch.events import RequestMessage, Role, ToolRequest
from mastwatch.interventions import SPEAKER

_ROLES = frozenset({"assistant", "user", "tool", "system"})


def text_of(message: Any) -> str:
    """Return a message's text."""
    return str(getattr(message, "content", None) or "")


def said(output: Any) -> tuple[str, tuple[ToolRequest, ...]]:
    """Return what an agent says in a step, without the frame that ReAct puts around it."""
    requests = tuple(
        ToolRequest(name=call.tool_name, arguments=call.tool_kwargs, call_id=call.tool_id)
        for call in output.tool_calls or ()
    )
    return spoken(text_of(output.response), bool(requests)), requests


def spoken(text: str, asks: bool) -> str:
    r"""Return the words of an answer in the form of ReAct; other text is all words.

    >>> spoken("Thought: I look.\nAction: weather\nAction Input: {}", True)
    'I look.'
    >>> spoken("Thought: I know.\nAnswer: Sunny.", False)
    'Sunny.'
    """
    if asks and "\nAction:" in text:
        return text.split("\nAction:", 1)[0].removeprefix("Thought:").strip()
    if not asks and text.startswith("Thought:") and "Answer:" in text:
        return text.split("Answer:", 1)[1].strip()
    return text


def request_of(messages: object) -> tuple[RequestMessage, ...] | None:
    """Return a snapshot of a model request."""
    if isinstance(messages, str):
        return (RequestMessage(role="user", content=messages),)
    if not isinstance(messages, Sequence):
        return None
    # A nudge of ours is said once, and no part of the history.
    return tuple(_request(m) for m in messages if m.additional_kwargs.get("name") != SPEAKER)


def _request(message: Any) -> RequestMessage:
    role = str(getattr(message.role, "value", message.role))
    known = cast(Role, role if role in _ROLES else "user")
    return RequestMessage(role=known, content=text_of(message))


def model_of(model: Any) -> tuple[str, str]:
    """Return a model's name, and the provider where it is one of OpenAI's own."""
    name = getattr(model, "model", None) or getattr(model, "model_name", None)
    if not name:
        name = getattr(getattr(model, "metadata", None), "model_name", "")
    provider = "openai" if type(model).__module__.startswith("llama_index.llms.openai.") else ""
    return ("" if name == "unknown" else str(name)), provider


def usage_of(raw: object) -> tuple[int | None, int | None]:
    """Return input and output tokens of a provider's raw answer."""
    counts = _get(raw, "usage")
    for names in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
        spent, made = _get(counts, names[0]), _get(counts, names[1])
        if isinstance(spent, int) and isinstance(made, int):
            return spent, made
    return None, None


def _get(thing: object, name: str) -> object:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def tool_error(output: Any) -> BaseException | str | None:
    """Return what went wrong in a tool."""
    if not output.is_error:
        return None
    error = getattr(output, "exception", None)
    if isinstance(error, BaseException):
        return error
    return "ToolNotFound" if output.raw_output is None else "ToolError"


def agents_of(workflow: Any) -> list[Any]:
    """Return a workflow's agents: its own, or itself."""
    agents = getattr(workflow, "agents", None)
    if isinstance(agents, Mapping):
        return list(agents.values())
    return [workflow] if hasattr(workflow, "take_step") else []


def prompts_of(workflow: Any) -> dict[str, str]:
    """Return each agent's system prompt, where it has one."""
    prompts = {a.name: getattr(a, "system_prompt", None) for a in agents_of(workflow)}
    return {name: str(prompt) for name, prompt in prompts.items() if prompt}


def name_of(workflow: Any) -> str:
    """Return what a workflow is called."""
    named = agents_of(workflow)
    return str(named[0].name if named == [workflow] else type(workflow).__name__)


def task_of(start: Any, given: Mapping[str, Any]) -> str | None:
    """Return what a workflow is asked: an agent's message, or the one text it is started with."""
    fields = dict(start.items()) if start is not None and hasattr(start, "items") else dict(given)
    asked = fields.get("user_msg")
    if asked is not None:
        return asked if isinstance(asked, str) else text_of(asked)
    history = fields.get("chat_history") or ()
    if history:
        return text_of(history[-1])
    texts = [value for value in fields.values() if isinstance(value, str)]
    return texts[0] if len(texts) == 1 else None
