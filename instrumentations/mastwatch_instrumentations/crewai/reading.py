"""What CrewAI's crews, messages and models say, read without touching them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from mastwatch.events import RequestMessage, Role, ToolRequest
from mastwatch.interventions import SPEAKER
from mastwatch_instrumentations.crewai.library import find

_ROLES = frozenset({"assistant", "user", "tool", "system"})
DELEGATION = frozenset({"delegate_work_to_coworker", "ask_question_to_coworker"})
"""The tools by which an agent passes work to another."""


class Said(NamedTuple):
    """A model's answer as an utterance."""

    text: str
    tool_calls: tuple[ToolRequest, ...] = ()


def role_of(agent: Any) -> str:
    """Return an agent's name."""
    return str(getattr(agent, "role", None) or "agent").strip()


def prompts_of(agents: Sequence[Any]) -> dict[str, str]:
    """Return each agent's system prompt, as CrewAI words it by default."""
    return {
        role_of(agent): (
            f"You are {agent.role}. {agent.backstory}\nYour personal goal is: {agent.goal}"
        )
        for agent in agents
        if getattr(agent, "backstory", None) is not None
    }


def task_of(tasks: Sequence[Any], inputs: object) -> str:
    """Return what a crew is asked to do, its tasks one after the other."""
    text = "\n".join(str(task.description) for task in tasks)
    for name, value in inputs.items() if isinstance(inputs, Mapping) else ():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def request_text(messages: object) -> str:
    """Return what an agent is asked that is kicked off by itself."""
    if isinstance(messages, str):
        return messages
    asked = [m for m in messages if m.get("role") == "user"] if isinstance(messages, list) else []
    return text_of(asked[-1].get("content")) if asked else ""


def provider_of(model: Any) -> str:
    """Return a model's provider; in a class of the app's own it is but a default."""
    ours = type(model).__module__.startswith("crewai.")
    return str(getattr(model, "provider", "") or "") if ours else ""


def text_of(content: object) -> str:
    """Return a message content's text.

    >>> text_of([{"type": "text", "text": "look:"}, {"type": "image_url", "image_url": {}}])
    'look: <image_url>'
    """
    if isinstance(content, list):
        return " ".join(_part(part) for part in content)
    return "" if content is None else str(content)


def _part(part: object) -> str:
    if isinstance(part, Mapping):
        return str(part["text"]) if "text" in part else f"<{part.get('type', 'part')}>"
    return str(part)


def request_of(messages: object) -> tuple[RequestMessage, ...]:
    """Return a snapshot of a model request."""
    if isinstance(messages, str):
        return (RequestMessage(role="user", content=messages),)
    if not isinstance(messages, (list, tuple)):
        return ()
    # A nudge of ours is said once, and no part of the history.
    return tuple(_request(m) for m in messages if m.get("name") != SPEAKER)


def _request(message: Mapping[str, Any]) -> RequestMessage:
    role = message.get("role")
    known = cast(Role, role if role in _ROLES else "user")
    name = str(message.get("name") or "")
    return RequestMessage(role=known, content=text_of(message.get("content")), name=name)


def said(answer: object) -> Said:
    """Return what an agent's model answered, tool calls told from the text."""
    if isinstance(answer, list):
        return Said("", tuple(filter(None, map(native_request, answer))))
    if hasattr(answer, "model_dump_json"):
        return Said(answer.model_dump_json())
    return _of_text(str(answer))


def _of_text(text: str) -> Said:
    """Read an answer in the form of ReAct, by CrewAI's own parser; other text is all said."""
    parse, action = find("agents.parser", "parse"), find("agents.parser", "AgentAction")
    try:
        parsed_text = parse(text)
    except Exception:  # no such form: the parser's own exception, whatever its name here
        return Said(text)
    if not isinstance(parsed_text, action):
        return Said(str(parsed_text.output))
    request = ToolRequest(
        name=tool_name(parsed_text.tool), arguments=parsed(parsed_text.tool_input)
    )
    return Said(parsed_text.thought.removeprefix("Thought:").strip(), (request,))


def native_request(tool_call: object) -> ToolRequest | None:
    """Return a tool call of a model that knows tools, whatever its provider's form."""
    extract = find("utilities.agent_utils", "extract_tool_call_info")
    info = extract(tool_call) if extract is not None else None
    if info is None:
        return None
    call_id, name, arguments = info
    return ToolRequest(name=name, arguments=parsed(arguments), call_id=call_id)


def tool_name(name: object) -> str:
    """Return a tool's name as CrewAI compares it."""
    sanitize = find("utilities.string_utils", "sanitize_tool_name")
    return str(sanitize(str(name)) if sanitize is not None else name)


def parsed(arguments: object) -> object:
    """Return a call's arguments as JSON where they are, else as they came.

    >>> parsed('{"city": "Bonn"}'), parsed("oops")
    ({'city': 'Bonn'}, 'oops')
    """
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except ValueError:
            return arguments
    return arguments


def result_text(result: object) -> str:
    """Return a tool's result as text."""
    if isinstance(result, str):
        return result
    if isinstance(result, (dict, list, tuple)):
        return json.dumps(result, default=str, ensure_ascii=False)
    return "" if result is None else str(result)
