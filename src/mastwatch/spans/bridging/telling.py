"""One step after the other, told as Events of the run it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mastwatch.spans.bridging.conversation import (
    MAX_ASKED,
    SOMEBODY,
    Conversation,
    Told,
    conversation_of,
    path_to,
)
from mastwatch.spans.bridging.opened import Entry, OpenSpan, written_on
from mastwatch.spans.core import told_on
from mastwatch.spans.dialects._endings import ending
from mastwatch.spans.foreign.step import Answer, Step
from mastwatch.spans.histories.messages import snapshot

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter
    from mastwatch.spans.run import Run
    from mastwatch.spans.scope import Scope


class Teller:
    """Tells the emitter what steps say.

    Args:
        emitter: Told of them.
        only_run: Gives the one run of a library that is going on, if there is just one.
    """

    def __init__(self, emitter: Emitter, only_run: Callable[[str], Conversation | None]) -> None:
        self._emitter = emitter
        self._only_run = only_run
        self._tell = {
            "chat": self._chat,
            "tool": self._tool,
            "agent": self._agent,
            "message": self._message,
            "human": self._human,
        }

    def tell(self, entry: Entry) -> None:
        """Tell one step, and end what ends with its span."""
        span, step = entry.span, entry.step
        path = path_to(span)
        told_on.set(written_on(span))
        if span.op == "tool" and span.conversation is not None and len(path) > 1:
            self._finish(span.conversation, entry)  # what a tool ran is over before its result
        talk, quiet = conversation_of(path, step)
        if step is not None:
            tell = self._tell.get(step.op)
            if step.op == "chat" and len(path) == 1:
                self._bare(span, step, entry)
            elif step.op == "tool" and len(path) == 1:
                self._lost(span, step, entry)
            elif tell is not None:
                tell(Told(entry, step, talk, path, quiet))
        talk.note_severity()
        if talk.root is span:
            self._finish(talk, entry)

    def _began(self, entry: Entry) -> float:
        """When a step began, had it ended just now: it may be told late, and clocks jump."""
        return self._emitter.clock() - max(0.0, entry.final.ended - entry.final.started)

    def _finish(self, talk: Conversation, entry: Entry) -> None:
        step = entry.step
        how = ending(entry.final)
        error = step.error if step is not None else how.error
        outcome = (step.outcome if step is not None else None) or how.outcome
        reason = (step.reason if step is not None else "") or how.reason
        if talk.run is None and talk.above is None and error and step and step.op == "agent":
            talk.open(self._emitter, step)  # it failed before it could do anything
        if talk.above is not None and entry.span.op == "tool":  # its failure is its own
            error, outcome, reason = None, None, ""
        talk.finish(outcome or ("error" if error else "completed"), reason, error)

    def _bare(self, span: OpenSpan, step: Step, entry: Entry) -> None:
        """A model call outside any run of its producer: its request tells which one it joins."""
        exchange = self._emitter.histories.begin(
            step.request or (),
            framework=span.library,
            agent=step.agent or "",
            model=step.model or "",
            provider=step.provider or "",
            conversation_id=step.conversation_id,
            spans=False,
            scope=span.around if _usable(span.around) else None,
        )
        exchange.call.started = self._began(entry)
        answer = step.answer or Answer()
        if step.error is not None:
            exchange.failed(step.error)
        elif step.outcome is not None:
            exchange.abandoned(answer.text)
        else:
            exchange.answered(
                answer.text,
                tool_calls=answer.tool_calls,
                input_tokens=step.input_tokens,
                output_tokens=step.output_tokens,
            )

    def _lost(self, span: OpenSpan, step: Step, entry: Entry) -> None:
        """A tool call outside any run: its context was lost in a thread, or nobody's run asked.

        The server's side of a call is such a span as well; a tool alone is no run.
        """
        talk = self._only_run(span.library) if span.around is None else None
        if talk is not None:
            self._tool(Told(entry, step, talk, [span], quiet=False))

    def _chat(self, told: Told) -> None:
        step, talk = told.step, told.talk
        agent = told.agent()
        turn_span = told.turn_span(agent)
        self._settle(turn_span, talk, None)
        run = talk.open(self._emitter, step)
        call = run.model_call(
            agent=agent,
            model=step.model or "",
            provider=step.provider or "",
            request=snapshot(step.request) if step.request is not None else None,
            parent=_turn(run, turn_span, agent),
        )
        call.started = self._began(told.entry)
        call.answered(
            step.answer.text if step.answer is not None else None,
            input_tokens=step.input_tokens,
            output_tokens=step.output_tokens,
            error=step.error,
        )
        if told.quiet or step.error is not None or step.outcome is not None:
            return
        if step.answer is None and turn_span is not None and turn_span.op == "agent":
            turn_span.owed = not turn_span.ended  # the turn itself may tell what was said
            if turn_span.owed:
                turn_span.agent = agent
                return
        self._utter(told, agent, step.answer)

    def _utter(self, told: Told, agent: str, answer: Answer | None) -> None:
        answer = answer or Answer()
        sender = answer.sender or agent
        row = told.talk.open(self._emitter, told.step).message(
            sender,
            answer.text,
            recipients=told.step.recipients,
            tool_calls=answer.tool_calls,
        )
        told.talk.ask(sender, row, answer.tool_calls)
        for around in told.path:
            around.spoken = True

    def _settle(self, turn: OpenSpan | None, talk: Conversation, answer: Answer | None) -> None:
        """Say what a model call withheld: somebody has acted on it, or the turn is over."""
        if turn is None or not turn.owed or talk.run is None:
            return
        turn.owed = False
        turn.spoken = True
        answer = answer or Answer()
        sender = answer.sender or turn.agent or SOMEBODY
        row = talk.run.message(sender, answer.text, tool_calls=answer.tool_calls)
        talk.ask(sender, row, answer.tool_calls)

    def _tool(self, told: Told) -> None:
        step, talk = told.step, told.talk
        dialect = told.dialect_name()
        if step.call_id is not None:
            if talk.answered.setdefault(step.call_id, dialect) != dialect:
                return  # another producer told this call
            while len(talk.answered) > MAX_ASKED:
                talk.answered.popitem(last=False)
        asked = talk.asked_for(step)
        agent = asked.agent if asked is not None else told.agent()
        turn_span = told.turn_span(agent)
        self._settle(turn_span, talk, None)
        run = talk.open(self._emitter, step)
        arguments = step.arguments
        if asked is not None and not isinstance(arguments, Mapping):
            arguments = asked.request.arguments or arguments  # some drop the only one's name
        call = run.tool_call(
            step.name or (asked.request.name if asked is not None else told.entry.span.name),
            arguments,
            agent=agent,
            call_id=step.call_id or (asked.request.call_id if asked is not None else None),
            index=asked.row if asked is not None else None,
            parent=_turn(run, turn_span, agent),
            started=self._began(told.entry),
        )
        if step.outcome == "paused":
            return  # it has not returned: it waits for a person
        # Of a result that was cut nobody knows whether it equals another one.
        call.returned(None if step.truncated else step.result, error=step.error or step.outcome)

    def _agent(self, told: Told) -> None:
        span, step = told.entry.span, told.step
        if span.owed:
            self._settle(span, told.talk, step.answer)
            for around in told.path:
                around.spoken = True
            return
        if span.spoken or step.error is not None or step.outcome is not None:
            return
        answer = step.answer
        withheld = answer is None or answer.text is None
        if withheld and not (answer and answer.tool_calls) and not _lacks_chats(span):
            return  # nothing is known to have been said
        if answer is not None and answer.text == "" and not answer.tool_calls:
            return
        self._utter(told, told.agent(), answer)

    def _message(self, told: Told) -> None:
        self._utter(told, told.agent(), told.step.answer)

    def _human(self, told: Told) -> None:
        answer = told.step.answer
        run = told.talk.open(self._emitter, told.step)
        run.human_replied(told.agent(), answer.text if answer is not None else None)


def _turn(run: Run, span: OpenSpan | None, agent: str) -> Scope | None:
    if span is None:
        return None
    if span.turn is None:
        span.turn = run.turn(agent)
    return span.turn


def _usable(scope: Scope | None) -> bool:
    return scope is not None and not scope.run.finished


def _lacks_chats(span: OpenSpan) -> bool:
    lacks = getattr(span.dialect, "lacks_chats", None)
    return bool(lacks and lacks(span.scope))
