"""Stop words read from termination predicates, without ever calling them."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from autogen import AssistantAgent, ConversableAgent

from mastwatch_instrumentations.autogen.contract import read_contract, tokens

STOP_WORD = "HALT"
WORDS = ("DONE", "STOP")


def by_global(message: Any) -> bool:
    """Whether HELP is over."""
    return STOP_WORD in message["content"]


def by_argument(word: str, message: Any) -> bool:
    return word in message["content"]


def closed(word: str) -> Any:
    return lambda message: message.get("content", "").endswith(word)


class Judge:
    def over(self, message: Any) -> bool:
        return "FINITO" in message["content"]


@pytest.mark.parametrize(
    ("predicate", "found"),
    [
        (lambda m: m.get("content") == "TERMINATE", ("TERMINATE",)),
        (lambda m: (m["content"] or "").rstrip().lower().endswith("all done."), ("all done.",)),
        (lambda m: m.get("content") in ("DONE", "STOP"), ("DONE", "STOP")),
        (lambda m: any(w in m["content"] for w in ["DONE", "STOP"]), ("DONE", "STOP")),
        (lambda m: any(w in m["content"] for w in WORDS), ("DONE", "STOP")),
        (lambda m: m["content"] in {"B", "A"}, ("A", "B")),
        (by_global, ("HALT",)),
        (functools.partial(by_argument, "BYE"), ("BYE",)),
        (closed("FIN"), ("FIN",)),
        (Judge().over, ("FINITO",)),
        (lambda m: False, ()),
        (lambda m: m.get("role") == "tool", ()),
        (None, ()),
        (len, ()),
        (functools.partial(print), ()),
    ],
)
def test_tokens(predicate: Any, found: tuple[str, ...]) -> None:
    assert sorted(tokens(predicate)) == sorted(found)


def test_a_predicate_is_never_called() -> None:
    def over(message: Any) -> bool:
        raise AssertionError("called")

    assert tokens(over) == ("called",)


@pytest.mark.parametrize(
    ("prompt", "found"),
    [("You write.", ()), ("You write. Say TERMINATE when done.", ("TERMINATE",))],
)
def test_the_word_every_agent_looks_for_counts_where_one_was_told_of_it(
    prompt: str, found: tuple[str, ...]
) -> None:
    writer = ConversableAgent("writer", llm_config=False, system_message=prompt)
    reader = ConversableAgent("reader", llm_config=False)
    contract = read_contract(reader, writer, [reader, writer], 3)
    assert contract.tokens == found
    assert (contract.max_messages, contract.source) == (6, "initiate_chat.max_turns")


def test_ag2s_assistants_are_told_of_it() -> None:
    helper = AssistantAgent("helper", llm_config=False)
    user = ConversableAgent("user", llm_config=False)
    assert read_contract(user, helper, [user, helper], None).tokens == ("TERMINATE",)


def test_a_word_of_the_users_counts_in_any_case() -> None:
    user = ConversableAgent("user", llm_config=False, is_termination_msg=by_global)
    other = ConversableAgent("other", llm_config=False)
    assert read_contract(user, other, [user, other], None).tokens == ("HALT",)
