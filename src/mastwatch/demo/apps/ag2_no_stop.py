"""Two agents that have the answer and go on until the cap.

The prompt asks for TERMINATE at the end of the last message; the check wants a message that *is*
TERMINATE. So the answer is given, nobody stops, and the analyst keeps busy at the user's expense.
"""

from __future__ import annotations

from typing import Any

from autogen import AssistantAgent, UserProxyAgent

from mastwatch.demo.ag2_model import LLM_CONFIG, give_model
from mastwatch.demo.models import Call, Line, work

TASK = "Which region grew most in the third quarter, and by how much?"
PROMPT = "You are a data analyst. Use the tools. End your last message with TERMINATE."
SALES = {
    "north": "Q2 412 000, Q3 455 300",
    "south": "Q2 388 000, Q3 391 200",
    "west": "Q2 501 700, Q3 498 900",
    "north by month": "Jul 149 800, Aug 151 000, Sep 154 500",
    "north by product": "tents 201 300, boots 143 000, lamps 111 000",
}


def sales(region: str) -> str:
    """Return the sales of a region."""
    work()
    return SALES[region]


def is_done(message: dict[str, Any]) -> bool:
    """Say whether a message ends the chat. Here is the mistake: it should look at the end."""
    return message.get("content") == "TERMINATE"


def build_pair() -> tuple[UserProxyAgent, AssistantAgent]:
    """Make the analyst and the proxy that runs tools for it."""
    analyst = AssistantAgent("Analyst", PROMPT, llm_config=LLM_CONFIG)
    user = UserProxyAgent(
        "User_Proxy",
        human_input_mode="NEVER",
        code_execution_config=False,
        is_termination_msg=is_done,
        max_consecutive_auto_reply=10,
        default_auto_reply="Please continue. If everything is done, say TERMINATE.",
    )
    analyst.register_for_llm(description="Return the sales of a region.")(sales)
    user.register_for_execution()(sales)
    give_model(analyst, ANALYST)
    return user, analyst


def main() -> None:
    """Ask the question."""
    user, analyst = build_pair()
    user.initiate_chat(analyst, message=TASK)


# What a model would answer at each turn.
ANALYST: list[Line] = [
    Call("sales", {"region": "north"}),
    Call("sales", {"region": "south"}),
    Call("sales", {"region": "west"}),
    "The north grew most in the third quarter: from 412 000 to 455 300, which is 10.5 percent. "
    "The south grew by 0.8 percent, the west shrank by 0.6 percent.\n\nTERMINATE",
    "To be thorough I will also break the growth of the north down by month.",
    Call("sales", {"region": "north by month"}),
    "September was the strongest month of the north with 154 500. TERMINATE",
    Call("sales", {"region": "north by product"}),
    "Tents bring most of it, 201 300 of 455 300, so tents explain the growth. TERMINATE",
    "You are welcome! If there is anything else about the regions, just ask. TERMINATE",
    "Glad I could help. TERMINATE",
]

if __name__ == "__main__":
    main()
