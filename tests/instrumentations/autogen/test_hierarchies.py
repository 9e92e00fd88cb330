"""Group chats whose members are group chats, and how many messages such chats may have."""

from __future__ import annotations

from typing import Any

import pytest
from autogen import ConversableAgent, GroupChat, GroupChatManager

from apps import autogen_apps as apps


class Team(GroupChatManager):
    """A group chat that tells the chat around it what came out."""

    def generate_reply(self, *args: Any, **kwargs: Any) -> Any:
        super().generate_reply(*args, **kwargs)
        return "the team agrees"


def company(manager: type[GroupChatManager]) -> tuple[ConversableAgent, GroupChatManager]:
    """A boss and a team of two in one group chat."""
    members = [apps.canned("one", "one thinks so"), apps.canned("two", "two thinks so too")]
    team = manager(
        GroupChat(members, [], max_round=3, speaker_selection_method="round_robin"),
        name="team",
        llm_config=False,
    )
    boss = apps.canned("boss", "so be it")
    around = GroupChat([boss, team], [], max_round=3, speaker_selection_method="round_robin")
    return boss, GroupChatManager(around, llm_config=False)


def check_branch(seen: Any, told: list[tuple[str, str]]) -> None:
    inner = [m for m in seen.messages if m.branch]
    assert [(m.sender, m.text) for m in inner] == [
        ("one", "one thinks so"),
        ("two", "two thinks so too"),
    ]
    assert {m.recipients for m in inner} == {("team",)}
    assert [(m.sender, m.text) for m in seen.messages if not m.branch] == told
    assert [(run.name, run.task) for run in seen.started] == [
        ("chat_manager", "build it"),
        ("team", "build it"),
    ]
    assert seen.started[1].contract.max_messages == 3
    assert seen.ends[0] == ("limit", "Maximum rounds (3) reached")
    seen.check()


def test_a_group_chat_in_a_group_chat_is_a_branch(seen: Any) -> None:
    boss, manager = company(GroupChatManager)
    boss.initiate_chat(manager, message="build it")
    check_branch(seen, [("boss", "build it")])
    assert seen.ends[1] == ("completed", "No reply generated")


async def test_its_async_form(seen: Any) -> None:
    boss, manager = company(GroupChatManager)
    await boss.a_initiate_chat(manager, message="build it")
    check_branch(seen, [("boss", "build it")])


def test_what_a_group_chat_says_in_the_one_around_it_is_heard(seen: Any) -> None:
    boss, manager = company(Team)
    boss.initiate_chat(manager, message="build it")
    check_branch(seen, [("boss", "build it"), ("team", "the team agrees"), ("boss", "so be it")])


@pytest.mark.parametrize(("turns", "limit"), [(None, 4), (1, 4), (2, 8)])
def test_each_turn_with_a_manager_is_a_whole_group_chat(
    seen: Any, turns: int | None, limit: int
) -> None:
    members, manager = apps.group(2, rounds=4)
    outsider = apps.canned("outsider", "and now?")
    outsider.initiate_chat(manager, message="go", max_turns=turns)
    assert seen.started[0].contract.max_messages == len(seen.messages) == limit
    assert seen.started[0].contract.source == "GroupChat.max_round"
    assert members[0].name in {message.sender for message in seen.messages}
    seen.check()
