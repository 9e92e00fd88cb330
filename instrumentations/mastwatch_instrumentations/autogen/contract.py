"""How an AG2 chat is meant to stop, read from its participants.

A user's ``is_termination_msg`` is never called: what it looks for is read from its code.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from mastwatch.events import Contract

MAX_TOKENS = 16
"""Stop words kept per chat."""

_UNBOUNDED = 10_000  # such caps are "none": a manager's default is sys.maxsize
_LONGEST = 64
# What a predicate reads a message with, not what it looks for.
_KEYS = frozenset(
    {
        "arguments",
        "assistant",
        "content",
        "function",
        "function_call",
        "id",
        "name",
        "role",
        "system",
        "text",
        "tool",
        "tool_calls",
        "tool_responses",
        "type",
        "user",
        "utf-8",
    }
)


def read_contract(
    initiator: Any, recipient: Any, participants: Sequence[Any], max_turns: object
) -> Contract:
    """Return the chat's contract.

    Args:
        initiator: The agent that opens the chat.
        recipient: The other one, or the group chat's manager.
        participants: Everyone in it.
        max_turns: As given to ``initiate_chat``.
    """
    found = dict.fromkeys(_agreed_tokens(participants))
    limit, source = _limit(initiator, recipient, max_turns)
    unbounded = limit is not None and limit >= _UNBOUNDED
    return Contract(
        tokens=tuple(found)[:MAX_TOKENS],
        max_messages=None if unbounded else limit,
        source=source or ("is_termination_msg" if found else ""),
        # A person who is asked can end the chat at any time.
        uncapped=unbounded and not any(_asks_a_person(agent) for agent in participants),
    )


def _agreed_tokens(participants: Sequence[Any]) -> Iterator[str]:
    told = tuple(prompts(participants).values())
    for agent in participants:
        predicate = getattr(agent, "_is_termination_msg", None)
        ag2s_own = str(getattr(predicate, "__module__", "")).startswith("autogen.")
        for word in tokens(predicate):
            # Every agent looks for TERMINATE if not told otherwise: that is only the way out of a
            # chat whose agents know of it.
            if not ag2s_own or any(word in prompt for prompt in told):
                yield word


def prompts(participants: Iterable[Any]) -> dict[str, str]:
    """Return the system messages by agent name."""
    found = {}
    for agent in participants:
        prompt = getattr(agent, "system_message", None)
        if isinstance(prompt, str) and prompt:
            found[agent.name] = prompt
    return found


def tokens(predicate: object) -> tuple[str, ...]:
    """Return the stop words that a termination predicate's code names.

    >>> tokens(lambda m: (m.get("content") or "").rstrip().endswith("TERMINATE"))
    ('TERMINATE',)
    >>> words = ("DONE", "STOP")
    >>> tokens(lambda m: any(word in m["content"] for word in words))
    ('DONE', 'STOP')
    """
    found = dict.fromkeys(text for text in _strings(predicate) if _is_token(text))
    return tuple(found)


def _is_token(text: str) -> bool:
    return (
        text not in _KEYS
        and len(text) <= _LONGEST
        and any(character.isalnum() for character in text)
        and not text.startswith("<")  # names of nested code: <lambda>, <genexpr>
        and ".<locals>" not in text
    )


def _strings(predicate: object) -> Iterator[str]:
    if isinstance(predicate, functools.partial):
        yield from _flat([*predicate.args, *predicate.keywords.values()])
        predicate = predicate.func
    predicate = inspect.unwrap(getattr(predicate, "__func__", predicate))  # type: ignore[arg-type]
    if not isinstance(predicate, FunctionType):
        return
    code = predicate.__code__
    documented = {predicate.__doc__}
    yield from (text for text in _constants(code) if text not in documented)
    yield from _flat(_cell(cell) for cell in predicate.__closure__ or ())
    yield from _flat(predicate.__defaults__ or ())
    # A module's constant: def is_done(m): return STOP_WORD in m["content"]
    yield from _flat(predicate.__globals__.get(name) for name in _names(code))


def _names(code: CodeType) -> Iterator[str]:
    yield from (name for name in code.co_names if not name.startswith("__"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _constants(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _constants(constant)
        else:
            yield from _flat([constant])


def _cell(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _flat(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (tuple, list, set, frozenset)) and len(value) <= MAX_TOKENS:
            texts = [text for text in value if isinstance(text, str)]
            yield from sorted(texts) if isinstance(value, (set, frozenset)) else texts


def _limit(initiator: Any, recipient: Any, max_turns: object) -> tuple[int | None, str]:
    turns = max_turns if isinstance(max_turns, int) else None
    limits: list[tuple[object, str]] = []
    group = getattr(recipient, "groupchat", None)
    if group is not None:
        rounds = getattr(group, "max_round", None)
        # Each turn with a manager is a whole group chat, opened by the initiator's message.
        total = rounds * (turns or 1) if isinstance(rounds, int) else None
        limits.append((total, "GroupChat.max_round"))
    else:
        if turns is not None:
            limits.append((2 * turns, "initiate_chat.max_turns"))
        # Opener, then pairs until the recipient (the initiator) has used up its replies.
        limits.append((_replies(recipient, 1), "max_consecutive_auto_reply"))
        limits.append((_replies(initiator, 2), "max_consecutive_auto_reply"))
    known = [(n, source) for n, source in limits if isinstance(n, int)]
    return min(known, default=(None, ""), key=lambda pair: pair[0])


def _asks_a_person(agent: Any) -> bool:
    return getattr(agent, "human_input_mode", "NEVER") != "NEVER"


def _replies(agent: Any, extra: int) -> int | None:
    if _asks_a_person(agent):
        return None  # which starts the count anew
    limit = getattr(agent, "_max_consecutive_auto_reply", None)
    return 2 * limit + extra if isinstance(limit, int) else None
