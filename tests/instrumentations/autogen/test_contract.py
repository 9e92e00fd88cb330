"""Stop words read from termination predicates, without ever calling them."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest
from autogen import AssistantAgent, ConversableAgent

from apps import autogen_apps as apps
from mastwatch.findings import Notice
from mastwatch.replay import replay
from mastwatch_detectors.termination_unawareness import TerminationUnawareness
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


@pytest.mark.parametrize(
    ("replies", "turns", "mode", "uncapped"),
    [
        (sys.maxsize, None, "NEVER", True),
        (5_000, None, "NEVER", True),
        (4_000, None, "NEVER", False),
        (sys.maxsize, 6_000, "NEVER", True),
        (sys.maxsize, 6, "NEVER", False),
        (sys.maxsize, None, "TERMINATE", False),  # a person can end it
    ],
)
def test_chats_that_nothing_caps(
    replies: int, turns: int | None, mode: Any, uncapped: bool
) -> None:
    user, helper = (
        ConversableAgent(
            name, llm_config=False, max_consecutive_auto_reply=replies, human_input_mode=asked
        )
        for name, asked in (("user", mode), ("helper", "NEVER"))
    )
    contract = read_contract(user, helper, [user, helper], turns)
    assert contract.uncapped is uncapped
    assert contract.max_messages is None or contract.max_messages < 10_000


def notices(seen: Any) -> list[tuple[str, str]]:
    verdicts = replay(seen.events, [TerminationUnawareness])
    return [(v.name, v.key) for v in verdicts if isinstance(v, Notice)]


@pytest.mark.parametrize(("rounds", "found"), [(10_000, [("no_turn_cap", "")]), (4, [])])
def test_a_group_that_nothing_caps_is_told_of_once(
    seen: Any, rounds: int, found: list[tuple[str, str]]
) -> None:
    members, manager = apps.group(rounds=rounds)
    members[1].register_reply(
        ConversableAgent, lambda *_, **__: (True, "All done. TERMINATE"), position=0
    )
    manager._is_termination_msg = lambda m: "TERMINATE" in (m.get("content") or "")
    members[0].initiate_chat(manager, message="Go on, and end with TERMINATE.")
    assert seen.started[0].contract.uncapped is bool(found)
    assert notices(seen) == found


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("You tell the weather. Say TERMINATE when you are done.", []),
        ("You tell the weather.", [("contract_mismatch", "unasked")]),
    ],
)
def test_a_stop_word_that_no_prompt_asks_for_is_told_of_once(
    seen: Any, prompt: str, found: list[tuple[str, str]]
) -> None:
    proxy, helper = apps.weather_pair()
    helper.update_system_message(prompt)
    proxy.initiate_chat(helper, message="Weather?")
    assert notices(seen) == found
