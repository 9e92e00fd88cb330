"""``Signals``: what all detectors share, computed once per event of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mastwatch.events import (
    Contract,
    Event,
    HistoryCleared,
    HumanReplied,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from mastwatch.signals import claims
from mastwatch.signals.calls import Calls
from mastwatch.signals.facts import Call, Request, Result, Utterance
from mastwatch.signals.reading import Reading
from mastwatch.signals.requests import Requests

MODELS_KEPT = 256
PROGRESS_NOVELTY = 0.5


class Signals:
    """One conversation, as detectors see it.

    The watch calls ``update`` once per event, before the detectors. The facts about the present
    event are fresh each time (None or empty where the event has no such part); the standing
    facts grow with the run. Detectors only read. State stays below 256 KiB however long the run.

    Attributes:
        run_id: The run.
        framework: ``autogen``, ``langchain``, ...; empty until known.
        branch: The conversation inside the run; empty for the main one.
        index: Row of the present event, -1 before the first.
        utterance: The message just sent.
        calls: Tool calls made by this event.
        result: The tool result just come back.
        request: How the model request just made follows from the one before.
        human: A person spoke in this event.
        cleared: The agent whose history the framework just dropped; None when it did not.
        finished: How the run ended, once it did.
        progress: The progress clock: rises when a known call gives a new result, a mutating call
            with new arguments succeeds, a text is at least half new, or a person speaks. A rule
            keeps its value at the first evidence; equal later means nothing was gained between.
        contract: How the run is meant to stop, as its framework says.
        tokens: What ends it when said: of the contract, else mined from prompts, else usual ones.
        endable: The contract or a prompt names a token, so that agents know how to end the run.
        damaged: Digest of a completion token in a prompt that escapes destroyed, or 0.
        mismatch: A prompt asks for tokens and none of them is one the framework looks for.
        numeric: The task is about numbers.
        lead: The first agent whose model spoke; empty before. Who opened the run takes the place
            of a worker once model calls show that the worker has no model.
        messages: How many utterances there were since the run started, system lines left out.
        turns: How many of them a model wrote.

    >>> from mastwatch.events import MessageSent
    >>> signals = Signals("run-1")
    >>> text = "The sum is 7. TERMINATE"
    >>> signals.update(MessageSent(run_id="run-1", index=0, sender="solver", text=text))
    >>> signals.utterance.claim, signals.lead, signals.turns
    ('TERMINATE', 'solver', 1)
    """

    def __init__(self, run_id: str, framework: str = "", branch: str = "") -> None:
        self.run_id = run_id
        self.framework = framework
        self.branch = branch
        self.index = -1
        self.progress = 0
        self.contract = Contract()
        self.tokens: tuple[str, ...] = claims.FALLBACK_TOKENS
        self.endable = False
        self.damaged = 0
        self.mismatch = False
        self.numeric = False
        self.lead = ""
        self.messages = 0
        self.turns = 0
        self.finished: str | None = None
        self._clear()
        self._calls = Calls()
        self._requests = Requests()
        self._models: set[str] = set()  # agents seen to call a model
        self._models_speak = False  # messages and model calls name agents alike
        self._reading = Reading()
        self._opener = ""  # who opened the run
        self._task_at = -1  # row of the message that states the task

    def _clear(self) -> None:
        self.utterance: Utterance | None = None
        self.calls: tuple[Call, ...] = ()
        self.result: Result | None = None
        self.request: Request | None = None
        self.human = False
        self.cleared: str | None = None

    def update(self, event: Event) -> None:
        """Take in one event; unknown types only clear the facts about the one before."""
        self._clear()
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            index = getattr(event, "index", self.index)
            self.index = max(self.index, index)
            handler(self, event)

    # One handler per event type.

    def _on_start(self, event: RunStarted) -> None:
        self.finished = None
        if not event.resumed:
            self.messages = 0
        self.framework = event.framework or self.framework
        self.contract = event.contract if event.contract != Contract() else self.contract
        self._read_prompts((*event.prompts.values(), event.task or ""))
        if event.task:
            self._set_task(event.task)

    def _on_message(self, event: MessageSent) -> None:
        self.messages += event.role != "system" and event.kind != "system"
        self.human = event.kind == "human"
        if event.kind == "opener":
            self._opener = self._opener or event.sender
        if event.kind == "opener" or (event.role == "system" and self.turns == 0):
            self._read_prompts((event.text or "",))
        if self._task_at < 0 and event.kind in ("opener", "human") and event.text:
            if not self._reading.has_task:
                self._set_task(event.text)
            self._task_at = event.index
        by_model = self._wrote(event)
        if by_model:
            self.turns += 1
            if not self.lead or (event.sender == self._opener and self._by_program(self.lead)):
                self.lead = event.sender
        self.calls = self._calls.announce(event.sender, event.index, event.tool_calls)
        self.utterance = said = self._reading.message(
            event,
            by_model=by_model,
            states_task=event.index == self._task_at,
            calls=self.calls,
            tokens=self.tokens,
        )
        if event.kind == "code" and self._calls.waiting:
            self.result = self._calls.finish(
                event.index, "", None, event.text, None, said.novelty, said.words
            )
            self._count_result(self.result)
        # Who nearly repeats himself has gained nothing, however much an edit tore apart.
        self._count_progress(None if said.seen else said.novelty)

    def _on_call(self, event: ToolCalled) -> None:
        call = self._calls.start(event)
        if call is not None:
            self.calls = (call,)

    def _on_result(self, event: ToolReturned) -> None:
        glance = self._reading.result(event.result or "")
        self.result = self._calls.finish(
            event.index,
            event.name,
            event.call_id,
            event.result,
            event.error,
            glance.novelty,
            glance.words,
        )
        self._count_result(self.result)
        self._count_progress(glance.novelty)

    def _on_model(self, event: ModelCalled) -> None:
        if event.agent and len(self._models) < MODELS_KEPT:
            self._models.add(event.agent)
        if not event.error:
            self.request = self._requests.add(event)

    def _on_human(self, event: HumanReplied) -> None:
        self.human = True
        self._count_progress(None)

    def _on_cleared(self, event: HistoryCleared) -> None:
        self.cleared = event.agent

    def _on_finish(self, event: RunFinished) -> None:
        self.finished = event.outcome

    # What the handlers are made of.

    def _read_prompts(self, prompts: tuple[str, ...]) -> None:
        for prompt in prompts:
            self.damaged = self.damaged or claims.damaged(prompt)
        mined = claims.mine_tokens(prompts)
        stated = self.contract.tokens
        self.endable = self.endable or bool(mined or stated or self.damaged)
        if mined and stated:
            self.mismatch = not any(a in b or b in a for a in mined for b in stated)
        if stated:
            self.tokens = stated
        elif mined:
            self.tokens = tuple(dict.fromkeys((*mined, *claims.FALLBACK_TOKENS)))

    def _set_task(self, task: str) -> None:
        self._reading.task(task)
        self.numeric = self._reading.numeric

    def _wrote(self, event: MessageSent) -> bool:
        """Whether a language model wrote a message."""
        if event.sender in self._models:
            self._models_speak = True
        elif self._models_speak:
            return False  # where model calls are seen, an agent without one is a program
        return event.role == "assistant" and event.kind == "reply"

    def _by_program(self, agent: str) -> bool:
        return self._models_speak and agent not in self._models

    def _count_result(self, result: Result) -> None:
        call = result.call
        acted = call is not None and call.mutating and not call.times and not result.error
        if result.changed or acted:
            self.progress += 1

    def _count_progress(self, novelty: float | None) -> None:
        if self.human or (novelty is not None and novelty >= PROGRESS_NOVELTY):
            self.progress += 1


_HANDLERS: dict[type[Event], Callable[[Signals, Any], None]] = {
    RunStarted: Signals._on_start,
    MessageSent: Signals._on_message,
    ModelCalled: Signals._on_model,
    ToolCalled: Signals._on_call,
    ToolReturned: Signals._on_result,
    HumanReplied: Signals._on_human,
    HistoryCleared: Signals._on_cleared,
    RunFinished: Signals._on_finish,
}
