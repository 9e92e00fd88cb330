"""AG2 classic: a user and an assistant with a tool, the same in a loop, three in a group chat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autogen import GroupChat, GroupChatManager

from apps import autogen_apps as apps

SUNNY = [("weather", '{"city": "Bonn"}')]


def traced(native: bool, *agents: Any) -> None:
    """Switch AG2's own tracing on for these agents."""
    if native:
        from autogen.opentelemetry import instrument_agent
        from opentelemetry import trace

        for agent in agents:
            instrument_agent(agent, tracer_provider=trace.get_tracer_provider())


def chat(native: bool, lines: list[Any] | None = None) -> None:
    user, assistant = apps.weather_pair(lines=lines)
    traced(native, user, assistant)
    user.initiate_chat(assistant, message="What is the weather in Bonn?", silent=True)


def loop(native: bool) -> None:
    chat(native, [*[SUNNY] * 5, "Sunny, I suppose. TERMINATE"])


def group(native: bool) -> None:
    said = (
        ("ann", "A lighthouse would be a fine subject."),
        ("ben", "Then somebody has to count the ferries."),
        ("cleo", "Seven on weekdays, and three on Sundays."),
    )
    members = [apps.assistant(name, [line]) for name, line in said]
    chat = GroupChat(members, [], max_round=4, speaker_selection_method="round_robin")
    manager = GroupChatManager(chat, llm_config=False, human_input_mode="NEVER")
    traced(native, *members, manager)
    members[0].initiate_chat(manager, message="Let us write about Faro.", silent=True)


SCENARIOS: dict[str, Callable[[bool], None]] = {"chat": chat, "loop": loop, "group": group}


def native() -> None:
    from autogen.opentelemetry import instrument_llm_wrapper
    from opentelemetry import trace

    instrument_llm_wrapper(tracer_provider=trace.get_tracer_provider())


def openinference() -> None:
    from openinference.instrumentation.ag2 import AG2Instrumentor

    AG2Instrumentor().instrument(skip_dep_check=True)


PRODUCERS: dict[str, Callable[[], None]] = {"native": native, "openinference": openinference}
