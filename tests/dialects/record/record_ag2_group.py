# /// script
# requires-python = ">=3.10"
# dependencies = ["autogen==0.14.1", "opentelemetry-sdk==1.45.1"]
# ///
"""A group chat of AG2 classic, its manager traced, too."""

from __future__ import annotations

import shop
from autogen import ConversableAgent, GroupChat, GroupChatManager
from autogen.opentelemetry import instrument_agent
from otlp_file import OtlpFile


def main() -> None:
    file = OtlpFile("ag2_classic.group")
    provider = file.provider()
    planner, clerk, writer = (
        ConversableAgent(name, llm_config=False, default_auto_reply=text, human_input_mode="NEVER")
        for name, text in (("planner", ""), ("clerk", shop.FOUND), ("writer", shop.ANSWER))
    )
    chat = GroupChat([planner, clerk, writer], max_round=3, speaker_selection_method="round_robin")
    manager = GroupChatManager(chat, llm_config=False)
    for agent in (planner, clerk, writer, manager):
        instrument_agent(agent, tracer_provider=provider)
    planner.initiate_chat(manager, message=shop.ASKED, silent=True)
    file.write({"gen_ai.conversation.id": "314159"})


if __name__ == "__main__":
    main()
