"""Model calls outside any chain: a loop of one's own, and what lies below a model."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from apps import langgraph_apps as apps
from mastwatch.events import ModelCalled, ToolCalled, ToolReturned


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"It rains in {city}."


def _asks() -> AIMessage:
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}
    return AIMessage("", tool_calls=[call])


def test_a_loop_of_ones_own_is_one_run(seen):
    model = apps.ScriptedChat(replies=[_asks(), "It rains.", "Yes, it does."])
    said = [SystemMessage("You know the weather."), HumanMessage("How is Oslo?")]
    said.append(model.invoke(said))
    said += [weather.invoke(call) for call in said[-1].tool_calls]
    said.append(model.invoke(said))
    said.append(HumanMessage("Really?"))
    model.invoke(said)
    seen.emitter.histories.close()
    assert seen.said() == [
        (0, "assistant", "weather"),
        (2, "assistant", "It rains."),
        (3, "user", "Really?"),
        (4, "assistant", "Yes, it does."),
    ]
    assert [(e.agent, e.name, e.index) for e in seen.watch.of(ToolCalled)] == [
        ("assistant", "weather", 0)
    ]
    assert [e.result for e in seen.watch.of(ToolReturned)] == ["It rains in Oslo."]
    assert len(seen.runs) == len(seen.outcomes) == 1
    assert len(seen.watch.of(ModelCalled)) == 3


def test_equal_prompts_are_runs_of_their_own(seen):
    apps.ScriptedChat(replies=["Yes."] * 5).batch(["Is it?"] * 5)
    seen.emitter.histories.close()
    assert len(seen.runs) == 5
    assert seen.outcomes == [("completed", "no further call")] * 5
