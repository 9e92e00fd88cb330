"""Model calls, system prompts and caps out of AG2's runtime log."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from mastwatch.events import Contract, ModelCalled, RequestMessage, Role
from mastwatch.formats import fields
from mastwatch.formats.ag2.session import Chat

_ROLES: dict[object, Role] = {
    "assistant": "assistant",
    "user": "user",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_CALLS = """
    SELECT invocation_id, source_name, request, response, start_time, end_time
    FROM chat_completions
    WHERE session_id = ? AND start_time >= ? AND (? IS NULL OR start_time < ?) ORDER BY id
"""


def prompts(connection: sqlite3.Connection, session: str) -> dict[str, str]:
    """System prompt by agent, for those that ask a model."""
    found: dict[str, str] = {}
    query = "SELECT name, init_args, wrapper_id FROM agents WHERE session_id = ? ORDER BY id"
    for name, args, wrapper in connection.execute(query, (session,)):
        prompt = _object(args).get("system_message")
        if wrapper and isinstance(prompt, str) and prompt:
            found[str(name)] = prompt
    return found


def contract(connection: sqlite3.Connection, chat: Chat) -> Contract:
    """The cap of a group chat: the first message goes to its manager, who was made with it."""
    opener = next((one for one in chat.said if one), None)
    query = "SELECT init_args FROM agents WHERE session_id = ? AND name = ? ORDER BY id DESC"
    for (args,) in connection.execute(query, (chat.session, opener.to if opener else "")):
        group = _object(args).get("groupchat")
        cap = fields.whole(group.get("max_round")) if isinstance(group, dict) else None
        if cap:
            return Contract(max_messages=cap, source="GroupChat.max_round")
    return Contract()


def model_calls(
    connection: sqlite3.Connection, run_id: str, chat: Chat
) -> dict[int, list[ModelCalled]]:
    """The model calls of a chat, by the row they came before."""
    times = [(one.at or 0.0) if one else 0.0 for one in chat.said]
    for number in range(1, len(times)):  # rows without a time stand where the one before does
        times[number] = max(times[number], times[number - 1])
    found: dict[int, list[ModelCalled]] = {}
    bounds = (chat.session, chat.began, chat.until, chat.until)
    for call in connection.execute(_CALLS, bounds):
        ended = fields.moment(call[5]) or 0.0
        before = bisect_left(times, ended)
        branch = next((one.branch for one in chat.said[before:] if one), "")
        found.setdefault(before, []).append(_model_call(run_id, before, branch, call))
    return found


def _model_call(run_id: str, before: int, branch: str, call: Sequence[object]) -> ModelCalled:
    invocation, agent, asked, answered, start, end = call
    request, response = _object(asked), _object(answered)
    failed = "choices" not in response
    began, ended = fields.moment(start), fields.moment(end)
    usage = response.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return ModelCalled(
        run_id=run_id,
        at=ended,
        id=str(invocation) if invocation else None,
        branch=branch,
        index=before - 1,
        agent=str(agent or ""),
        model=fields.identity(request, "model") or fields.identity(response, "model") or "",
        request=_messages(request.get("messages")),
        text=None if failed else _answer(response),
        input_tokens=fields.whole(usage.get("prompt_tokens")),
        output_tokens=fields.whole(usage.get("completion_tokens")),
        seconds=max(0.0, ended - began) if began is not None and ended is not None else None,
        error="openai.APIError" if failed else None,
    )


def _messages(value: object) -> tuple[RequestMessage, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(
        RequestMessage(
            role=_ROLES.get(message.get("role"), "user"),
            content=_text(message.get("content")),
            name=fields.identity(message, "name") or "",
        )
        for message in value
        if isinstance(message, dict)
    )


def _answer(response: Mapping[str, object]) -> str:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return _text(message.get("content")) if isinstance(message, dict) else ""


def _text(value: object) -> str:
    try:
        return fields.text(value) or ""
    except fields.Malformed:
        return ""


def _object(text: object) -> dict[str, object]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
