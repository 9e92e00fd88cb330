"""Conversations: a run of foreign spans, or a branch of it, and where in it a step belongs."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from mastwatch.events import Contract, Outcome, ToolRequest
from mastwatch.findings import Severity
from mastwatch.spans import semconv
from mastwatch.spans.bridging.opened import Entry, OpenSpan
from mastwatch.spans.foreign.step import Step
from mastwatch.spans.scope import Scope

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter
    from mastwatch.spans.run import Run

SOMEBODY = "assistant"
"""Who acts where nothing has a name."""
MAX_ASKED = 256
"""Tool calls asked for that are remembered per conversation."""


class Asked:
    """A tool call that a message asked for."""

    __slots__ = ("agent", "request", "row")

    def __init__(self, agent: str, row: int, request: ToolRequest) -> None:
        self.agent = agent
        self.row = row
        self.request = request


class Conversation:
    """A run, or a branch of it, that begins with its first real step.

    Args:
        root: The span it ends with: the topmost one, or the tool call around a branch.
        first: The span that says what it is about: the root, or what the tool runs.
        above: The conversation around a branch.
    """

    def __init__(self, root: OpenSpan, first: OpenSpan, above: Conversation | None) -> None:
        self.root = root
        self.first = first
        self.above = above
        self.run: Run | None = None
        self.name = ""
        self.asked: OrderedDict[str, Asked] = OrderedDict()
        self.answered: OrderedDict[str, str] = OrderedDict()
        self._worst: Severity | None = None

    def open(self, emitter: Emitter, step: Step) -> Run:
        """The run; its first step begins it."""
        if self.run is None:
            above = self.above.open(emitter, step) if self.above is not None else self.root.around
            info = self.first.present() or Step(op="workflow")
            library = self.first.library or self.root.library
            self.run = emitter.start_run(
                self.named(step),
                framework=library,
                task=info.task or _task(step),
                conversation_id=info.conversation_id or step.conversation_id,
                prompts=_prompts(step),
                contract=info.contract or step.contract or Contract(),
                parent=above,
                spans=False,
            )
            if self.above is None:
                self._mark({semconv.RUN_ID: self.run.id})
            if info.op == "workflow" and info.agent and info.task:
                self.run.message(info.agent, info.task, role="user", kind="opener")
        return self.run

    def named(self, step: Step) -> str:
        """The run's name, which its first real step settles."""
        if not self.name:
            info = self.first.present() or Step(op="workflow")
            named = step.agent if self.above is not None else None
            self.name = info.name or info.agent or named or self.first.name
        return self.name

    def ask(self, agent: str, row: int, requests: tuple[ToolRequest, ...]) -> None:
        """Remember who asked for which tool calls."""
        for at, request in enumerate(requests):
            self.asked[request.call_id or f"{row}.{at}"] = Asked(agent, row, request)
        while len(self.asked) > MAX_ASKED:
            self.asked.popitem(last=False)

    def asked_for(self, step: Step) -> Asked | None:
        """The request that a tool call answers: by its id, else by name and arguments."""
        if step.call_id is not None and step.call_id in self.asked:
            return self.asked.pop(step.call_id)
        if step.call_id is not None and step.arguments is None:
            return None
        for key, asked in self.asked.items():
            request = asked.request
            if request.name == step.name and step.arguments in (None, request.arguments):
                return self.asked.pop(key)
        return None

    def is_pending(self, tool: str) -> bool:
        """Whether somebody waits for a tool of that name."""
        return any(asked.request.name == tool for asked in self.asked.values())

    def note_severity(self) -> None:
        """Keep the worst severity on the root span for as long as that is open."""
        worst = self.run.core.max_severity if self.run is not None else None
        if self.above is None and worst is not None and worst != self._worst:
            self._worst = worst
            self._mark({semconv.RUN_MAX_SEVERITY: worst.label})

    def _mark(self, attributes: dict[str, str]) -> None:
        live = self.root.live
        if live is not None and live.is_recording():
            live.set_attributes(attributes)

    def finish(self, outcome: Outcome, reason: str = "", error: str | None = None) -> None:
        """End it, if it ever began."""
        if self.run is not None:
            self.run.finish(outcome, reason, error)


