"""A release team that does what others do in a loop, and is fine.

It asks for the same build again and again, because the build moves on; it calls the same tool page
after page; its check fails once, so it mends the package and checks again. All this is healthy.
"""

from __future__ import annotations

import itertools
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from mastwatch.demo.langchain_model import ScriptedChat
from mastwatch.demo.models import Call, work

TASK = "Release version 2.4: build it, list what changed, check the package."
PROMPT = "You lead a builder, a writer and a checker. Give one order at a time: 'builder: ...'."


@tool
def build_status(build: int) -> str:
    """Return how far a build is."""
    work()
    return next(_progress)


@tool
def list_changes(page: int) -> str:
    """Return one page of the merged changes."""
    work()
    return CHANGES[page - 1]


@tool
def check_package(version: str) -> str:
    """Install the package and run its tests."""
    work()
    return next(_checks)


@tool
def add_file(name: str) -> str:
    """Put a missing file into the package and build it again."""
    work()
    return f"{name} added, build 813 finished: release-2.4.1.tar.gz"


def supervisor(state: MessagesState) -> Command[str]:
    """Decide who works next."""
    order = lead.invoke([SystemMessage(PROMPT), *state["messages"]])
    order.name = "supervisor"
    text = str(order.content)
    worker = next((name for name in WORKERS if f"{name}:" in text), "__end__")
    return Command(goto=worker, update={"messages": [order]})


def delegate(name: str) -> Any:
    """Make the node that lets a worker carry out the last order."""

    def node(state: MessagesState) -> Command[str]:
        order = HumanMessage(str(state["messages"][-1].content))
        result = WORKERS[name].invoke({"messages": [order]})
        report = AIMessage(str(result["messages"][-1].content), name=name)
        return Command(goto="supervisor", update={"messages": [report]})

    return node


def build_graph() -> Any:
    """Wire supervisor and workers."""
    graph = StateGraph(MessagesState)
    graph.add_node("supervisor", supervisor, destinations=(*WORKERS, "__end__"))
    for name in WORKERS:
        graph.add_node(name, delegate(name), destinations=("supervisor",))
    graph.add_edge(START, "supervisor")
    return graph.compile(name="release")


def main() -> None:
    """Make the release."""
    build_graph().invoke({"messages": [HumanMessage(TASK)]})


# What the tools would find, and what the models would answer.
_progress = itertools.chain(
    ["queued", "compiling, 35 percent", "testing, 80 percent", "finished: release-2.4.tar.gz"],
    itertools.repeat("finished: release-2.4.tar.gz"),
)
_checks = itertools.chain(
    ["version 2.4: 317 tests passed, 1 failed: LICENSE is not in the package"],
    itertools.repeat("version 2.4: 318 tests passed, 0 failed, signature valid"),
)
CHANGES = [
    "page 1 of 3: faster start, new export dialog, fixed crash on empty files",
    "page 2 of 3: dark theme, keyboard shortcuts, smaller download",
    "page 3 of 3: updated translations, removed old settings page",
]
POLL = Call("build_status", {"build": 812})
lead = ScriptedChat(
    speaker="supervisor",
    script=[
        "We start with the package itself. builder: wait until build 812 is finished.",
        "The build is there. writer: put together what changed since 2.3 from the list of changes.",
        "One verification round before we publish. checker: install version 2.4 and test it.",
        "Good catch. builder: add the missing LICENSE to the package.",
        "Now the same check again. checker: install version 2.4 and test it.",
        "Version 2.4 is built, described and checked. The release is out.",
    ],
)
WORKERS = {
    "builder": create_agent(
        ScriptedChat(
            script={
                "build 812": [*[POLL] * 4, "Build 812 is finished: release-2.4.tar.gz."],
                "missing": [
                    Call("add_file", {"name": "LICENSE"}),
                    "LICENSE is in the package now, build 813 is ready.",
                ],
            }
        ),
        tools=[build_status, add_file],
        name="builder",
    ),
    "writer": create_agent(
        ScriptedChat(
            script=[
                Call("list_changes", {"page": 1}),
                Call("list_changes", {"page": 2}),
                Call("list_changes", {"page": 3}),
                "New: export dialog, dark theme and shortcuts. Faster start, smaller download, one "
                "crash fixed, translations updated, the old settings page is gone.",
            ]
        ),
        tools=[list_changes],
        name="writer",
    ),
    "checker": create_agent(
        ScriptedChat(
            script=[
                Call("check_package", {"version": "2.4"}),
                (
                    "One of 318 tests fails: the LICENSE file is missing from the package.",
                    "All 318 tests pass on the installed package and its signature is valid.",
                ),
            ]
        ),
        tools=[check_package],
        name="checker",
    ),
}

if __name__ == "__main__":
    main()
