"""Scripted LangGraph and LangChain apps for tests and demos: no network, no randomness.

Each ``..._app`` function builds a fresh app, so that a script is consumed from its start. The
graphs know nothing of mastwatch. Inputs: ``{"messages": [("user", TASK)]}``.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from operator import add
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

TASK = "Find the population of Ulm and write one sentence about it."

INPUT: dict[str, Any] = {"messages": [("user", TASK)]}
SUPERVISED = [  # row, speaker, text or tools asked for
    (0, "supervisor", "transfer_to_researcher"),
    (2, "researcher", "lookup"),
    (4, "researcher", "Ulm: 128928."),
    (5, "supervisor", "transfer_to_writer"),
    (7, "writer", "Ulm is home to 128928 people."),
    (8, "supervisor", "Done: Ulm has 128928 inhabitants."),
]
SUPERVISED_CARRIERS = {  # row, name of the span that carries it
    0: "chat scripted",
    2: "chat scripted",
    4: "invoke_agent researcher",
    5: "chat scripted",
    7: "invoke_agent writer",
    8: "invoke_agent supervisor",
}

Reply = str | AIMessage | BaseException | Callable[[list[BaseMessage]], "str | AIMessage"]
_fresh = itertools.count(1)


def calls(*requests: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """Make a reply that calls tools, with fresh call ids."""
    return AIMessage(
        content=text,
        tool_calls=[
            ToolCall(name=name, args=args, id=f"call_{next(_fresh)}") for name, args in requests
        ],
    )


class ScriptedChat(BaseChatModel):
    """A chat model that says its replies in order, each under a fresh message id.

    A reply may be a text, an AIMessage, an exception to raise, or a function of the request. The
    last one is repeated for ever. Threads share the script safely.
    """

    replies: list[Any]
    model_name: str = "scripted"
    position: int = 0
    lock: Any = None

    def model_post_init(self, context: Any, /) -> None:
        """Make the lock that keeps parallel calls from sharing a reply."""
        super().model_post_init(context)
        self.lock = threading.Lock()  # protects position

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {
            "ls_provider": "scripted",
            "ls_model_name": self.model_name,
            "ls_model_type": "chat",
        }

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Ignore the tools: the script decides."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        with self.lock:
            reply = self.replies[min(self.position, len(self.replies) - 1)]
            self.position += 1
        if callable(reply) and not isinstance(reply, BaseMessage):
            reply = reply(messages)
        if isinstance(reply, BaseException):
            raise reply
        content, tool_calls = (
            (reply, [])
            if isinstance(reply, str)
            else (
                reply.content,
                reply.tool_calls,
            )
        )
        message = AIMessage(
            content=content,
            id=f"lc-{next(_fresh)}",
            tool_calls=[{**call, "id": f"call_{next(_fresh)}"} for call in tool_calls],
            usage_metadata={"input_tokens": 11, "output_tokens": 5, "total_tokens": 16},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def handoff_tool(agent: str) -> Any:
    """Make the tool by which a supervisor gives the word to ``agent``."""

    @tool(f"transfer_to_{agent}", description=f"Ask {agent} for help.")
    def transfer(
        state: Annotated[dict[str, Any], _injected()],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command[str]:
        done = ToolMessage(
            f"Successfully transferred to {agent}",
            name=f"transfer_to_{agent}",
            tool_call_id=tool_call_id,
        )
        return Command(
            goto=agent,
            graph=Command.PARENT,
            update={"messages": [*state["messages"], done]},
        )

    return transfer


def _injected() -> Any:
    from langgraph.prebuilt import InjectedState

    return InjectedState


def _handoff_back(agent: str, supervisor: str) -> list[BaseMessage]:
    # What langgraph-supervisor adds after each worker; no model and no person wrote it.
    call_id = f"back_{next(_fresh)}"
    name = f"transfer_back_to_{supervisor}"
    return [
        AIMessage(
            content=f"Transferring back to {supervisor}",
            tool_calls=[ToolCall(name=name, args={}, id=call_id)],
            name=agent,
            response_metadata={"__is_handoff_back": True},
        ),
        ToolMessage(
            content=f"Successfully transferred back to {supervisor}",
            name=name,
            tool_call_id=call_id,
            response_metadata={"__is_handoff_back": True},
        ),
    ]


def worker_node(agent: Any, name: str, supervisor: str = "supervisor") -> Any:
    """Wrap a worker as langgraph-supervisor does: its last message, then "transferring back"."""
    from langgraph._internal._runnable import RunnableCallable

    def process(output: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [output["messages"][-1], *_handoff_back(name, supervisor)]}

    def call(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return process(agent.invoke(state, config))

    async def acall(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return process(await agent.ainvoke(state, config))

    return RunnableCallable(call, acall, name=f"call_{name}")


@tool
def lookup(city: str) -> str:
    """Look up the population of a city."""
    return f"{city}: 128928"


@tool
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


@tool
def broken(city: str) -> str:
    """Fail always."""
    raise ValueError(f"no such city: {city}")


def supervisor_app(
    *,
    supervisor: Sequence[Any] | None = None,
    researcher: Sequence[Any] | None = None,
    writer: Sequence[Any] | None = None,
    checkpointer: Any = None,
) -> Any:
    """Build a supervisor with a researcher (who uses a tool) and a writer; a healthy run.

    Transcript: supervisor calls transfer_to_researcher, its result, researcher calls lookup, its
    result, researcher answers, supervisor calls transfer_to_writer, its result, writer answers,
    supervisor concludes.
    """
    boss = create_agent(
        ScriptedChat(
            replies=list(
                supervisor
                or [
                    calls(("transfer_to_researcher", {})),
                    calls(("transfer_to_writer", {})),
                    "Done: Ulm has 128928 inhabitants.",
                ]
            )
        ),
        tools=[handoff_tool("researcher"), handoff_tool("writer")],
        system_prompt="You are a supervisor.",
        name="supervisor",
    )
    research = create_agent(
        ScriptedChat(
            replies=list(researcher or [calls(("lookup", {"city": "Ulm"})), "Ulm: 128928."])
        ),
        tools=[lookup],
        system_prompt="You are a researcher.",
        name="researcher",
    )
    write = create_agent(
        ScriptedChat(replies=list(writer or ["Ulm is home to 128928 people."])),
        tools=[count_words],
        system_prompt="You are a writer.",
        name="writer",
    )
    graph = StateGraph(MessagesState)
    graph.add_node("supervisor", boss, destinations=("researcher", "writer", END))
    graph.add_node("researcher", worker_node(research, "researcher"))
    graph.add_node("writer", worker_node(write, "writer"))
    graph.add_edge(START, "supervisor")
    graph.add_edge("researcher", "supervisor")
    graph.add_edge("writer", "supervisor")
    return graph.compile(name="team", checkpointer=checkpointer)


def looping_supervisor_app(recursion_limit: int = 12) -> Any:
    """Build a supervisor that sends the researcher off for the same thing again and again.

    Ends with GraphRecursionError. LangGraph's own default limit is above 10000 steps.
    """
    graph = supervisor_app(
        supervisor=[calls(("transfer_to_researcher", {}))],
        researcher=[
            reply
            for _ in range(200)
            for reply in (calls(("lookup", {"city": "Ulm"})), "I could not find it, ask me again.")
        ],
    )
    return graph.with_config(recursion_limit=recursion_limit)


def tool_agent_app(
    replies: Sequence[Any] | None = None,
    *,
    name: str | None = "assistant",
    tools: Any = None,
    **kw: Any,
) -> Any:
    """Build a LangChain agent that calls two tools at once and answers."""
    both = calls(("lookup", {"city": "Ulm"}), ("count_words", {"text": "a b c"}))
    return create_agent(
        ScriptedChat(replies=list(replies or [both, "Ulm has 128928 people, said in 3 words."])),
        tools=tools or [lookup, count_words, broken],
        system_prompt="You are an assistant.",
        name=name,
        **kw,
    )


def nested_agent_app() -> Any:
    """Build an agent whose tool asks another agent, which uses a tool of its own."""
    expert = tool_agent_app(
        [calls(("lookup", {"city": "Ulm"})), "The expert says 128928."], name="expert"
    )

    @tool
    def ask_expert(question: str) -> str:
        """Ask the expert."""
        return str(expert.invoke({"messages": [("user", question)]})["messages"][-1].content)

    return tool_agent_app(
        [calls(("ask_expert", {"question": "How many?"})), "It is 128928."],
        tools=[ask_expert],
    )


def approval_app(checkpointer: Any = None) -> Any:
    """Build an agent whose ``publish`` tool asks a person in the middle of the call."""

    @tool
    def publish(text: str) -> str:
        """Publish a text, once a person agrees."""
        return f"published after: {interrupt({'question': text})}"

    def reply(messages: list[BaseMessage]) -> Any:  # of the request alone: threads share the app
        if messages[-1].type == "tool":
            return "It is out."
        return calls(("publish", {"text": "Ulm is old."}))

    return tool_agent_app(
        [reply],
        tools=[publish],
        checkpointer=checkpointer or InMemorySaver(),
    )


def approved_app() -> Any:
    """Build an agent whose two tool calls a person approves or rejects; needs a thread id."""
    asked = {"lookup": True, "count_words": True}
    return tool_agent_app(
        middleware=[HumanInTheLoopMiddleware(interrupt_on=asked)], checkpointer=InMemorySaver()
    )


def interrupt_app(checkpointer: Any = None) -> Any:
    """Build drafter -> approve (waits for a person) -> publisher; needs a thread id."""
    drafter = ScriptedChat(replies=["Draft: Ulm is old.", "Draft, again: Ulm is old."])
    publisher = ScriptedChat(replies=["Published."])

    def draft(state: MessagesState) -> dict[str, Any]:
        return {"messages": [drafter.invoke(state["messages"])]}

    def approve(state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"question": "Publish?"})
        return {"messages": [HumanMessage(f"decision: {answer}")]}

    def publish(state: MessagesState) -> dict[str, Any]:
        return {"messages": [publisher.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("drafter", draft)
    graph.add_node("approve", approve)
    graph.add_node("publisher", publish)
    graph.add_edge(START, "drafter")
    graph.add_edge("drafter", "approve")
    graph.add_edge("approve", "publisher")
    return graph.compile(name="publishing", checkpointer=checkpointer or InMemorySaver())


class FanOutState(TypedDict):
    """State of the fan-out graph."""

    messages: Annotated[list[BaseMessage], add]
    city: str


def fan_out_app(cities: Sequence[str] = ("Ulm", "Bonn", "Kiel")) -> Any:
    """Build a planner that sends one ``worker`` per city in parallel, and a reducer."""
    planner = ScriptedChat(replies=["I ask one worker per city."])
    reducer = ScriptedChat(replies=["All cities are done."])

    def plan(state: FanOutState) -> dict[str, Any]:
        return {"messages": [planner.invoke(state["messages"])]}

    def spread(state: FanOutState) -> list[Send]:
        return [Send("worker", {"city": city, "messages": []}) for city in cities]

    def work(state: FanOutState) -> dict[str, Any]:
        model = ScriptedChat(replies=[f"{state['city']} is a city."])
        return {"messages": [model.invoke([SystemMessage("Worker."), HumanMessage(state["city"])])]}

    def reduce(state: FanOutState) -> dict[str, Any]:
        return {"messages": [reducer.invoke(state["messages"])]}

    graph = StateGraph(FanOutState)
    graph.add_node("planner", plan)
    graph.add_node("worker", work)
    graph.add_node("reducer", reduce)
    graph.add_edge(START, "planner")
    graph.add_conditional_edges("planner", spread, ["worker"])
    graph.add_edge("worker", "reducer")
    graph.add_edge("reducer", END)
    return graph.compile(name="fan-out")


def function_nodes_app() -> Any:
    """Build two agents that are plain functions: no model anywhere."""

    def ping(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("ping", id=f"fn-{next(_fresh)}")]}

    def pong(state: MessagesState) -> Command[str]:
        return Command(update={"messages": [AIMessage("pong", name="pong")]})

    graph = StateGraph(MessagesState)
    graph.add_node("ping", ping)
    graph.add_node("pong", pong)
    graph.add_edge(START, "ping")
    graph.add_edge("ping", "pong")
    return graph.compile(name="table-tennis")
