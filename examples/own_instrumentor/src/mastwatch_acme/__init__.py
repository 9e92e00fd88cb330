"""Watches acme-agents."""

from __future__ import annotations

from mastwatch.events import RequestMessage, ToolRequest
from mastwatch.instrumentor import DidNotEnable
from mastwatch_instrumentations.patching import (
    PatchingInstrumentor,
    argument,
    around,
    around_generator,
)


class AcmeInstrumentor(PatchingInstrumentor):
    """Traces acme-agents 1.x: runs of teams, turns, model calls, tool calls. Nothing to set."""

    name = "acme"
    library = "acme_agents"  # what is imported
    distributions = ("acme-agents",)  # what is installed
    minimum = {"acme-agents": "1.0"}
    acts = ()  # it cannot end or nudge a run

    def patch(self, emitter, patches):
        import acme_agents  # the app has imported it already: that is when we are called

        hooks = {
            "Team.stream": around_generator("acme.run", lambda *call: Run(emitter, *call)),
            "Agent.reply": around("acme.turn", lambda *call: _inside(emitter, Turn, *call)),
            "Agent.ask": around("acme.model", lambda *call: _inside(emitter, Model, *call)),
            "Agent.use": around("acme.tool", lambda *call: _inside(emitter, Tool, *call)),
        }
        status = {}
        for site, hook in hooks.items():
            owner, method = site.split(".")
            status[site] = patches.wrap(getattr(acme_agents, owner), method, hook)
        if not status["Team.stream"]:
            raise DidNotEnable("acme_agents.Team has no stream(): is it older than 1.0?")
        return status


def _inside(emitter, frame, agent, args, kwargs):
    """The frame of a call inside a run; None, nothing to see, outside any."""
    scope = emitter.current()
    return frame(scope, agent, *args, **kwargs) if scope is not None else None


class Run:
    """A team at work. A generator's frame: attached for each step, never across a yield."""

    def __new__(cls, emitter, *call):
        return None if emitter.suppressed() else super().__new__(cls)

    def __init__(self, emitter, team, args, kwargs):
        self.run = emitter.start_run(
            team.name,
            framework="acme",
            task=argument(args, kwargs, 0, "task"),
            spans=not AcmeInstrumentor.traced_by(),
        )

    def attached(self):
        return self.run.attached()

    def item(self, line):
        pass  # the agent's turn has told it

    def done(self, result):
        self.run.finish("completed", "every agent has spoken")

    def failed(self, error):
        left = isinstance(error, GeneratorExit)
        self.run.finish("abandoned" if left else "error", error=None if left else error)


class Turn:
    """An agent's turn: its reply is the utterance, and this span carries it."""

    def __init__(self, scope, agent, lines):
        self.scope = scope.run.turn(agent.name, parent=scope)

    def attached(self):
        return self.scope.attached()

    def done(self, text):
        self.scope.run.message(self.scope.agent, text, carriers=(self.scope,))
        self.scope.end()

    def failed(self, error):
        self.scope.end(error)


class Model:
    """A model call. An answer that asks for a tool is an utterance too: this span carries it."""

    def __init__(self, scope, agent, lines):
        request = tuple(RequestMessage(role="user", content=line) for line in lines)
        self.call = scope.run.model_call(agent=agent.name, request=request, parent=scope)

    def attached(self):
        return self.call.attached()

    def done(self, said):
        text = said if isinstance(said, str) else ""
        self.call.answered(text)
        if not isinstance(said, str):
            asked = ToolRequest(name=said.tool, arguments=said.arguments)
            run = self.call.run
            run.message(self.call.agent, text, tool_calls=[asked], carriers=(self.call,))
        self.call.end()

    def failed(self, error):
        self.call.answered(error=error)
        self.call.end(error)


class Tool:
    """A tool call; ``returned`` ends its span."""

    def __init__(self, scope, agent, wanted):
        run = scope.run
        self.call = run.tool_call(wanted.tool, wanted.arguments, agent=agent.name, parent=scope)

    def attached(self):
        return self.call.attached()

    def done(self, result):
        self.call.returned(result)

    def failed(self, error):
        self.call.returned(error=error)
