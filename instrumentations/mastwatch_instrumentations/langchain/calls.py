"""Model calls and tool calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import LLMResult

from mastwatch.spans.emit import Emitter, ModelCall, ToolCall
from mastwatch_instrumentations.langchain import LangChainInstrumentor, names
from mastwatch_instrumentations.langchain.chains import Chains
from mastwatch_instrumentations.langchain.handoffs import HANDOFF_TOOL, is_routine
from mastwatch_instrumentations.langchain.messages import (
    Answer,
    answer_of,
    gotos,
    history_of,
    langgraph,
    messages_in,
    plain,
    request_of,
    task_of,
    text_of,
)
from mastwatch_instrumentations.langchain.outcomes import ending_of, real_error
from mastwatch_instrumentations.langchain.state import Asked, Kind, Session, Step, Store
from mastwatch_instrumentations.langchain.turns import (
    hand_off,
    open_turn,
    run_of,
    scope_above,
    speaker,
    utter,
)


class Calls:
    """What model and tool callbacks lead to."""

    def __init__(self, emitter: Emitter, store: Store, chains: Chains) -> None:
        self._emitter = emitter
        self._store = store
        self._chains = chains

    def _step(
        self,
        kind: Kind,
        run_id: UUID,
        parent_id: UUID | None,
        name: str,
        metadata: Mapping[str, Any],
        task: object = None,
    ) -> Step | None:
        parent = self._store.get(parent_id)
        if parent is not None:
            step = Step(run_id, parent.session, parent, kind, name=name, agent=parent.agent)
            step.holder, step.quiet = parent.holder, parent.quiet
        elif "langgraph_node" in metadata and parent_id is not None:
            return None  # part of a graph that started before we watched, or was given up
        else:
            # Called outside any chain: joins the host's own run, or is a small run by itself.
            session = self._chains.new_session(run_id, name, metadata)
            session.framework = "langchain"
            session.task = task_of(task)
            session.base = self._emitter.current()
            session.run = session.base.run if session.base is not None else None
            step = Step(run_id, session, None, kind, name=name)
        step.metadata_agent = str(metadata.get("lc_agent_name") or "")
        return step

    def begin_model(
        self,
        run_id: UUID,
        parent_id: UUID | None,
        messages: Sequence[BaseMessage],
        metadata: Mapping[str, Any],
        parameters: Mapping[str, Any],
        model_class: str = "",
        run_name: str = "",
    ) -> None:
        """Open a model call, and the turn it shows to be under way."""
        model, provider = names.model_of(metadata, parameters)
        step = self._step("model", run_id, parent_id, model or "model", metadata, list(messages))
        if step is None:
            return
        self._chains.add(step)
        self._name_speaker(step, model_class, run_name)
        step.quiet = step.quiet or names.is_internal_call(metadata)
        if step.parent is not None:
            open_turn(self._emitter, step.parent.holder)
        elif step.session.base is None:
            self._begin_bare(step, messages, model, provider)
            return
        step.agent = speaker(step)
        step.scope = run_of(self._emitter, step).model_call(
            agent=step.agent,
            model=model,
            provider=provider,
            request=request_of(messages),
            parent=scope_above(self._emitter, step),
        )

    def _begin_bare(
        self, step: Step, messages: Sequence[BaseMessage], model: str, provider: str
    ) -> None:
        """Open a call outside any chain: it goes on with the run whose history it extends."""
        session = step.session
        step.exchange = exchange = self._emitter.histories.begin(
            history_of(messages),
            framework=session.framework,
            name=step.name,
            agent="" if session.speaker == names.SOMEBODY else session.speaker,
            model=model,
            provider=provider,
            conversation_id=session.conversation_id,
            user_id=session.user_id,
            spans=not LangChainInstrumentor.traced_by(),
        )
        step.agent, step.scope = exchange.agent, exchange.call
        session.run = session.base = exchange.run  # not ours to finish

    def _name_speaker(self, step: Step, model_class: str, run_name: str) -> None:
        session = step.session
        if step.parent is None and run_name:
            session.speaker = run_name
        elif session.speaker == model_class:
            session.speaker = names.SOMEBODY  # ``model.with_retry()`` is a chain of the same name

    def end_model(self, step: Step, result: LLMResult) -> None:
        """Close a model call; what it said is an utterance, unless nobody hears it."""
        try:
            self._answer(step, answer_of(result))
        finally:
            self._finish(step, None)

    def _answer(self, step: Step, answer: Answer) -> None:
        if step.exchange is not None:
            step.exchange.answered(
                answer.text,
                tool_calls=answer.tool_calls,
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
            )
            return
        call = step.scope
        if isinstance(call, ModelCall):
            call.answered(
                answer.text, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens
            )
        if step.quiet:
            return
        turn = step.holder.scope if step.holder is not None else None
        utter(
            self._emitter,
            step,
            answer.text,
            message_id=answer.message_id,
            tool_calls=answer.tool_calls,
            carriers=(call, turn) if answer.tool_calls else (turn, call),
        )

    def fail_model(self, step: Step, error: BaseException) -> None:
        """Close a model call that failed, or that nobody waits for any more."""
        wrong = real_error(error)
        try:
            if step.exchange is not None:
                left = isinstance(error, GeneratorExit)
                step.exchange.abandoned() if left else step.exchange.failed(error)
            elif wrong is not None and isinstance(step.scope, ModelCall):
                step.scope.answered(error=wrong)
        finally:
            self._finish(step, error)

    def begin_tool(
        self,
        run_id: UUID,
        parent_id: UUID | None,
        name: str,
        inputs: object,
        call_id: str | None,
        metadata: Mapping[str, Any],
    ) -> None:
        """Open a tool call; inside a tool nobody speaks, except in a graph that it runs."""
        step = self._step("tool", run_id, parent_id, name, metadata, None)
        if step is None:
            return
        step.quiet = True
        if step.parent is None:
            self._join(step.session, call_id)
        self._chains.add(step)
        memory = step.session.memory
        asked = memory.calls.get(call_id or "")
        step.session.remember(memory.answered, call_id)
        step.agent = asked.agent if asked is not None else speaker(step)
        if asked is not None and step.holder is not None and step.holder.agent == asked.agent:
            open_turn(self._emitter, step.holder)  # an agent that is resumed may begin by a tool
        arguments = plain(inputs)
        step.key = call_id or f"{name} {json.dumps(arguments, sort_keys=True, default=str)}"
        step.scope = self._open_tool(step, arguments, call_id, asked)

    def _join(self, session: Session, call_id: str | None) -> None:
        """Let a tool outside any chain join the run of the bare model call that asked for it."""
        claimed = self._emitter.histories.claim(call_id or "") if session.base is None else None
        if claimed is not None:
            session.run, asked = claimed
            session.base = session.run
            asked_here = Asked(asked.row.agent, asked.row.index, asked.name)
            session.remember(session.memory.calls, call_id, asked_here)

    def _open_tool(
        self, step: Step, arguments: object, call_id: str | None, asked: Asked | None
    ) -> ToolCall | None:
        """Open a tool call, unless it was under way or done when its node was interrupted."""
        run = run_of(self._emitter, step)
        returned = self._before_pause(step)
        if returned:
            return None
        if returned is not None:
            # The same call again. It has its span and its ToolCalled; what lacks is the result.
            return ToolCall(run, None, step.agent, step.name, call_id)
        return run.tool_call(
            step.name,
            arguments,
            agent=step.agent,
            call_id=call_id,
            index=asked.row if asked is not None else None,
            parent=scope_above(self._emitter, step),
            poll=is_routine(step.session, step.name),
        )

    def _before_pause(self, step: Step) -> bool | None:
        """Return whether this call had returned before its node was interrupted; None: is new."""
        node = step.nearest_node()
        if node is None:
            return None
        node.used[step.key] = False
        return None if node.replay is None else node.replay.tools.pop(step.key, None)

    def end_tool(self, step: Step, output: object) -> None:
        """Close a tool call; one that returns a Command to the parent graph is a hand-off."""
        try:
            self._return(step, output)
            self._hand_off(step, output)
        finally:
            self._finish(step, None)

    def _return(self, step: Step, output: object) -> None:
        answers = [m for m in messages_in(output) if isinstance(m, ToolMessage)]
        mine = next((m for m in answers if m.tool_call_id == step.key), None)
        mine = mine or (answers[-1] if answers else None)
        error = "ToolException" if mine is not None and mine.status == "error" else None
        if isinstance(step.scope, ToolCall):
            step.scope.returned(_text(output) if mine is None else text_of(mine), error=error)
        node = step.nearest_node()
        if node is not None:
            node.used[step.key] = True

    def _hand_off(self, step: Step, output: object) -> None:
        command = isinstance(output, langgraph("types", "Command"))
        to_parent = command and getattr(output, "graph", None) is not None
        if to_parent or step.name.startswith(HANDOFF_TOOL):
            targets = gotos(output) or [step.name.removeprefix(HANDOFF_TOOL)]
            for target in targets:
                hand_off(self._emitter, step, step.agent, target)
            if step.parent is not None:
                step.parent.handed = True

    def fail_tool(self, step: Step, error: BaseException) -> None:
        """Close a tool call that raised; a pause or a hand-off is no failure and gives no row."""
        wrong = real_error(error)
        try:
            if isinstance(step.scope, ToolCall) and wrong is not None:
                step.scope.returned(f"{type(wrong).__name__}: {wrong}", error=wrong)
        finally:
            self._finish(step, error)

    def _finish(self, step: Step, error: BaseException | None) -> None:
        if step.parent is None:
            ending = ending_of(error)
            if error is None:
                ending = ending._replace(reason=f"{step.kind} returned")
            self._chains.close(step.session, ending)
            return
        if step.scope is not None:
            step.scope.end(real_error(error))
        self._store.remove(step)


def _text(output: object) -> str:
    if isinstance(output, str):
        return output
    try:
        return json.dumps(plain(output), ensure_ascii=False)
    except ValueError:
        return type(output).__name__