def path_to(span: OpenSpan) -> list[OpenSpan]:
    """The span and those around it that count, the topmost first."""
    around = [s for s in span.above() if s.counted and s.op != "other"]
    return [*reversed(around), span]


def conversation_of(path: list[OpenSpan], step: Step | None) -> tuple[Conversation, bool]:
    """Where the last span of a path belongs, and whether nobody hears what is said there.

    What a tool runs is a conversation of its own, and so are agents at work side by side, who
    cannot hear each other. A tool that merely asks a model says nothing.
    """
    root, last = path[0], path[-1]
    if root.conversation is None:
        root.conversation = Conversation(root, root, None)
    talk, quiet = root.conversation, False
    speaks = step is not None and step.op in ("chat", "agent", "message")
    for place, span in enumerate(path[1:], start=1):
        at_work = speaks or span.conversation is not None or span.op == "agent"
        beside = span.parallel and at_work
        if beside and not _is_tool(span, talk):
            talk = _branch(span, span, talk)
        elif span is not last and _is_tool(span, talk):
            if _runs_itself(span, last):
                quiet = True
            else:
                talk = _branch(span, path[place + 1], talk)
    if last is not root and _is_tool(root, talk) and _runs_itself(root, last):
        quiet = True
    return talk, quiet


def inside_tool(span: OpenSpan) -> Scope | None:
    """The scope for what a hook of ours sees in a tool of a run that is told; None elsewhere.

    A run that begins there is a branch. Of what is between tools the producer tells itself.
    """
    passed: list[OpenSpan] = []
    for place in (span, *span.above()):
        passed.append(place)
        run = place.conversation.run if place.conversation is not None else None
        if place.conversation is None or run is None:
            continue
        tool = next((each for each in passed if _is_tool(each, place.conversation)), None)
        if tool is None or run.finished:
            return None
        if tool.inside is None:
            tool.inside = Scope(run, None)
            tool.inside.turn_id = run.next_id()  # who asks a model there has a thread of its own
        return tool.inside
    return None


def _is_tool(span: OpenSpan, talk: Conversation) -> bool:
    # A span that does not say yet what it is, but bears the name of a tool somebody waits for.
    return span.op == "tool" or (span.op is None and talk.is_pending(span.name))


def _branch(span: OpenSpan, first: OpenSpan, talk: Conversation) -> Conversation:
    if span.conversation is None:
        span.conversation = Conversation(span, first, talk)
    return span.conversation


def _runs_itself(tool: OpenSpan, step: OpenSpan) -> bool:
    """Whether nothing is between a tool and what happens in it: no agent, no graph."""
    return next((span for span in step.above() if span.counted), None) is tool


def _task(step: Step) -> str | None:
    """What a run is asked, by its first request: the last words of a person in it."""
    for message in reversed(step.request or ()):
        if message.role == "user" and message.content:
            return message.content
    return step.task


def _prompts(step: Step) -> dict[str, str]:
    said = (m.content for m in step.request or () if m.role == "system" and m.content)
    prompt = next(said, None)
    return {step.agent: prompt} if prompt and step.agent else {}


class Told:
    """A step with its place: what the telling of each kind of step needs."""

    __slots__ = ("entry", "path", "quiet", "step", "talk")

    def __init__(
        self, entry: Entry, step: Step, talk: Conversation, path: list[OpenSpan], quiet: bool
    ) -> None:
        self.entry = entry
        self.step = step
        self.talk = talk
        self.path = path
        self.quiet = quiet

    def agent(self) -> str:
        """Who acts: who the step says, else the nearest one around it, else the run's name."""
        if self.step.agent:
            return self.step.agent
        around = (span.actor() for span in reversed(self.path[:-1]))
        named = next((name for name in around if name), None)
        return named or self.talk.named(self.step) or SOMEBODY

    def turn_span(self, agent: str) -> OpenSpan | None:
        """The span of the agent's turn that the step belongs to."""
        # Spans that are no step may bear its name, too: a node of a graph.
        return next((span for span in self.entry.span.above() if span.is_about(agent)), None)

    def dialect_name(self) -> str:
        """Whose words these are."""
        dialect = self.entry.span.dialect
        return dialect.name if dialect is not None else ""
