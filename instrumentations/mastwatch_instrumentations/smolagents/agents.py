"""Opens the frames of runs, of the code that agents run, and of the tools they call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from smolagents.agents import CodeAgent, MultiStepAgent

from mastwatch.events import Contract
from mastwatch.spans.emit import Emitter, Scope, ToolCall
from mastwatch_instrumentations._patch import argument
from mastwatch_instrumentations.smolagents.brake import Brake
from mastwatch_instrumentations.smolagents.frames import AsideFrame, RunFrame, ToolFrame
from mastwatch_instrumentations.smolagents.reading import (
    agent_name,
    arguments_of,
    output_of,
    plain,
    prompts_of,
)
from mastwatch_instrumentations.smolagents.session import (
    FINAL_ANSWER,
    INTERPRETER,
    Session,
    session_here,
)

FRAMEWORK = "smolagents"
_STEPS = inspect.signature(MultiStepAgent.__init__).parameters["max_steps"].default


class Agents:
    """Opens the frames of runs and tool calls.

    Args:
        emitter: Where everything goes.
        brake: Ends runs.
        watch: Makes sure that an agent's model, executor and tools are watched.
        traced_by: Tells who else makes spans for smolagents.
    """

    def __init__(
        self,
        emitter: Emitter,
        brake: Brake,
        watch: Callable[[Any], None],
        traced_by: Callable[[], tuple[str, ...]],
    ) -> None:
        self._emitter = emitter
        self._brake = brake
        self._watch = watch
        self._traced_by = traced_by
        self._sessions: dict[int, Session] = {}  # by id, while they are open

    def run(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunFrame | None:
        """Open a run, or a branch of the one around it: ``(task, max_steps, images)``."""
        if self._emitter.suppressed():
            return None
        self._watch(agent)
        around = self._emitter.current() or self._executing(agent)
        steps = argument(args, kwargs, 1, "max_steps")
        run = self._emitter.start_run(
            agent_name(agent),
            framework=FRAMEWORK,
            task=argument(args, kwargs, 0, "task"),
            prompts=prompts_of(agent),
            # The limit that every agent has only stops what runs away: near it a healthy run is
            # no worse off.
            contract=Contract(max_messages=None if steps == _STEPS else steps, source="max_steps"),
            parent=around,
            spans=not self._traced_by(),
        )
        session = Session(run, agent, around.agent if isinstance(around, ToolCall) else "")
        self._sessions[id(session)] = session
        return RunFrame(session, self._forget, self._brake)

    def _forget(self, session: Session) -> None:
        self._sessions.pop(id(session), None)

    def plan(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsideFrame | None:
        """Note that an agent makes a plan, which only it reads."""
        session = session_here()
        return None if session is None else AsideFrame(session, "plan")

    def last_answer(
        self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> AsideFrame | None:
        """Note that an agent is asked to answer without another step."""
        session = session_here()
        return None if session is None else AsideFrame(session, "answer")

    def asked(self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Tell what a tool-calling agent said, before its tools run: ``(chat_message, step)``."""
        session = session_here()
        if session is not None and session.agent() is agent:
            message = argument(args, kwargs, 0, "chat_message")
            for call in message.tool_calls or ():
                session.request(call.function.name, call.function.arguments, call.id)
            session.tell()

    def execute(
        self, agent: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ToolFrame | None:
        """Open a tool call of a tool-calling agent: ``(tool_name, arguments)``."""
        session, name = session_here(), argument(args, kwargs, 0, "tool_name")
        if session is None or session.agent() is not agent:
            # Older versions run parallel calls in threads where no context arrives.
            session = self._latest(lambda one: one.agent() is agent)
        if session is None or name == FINAL_ANSWER:
            return None
        call = session.begin_tool(name, plain(argument(args, kwargs, 1, "arguments")))
        return ToolFrame(session, call)

    def run_code(
        self, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ToolFrame | None:
        """Open the run of code that an agent wrote: ``(code_action)``."""
        session = session_here()
        agent = session.agent() if session is not None else None
        if session is None or not isinstance(agent, CodeAgent):
            return None
        if agent.python_executor is not executor or session.executing is not None:
            return None
        call = session.begin_tool(INTERPRETER, plain(argument(args, kwargs, 0, "code_action")))
        return ToolFrame(session, call, output_of, code=True)

    def called_in_code(
        self, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ToolFrame | None:
        """Open a call of a tool, or of a managed agent, by code that an agent wrote.

        The interpreter runs it in a thread of its own, where no session arrives, and mostly the
        scope does: agents at work side by side may share their tools.
        """
        session, scope = session_here(), self._emitter.current()
        if session is None or not session.owns(callee):
            run = scope.run if scope is not None else None
            session = self._latest(lambda one: one.owns(callee) and run in (None, one.run))
        name = agent_name(callee)
        if session is None or name == FINAL_ANSWER:
            return None
        if isinstance(scope, ToolCall) and scope.name == name:
            return None  # a tool that calls the method it overrides
        arguments = arguments_of(callee, args, kwargs)
        return ToolFrame(session, session.begin_tool(name, arguments, session.executing))

    def _latest(self, fits: Callable[[Session], bool]) -> Session | None:
        found = [session for session in list(self._sessions.values()) if fits(session)]
        return found[-1] if found else None

    def _executing(self, agent: Any) -> Scope | None:
        session = self._latest(lambda one: one.owns(agent))
        return session.executing if session is not None else None
