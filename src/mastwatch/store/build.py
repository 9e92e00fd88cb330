"""From Events to a Trace: live runs and recorded ones alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mastwatch.events import (
    Contract,
    Event,
    MessageSent,
    ModelCalled,
    RequestMessage,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.findings import Finding, Notice
from mastwatch.store.calls import UnaskedCalls
from mastwatch.store.trace import ModelInput, Trace, TraceRow

if TYPE_CHECKING:
    from mastwatch.formats import RecordedRun

MAX_ROWS = 20_000
"""Rows of a run that are kept; those beyond are counted."""
MAX_CHARS = 16_000_000
"""Characters of text of a run that are kept, the arguments of tools among them."""
MAX_INPUTS = 2_000
MAX_NAMES = 1_000
"""Agents with a prompt, tools, and models, of which the name is kept."""
MAX_VERDICTS = 1_000
ROW_COST = 600
"""Bytes a row takes in memory beside its text."""


class TraceBuilder:
    """Collects one run.

    Args:
        run_id: The run.
        extra: What a recorded log says beside.
    """

    def __init__(self, run_id: str, extra: Mapping[str, object] | None = None) -> None:
        self._trace = Trace(run_id=run_id, extra=dict(extra or {}))
        self._rows: list[TraceRow] = []
        self._said: set[str] = set()  # all texts that stand in rows or prompts, stripped
        self._inputs: dict[str, ModelInput] = {}
        self._times: Counter[str] = Counter()
        self._prompts: dict[str, str] = {}
        self._tools: dict[str, dict[str, None]] = {}
        self._tool_names = 0
        self._models: dict[str, None] = {}
        self._calls = UnaskedCalls()
        self._verdicts: list[Finding | Notice] = []
        self._chars = 0
        self._left_out = 0

    @property
    def size(self) -> int:
        """Bytes it takes in memory, about."""
        return self._chars + ROW_COST * (len(self._rows) + len(self._inputs) + len(self._verdicts))

    def add(self, event: Event, span_id: str = "") -> None:
        """Take in an event of the run; unknown types are ignored.

        Args:
            event: The next one.
            span_id: Span that carries it, as in ``TraceRow``.
        """
        if isinstance(event, RunStarted):
            self._start(event)
        elif isinstance(event, MessageSent):
            self._message(event, span_id)
        elif isinstance(event, ToolCalled):
            self._tool(event.agent, event.name)
            self._calls.called(event)
        elif isinstance(event, ToolReturned):
            self._result(event, span_id)
        elif isinstance(event, ModelCalled):
            self._request(event)
        elif isinstance(event, RunFinished) and not event.branch:
            self._trace = replace(
                self._trace,
                ended=event.at,
                outcome=event.outcome,
                reason=event.reason,
                error=event.error,
            )

    def thought(self, index: int, agent: str, text: str | None) -> None:
        """Take in a private row of a recorded log."""
        self._keep(TraceRow(index=index, agent=agent, kind="thought", text=text))

    def add_run(self, run: RecordedRun) -> None:
        """Take in all of a run that was read from a log."""
        for event in run.events:
            self.add(event)
        for thought in run.thoughts:
            self.thought(thought.index, thought.agent, thought.text)
        success, expected = run.extra.get("success"), run.extra.get("ground_truth")
        self.set(
            success=success if isinstance(success, bool) else None,
            expected=expected if isinstance(expected, str) and expected else None,
        )

    def note(self, verdict: Finding | Notice) -> None:
        """Take in what a detector said."""
        if len(self._verdicts) < MAX_VERDICTS:
            self._verdicts.append(verdict)

    def set(self, **fields: Any) -> None:
        """Set fields of the trace that no event tells (``release``, ``trace_id``, ...)."""
        self._trace = replace(self._trace, **fields)

    def trace(self) -> Trace:
        """The run so far."""
        return replace(
            self._trace,
            rows=tuple(sorted(self._rows, key=lambda row: row.index)),
            # What was sent to a model before its row came by is in a row all the same.
            inputs=tuple(
                replace(item, times=self._times[text])
                for text, item in self._inputs.items()
                if text not in self._said
            ),
            prompts=dict(self._prompts),
            tools={agent: tuple(names) for agent, names in self._tools.items()},
            models=tuple(self._models),
            findings=tuple(v for v in self._verdicts if isinstance(v, Finding)),
            notices=tuple(v for v in self._verdicts if isinstance(v, Notice)),
            left_out=self._left_out,
        )

    def _start(self, event: RunStarted) -> None:
        for agent, prompt in event.prompts.items():
            self._prompt(agent, prompt)
        if event.branch:
            return
        if event.resumed:
            self._trace = replace(self._trace, ended=None, outcome="unknown", reason="")
            return
        if event.task:
            self._said.add(event.task.strip())
        self._trace = replace(
            self._trace,
            name=event.name,
            framework=event.framework,
            task=event.task,
            conversation_id=event.conversation_id,
            user_id=event.user_id,
            tags=dict(event.tags),
            contract=event.contract if event.contract != Contract() else self._trace.contract,
            started=event.at,
        )

    def _message(self, event: MessageSent, span_id: str) -> None:
        self._calls.asked(event)
        for call in event.tool_calls:
            self._tool(event.sender, call.name)
        self._keep(
            TraceRow(
                index=event.index,
                agent=event.sender,
                kind="system" if event.role == "system" else event.kind,
                text=event.text,
                tool_calls=event.tool_calls,
                recipients=event.recipients,
                at=event.at,
                span_id=span_id,
                branch=event.branch,
            )
        )

    def _result(self, event: ToolReturned, span_id: str) -> None:
        self._keep(
            TraceRow(
                index=event.index,
                agent=event.agent,
                kind="tool",
                text=event.result,
                tool_calls=self._calls.returned(event),
                tool=event.name,
                error=event.error,
                at=event.at,
                span_id=span_id,
                branch=event.branch,
            )
        )

    def _keep(self, row: TraceRow) -> None:
        size = len(row.text or "") + sum(_length(call.arguments) for call in row.tool_calls)
        if len(self._rows) >= MAX_ROWS or self._chars + size > MAX_CHARS:
            self._left_out += 1
            return
        self._chars += size
        self._rows.append(row)
        if row.text:
            self._said.add(row.text.strip())

    def _tool(self, agent: str, name: str) -> None:
        known = self._tools.get(agent, {})
        if name not in known and self._tool_names < MAX_NAMES:
            self._tool_names += 1
            self._tools[agent] = {**known, name: None}

    def _prompt(self, agent: str, prompt: str) -> None:
        if agent in self._prompts or len(self._prompts) >= MAX_NAMES:
            return
        if self._chars + len(prompt) <= MAX_CHARS:
            self._chars += len(prompt)
            self._prompts[agent] = prompt
            self._said.add(prompt.strip())

    def _request(self, event: ModelCalled) -> None:
        if event.model and len(self._models) < MAX_NAMES:
            self._models[event.model] = None
        for message in event.request or ():
            if message.content:
                self._input(event, message, message.content)

    def _input(self, event: ModelCalled, message: RequestMessage, content: str) -> None:
        # A request repeats what went before. Looking up a string that is the same object as last
        # time costs next to nothing; stripping gives back the same object where nothing is to do.
        text = content.strip()
        if text in self._said:
            return
        if message.role == "system" and event.agent and event.agent not in self._prompts:
            self._prompt(event.agent, content)
        elif text in self._inputs:
            self._times[text] += 1
        elif len(self._inputs) < MAX_INPUTS and self._chars + len(text) <= MAX_CHARS:
            self._chars += len(text)
            self._times[text] = 1
            self._inputs[text] = ModelInput(
                before=event.index + 1, agent=event.agent, role=message.role, text=content
            )


def build(run_id: str, events: Iterable[Event], extra: Mapping[str, object] | None = None) -> Trace:
    """Build the trace of a recorded run."""
    builder = TraceBuilder(run_id, extra)
    for event in events:
        builder.add(event)
    return builder.trace()


def recorded(run: RecordedRun) -> Trace:
    """Build the trace of a run that was read from a log, its private rows among the others."""
    builder = TraceBuilder(run.id, run.extra)
    builder.add_run(run)
    return builder.trace()


def _length(value: object, depth: int = 0) -> int:
    """Characters of a tool's arguments, about; what is nested deeper than 16 is not looked at."""
    if isinstance(value, str):
        return len(value)
    if depth < 16 and isinstance(value, Mapping):
        return sum(len(str(key)) + _length(item, depth + 1) for key, item in value.items())
    if depth < 16 and isinstance(value, (list, tuple)):
        return sum(_length(item, depth + 1) for item in value)
    return 0 if value is None else 8
