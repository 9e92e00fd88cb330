"""What is known of one agent's run while it goes on."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from mastwatch import forks
from mastwatch.events import Outcome, ToolRequest
from mastwatch.spans.emit import ModelCall, Run, Scope, ToolCall
from mastwatch_instrumentations.smolagents.reading import agent_name, as_text, plain

FINAL_ANSWER = "final_answer"
INTERPRETER = "python_interpreter"
"""The name that smolagents gives the tool by which a code agent runs what it wrote."""

_here: ContextVar[Session | None] = ContextVar("mastwatch_smolagents", default=None)


def session_here() -> Session | None:
    """Return the session of the agent's run that this code runs in."""
    return _here.get()


class Session:
    """One ``agent.run`` under way: one turn of one agent, from its task to its answer.

    Args:
        run: Where everything goes.
        agent: Who works; only a weak reference is kept.
        caller: The agent that asked for it; empty for none.
    """

    def __init__(self, run: Run, agent: Any, caller: str = "") -> None:
        self.run = run
        self.name = agent_name(agent)
        self.agent = weakref.ref(agent)
        self.turn: Scope = run.turn(self.name)
        self.aside: Literal["", "plan", "answer"] = ""
        self.executing: ToolCall | None = None
        self._caller = caller
        self._said: tuple[str, ModelCall] | None = None
        self._requests: list[ToolRequest] = []
        self._row: int | None = None
        self._lock = forks.lock()  # protects _requests: tools run side by side

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the session and its run the scope of the block."""
        token = _here.set(self)
        try:
            with self.run.attached():
                yield
        finally:
            _here.reset(token)

    # Utterances

    def hear(self, text: str, call: ModelCall) -> None:
        """Note what the agent says; it is told once its tool calls are known too."""
        self.tell()
        self._said = (text, call)

    def request(self, name: str, arguments: object, call_id: str) -> None:
        """Note a tool call that the agent's words turn out to ask for."""
        asked = ToolRequest(name=name, arguments=plain(arguments or {}), call_id=call_id)
        with self._lock:
            self._requests.append(asked)

    def tell(self) -> None:
        """Report the utterance that waits, if any."""
        said, self._said = self._said, None
        if said is None:
            return
        text, call = said
        with self._lock:
            answers = [one for one in self._requests if one.name == FINAL_ANSWER]
            self._requests = [one for one in self._requests if one.name != FINAL_ANSWER]
            calls = tuple(self._requests)
        words = "\n".join(part for part in (text, *map(_answer, answers)) if part)
        if words or calls:
            self._row = self.run.message(
                self.name,
                words,
                recipients=[self._caller] if self._caller and not calls else [],
                tool_calls=calls,
                carriers=(call, self.turn) if calls else (self.turn, call),
            )
        call.end()

    def answer(self, output: object) -> None:
        """Report an answer that the agent's code made."""
        self.tell()
        self.run.message(
            self.name,
            as_text(output),
            recipients=[self._caller] if self._caller else [],
            carriers=(self.turn,),
        )

    # Tools

    def begin_tool(self, name: str, arguments: object, parent: Scope | None = None) -> ToolCall:
        """Open a tool call; the first one that was asked for with these arguments, if any."""
        self.tell()
        with self._lock:
            same = [r for r in self._requests if (r.name, r.arguments) == (name, arguments)]
            asked = same[0] if same else None
            if asked is not None:
                self._requests.remove(asked)
        return self.run.tool_call(
            name,
            arguments,
            agent=self.name,
            call_id=asked.call_id if asked is not None else None,
            parent=parent or self.turn,
            index=self._row,
        )

    def owns(self, callee: object) -> bool:
        """Whether a tool or an agent is among those that the code under way may call."""
        agent = self.agent()
        if agent is None or self.executing is None:
            return False
        offered = (*agent.tools.values(), *agent.managed_agents.values())
        return any(one is callee for one in offered)

    # The end

    def step_over(self) -> None:
        """Tell what waits at the end of a step, and forget what was asked for and not run."""
        self.tell()
        with self._lock:
            self._requests.clear()

    def finish(self, outcome: Outcome, reason: str, error: BaseException | None = None) -> None:
        """End the turn and the run."""
        self.step_over()
        self.turn.end(error if outcome == "error" else None)
        self.run.finish(outcome, reason, error)


def _answer(request: ToolRequest) -> str:
    given = request.arguments
    return as_text(given.get("answer", given) if isinstance(given, dict) else given)
