"""A group chat that hunts a slow checkout and never gets past its second step.

The log search asks for the wrong service name and finds nothing. Nobody in the team is told to
change a query that found nothing, so the planner asks for the same step, in slightly different
words, until the rounds are used up.
"""

from __future__ import annotations

from autogen import Agent, AssistantAgent, GroupChat, GroupChatManager, UserProxyAgent

from mastwatch.demo.ag2_model import LLM_CONFIG, give_model
from mastwatch.demo.models import Call, work

TASK = "Checkout has been slow since Tuesday's release. Find the cause and propose a fix."


def search_logs(service: str, level: str, since: str) -> str:
    """Search the logs of a service."""
    work()
    logs = {"checkout-api": "WARN pool exhausted: 40 of 40 connections in use (214 times)"}
    return logs.get(service, f"0 lines match service={service} level={level}")


def list_releases(day: str) -> str:
    """List what was released on a day."""
    work()
    return "checkout-api 3.1, catalogue 1.9"


def build_team() -> tuple[UserProxyAgent, GroupChatManager]:
    """Make the agents, give them their tool and put them into one chat."""
    user = UserProxyAgent("User", human_input_mode="NEVER", code_execution_config=False)
    planner = AssistantAgent("Planner", "Split the task into steps.", llm_config=LLM_CONFIG)
    researcher = AssistantAgent("Researcher", "Look things up.", llm_config=LLM_CONFIG)
    coder = AssistantAgent("Coder", "Propose the change in the code.", llm_config=LLM_CONFIG)
    reviewer = AssistantAgent("Reviewer", "Say what is missing.", llm_config=LLM_CONFIG)
    team = [planner, researcher, coder, reviewer]

    for tool in (list_releases, search_logs):
        researcher.register_for_llm(description=tool.__doc__)(tool)
        researcher.register_for_execution()(tool)
    give_model(planner, PLANNER)
    give_model(researcher, RESEARCHER)
    give_model(coder, CODER)
    give_model(reviewer, REVIEWER)

    def next_speaker(last: Agent, chat: GroupChat) -> Agent:
        if "tool_calls" in chat.messages[-1]:
            return last  # who asked for a tool also runs it
        return team[(team.index(last) + 1) % len(team)] if last in team else planner

    chat = GroupChat([user, *team], speaker_selection_method=next_speaker, max_round=34)
    return user, GroupChatManager(chat, llm_config=LLM_CONFIG)


def main() -> None:
    """Run the team on the task."""
    user, manager = build_team()
    user.initiate_chat(manager, message=TASK)


# What a model would answer at each turn.
PLANNER = [
    "Plan: find out which services changed on Tuesday, search their logs, patch, review. We begin "
    "with the releases.",
    "Step 2: the Researcher searches the error logs of the checkout service since Tuesday, so that "
    "the Coder knows which part to change.",
    "Step 2: the Researcher searches the error logs of the checkout service since Tuesday, so that "
    "the Coder knows which part to change first.",
    "Step 2: the Researcher searches the error logs of the checkout service since Tuesday, so that "
    "the Coder knows which part to change next.",
]
RESEARCHER = [
    Call("list_releases", {"day": "Tuesday"}),
    Call("search_logs", {"service": "checkout", "level": "ERROR", "since": "Tuesday"}),
]
CODER = [
    "Two services were released, one of them ours. I have its diff open.",
    "There is no stack trace in this result, so I cannot point at a line yet.",
    "Without an error message any patch of mine would be a guess; I am waiting for the logs.",
    "Still nothing to work with on my side: which module is slow?",
    "I could add timing around the payment call, but I would rather see the logs first.",
    "No lines again. I keep the branch open.",
]
REVIEWER = [
    "Good start. On to the logs, please.",
    "The cause is not known yet, the task is not done. Planner, please continue.",
    "We need evidence before a fix can be reviewed. Over to the Planner.",
    "A fix without a cause would not pass my review. Planner, what is next?",
    "Open point: root cause. Planner?",
    "The root cause is missing still. Back to planning, please.",
]

if __name__ == "__main__":
    main()
