"""Chat completions as OpenAI's API writes them: requests made, answers read.

Many servers speak it, each a little differently; nothing here relies on what only some do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mastwatch.judge.client import Ask, ModelError, Reply
from mastwatch.judge.clients.errors import from_refusal
from mastwatch.judge.clients.refusals import refusal_of

_REFUSED = "content_filter"


def messages(ask: Ask) -> list[dict[str, str]]:
    """The question as messages."""
    return [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}]


def request(ask: Ask) -> dict[str, Any]:
    """What holds the reply to its schema, and the sampling parameters."""
    made: dict[str, Any] = dict(ask.sampling)
    name, schema = ask.schema_name, dict(ask.schema)
    if ask.rung == "json_schema":
        described = {"name": name, "schema": schema, "strict": True}
        made["response_format"] = {"type": "json_schema", "json_schema": described}
    elif ask.rung == "json_object":
        made["response_format"] = {"type": "json_object"}
    elif ask.rung == "tool":
        made["tools"] = [{"type": "function", "function": {"name": name, "parameters": schema}}]
        made["tool_choice"] = {"type": "function", "function": {"name": name}}
    return made


def reply_of(completion: Any, ask: Ask, where: str) -> Reply:
    """Read an answer.

    Args:
        completion: A ``ChatCompletion`` of the SDK, or what resembles one.
        ask: The question.
        where: The server, for messages.

    Raises:
        ModelError: It is no chat completion, or an error that came with HTTP 200.
    """
    error = getattr(completion, "error", None)
    if error:
        raise from_refusal(refusal_of(error), where)
    if isinstance(completion, (str, bytes)) or not hasattr(completion, "choices"):
        raise ModelError(
            "bad_request",
            f"{where} did not answer with a chat completion: check the base URL, which mostly "
            "ends in /v1",
        )
    usage = getattr(completion, "usage", None)
    model = getattr(completion, "model", None)
    told: dict[str, Any] = {
        "model": model if isinstance(model, str) else "",
        "input_tokens": _count(usage, "prompt_tokens"),
        "output_tokens": _count(usage, "completion_tokens"),
    }
    choices = completion.choices or []
    if not choices:
        return Reply(text="", **told)
    choice = choices[0]
    message, reason = getattr(choice, "message", None), getattr(choice, "finish_reason", None)
    refusal = getattr(message, "refusal", None) or (_REFUSED if reason == _REFUSED else "")
    return Reply(
        text=_arguments(message, ask) or text_of(getattr(message, "content", None)),
        truncated=reason == "length",
        refusal=str(refusal),
        **told,
    )


def text_of(content: object) -> str:
    """The text of a message whose content is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(_part(part) for part in content)


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        text = part.get("text") if part.get("type", "text") in ("text", "output_text") else None
    else:
        text = getattr(part, "text", None)
    return text if isinstance(text, str) else ""


def _arguments(message: Any, ask: Ask) -> str:
    """The arguments of the tool we asked for; any other call answers nothing."""
    for call in getattr(message, "tool_calls", None) or []:
        function = getattr(call, "function", None)
        arguments = getattr(function, "arguments", None)
        if ask.rung == "tool" and getattr(function, "name", "") == ask.schema_name:
            return arguments if isinstance(arguments, str) else ""
    return ""


def _count(usage: Any, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and value >= 0 else None
