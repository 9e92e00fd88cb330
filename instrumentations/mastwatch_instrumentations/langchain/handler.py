"""The callback handler: every method is one guarded line into the parts that know what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import LLMResult

from mastwatch.guard import guard
from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations.langchain import parents
from mastwatch_instrumentations.langchain.brake import Brake
from mastwatch_instrumentations.langchain.calls import Calls
from mastwatch_instrumentations.langchain.chains import Chains
from mastwatch_instrumentations.langchain.outcomes import Ending
from mastwatch_instrumentations.langchain.state import Step, Store


class MastwatchHandler(BaseCallbackHandler):
    """Tells the emitter what LangChain's callbacks say.

    Runs are told apart by LangChain's run ids alone: a callback may come on any thread, in any
    context. Nothing here awaits, blocks, changes an argument or keeps a message.
    """

    run_inline = True  # an async app would else call us from an executor, out of order
    raise_error = False
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, emitter: Emitter) -> None:
        self.active = True
        self.store = Store()
        self._emitter = emitter
        self._chains = Chains(emitter, self.store)
        self._calls = Calls(emitter, self.store, self._chains)
        self._brake: Brake | None = None

    # An app that copies its config copies the handlers in it: there is only one of us.
    def __copy__(self) -> MastwatchHandler:
        return self

    def __deepcopy__(self, memo: object) -> MastwatchHandler:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (BaseCallbackHandler, ())  # in another process we have nothing to report to

    def close(self) -> None:
        """Close the runs still open, as unknown: nobody will tell how they end."""
        if self._brake is not None:
            self._brake.remove()
        for session in self.store.sessions():
            with guard("langchain.close"):
                self._chains.close(session, Ending("unknown", "uninstrumented"))
        with guard("langchain.close"):
            self._emitter.histories.close("langchain")

    def intervene(self) -> None:
        """Get ready to end runs and to speak in them."""
        interventions = self._emitter.interventions
        if self._brake is None and interventions is not None:
            self._brake = Brake(self._emitter, self.store, interventions)
            self._brake.attach()

    def _watching(self) -> bool:
        return self.active and not self._emitter.suppressed()

    def _step(self, run_id: UUID) -> Step | None:
        return self.store.get(run_id) if self.active else None

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Begin a run, a node or a chain inside one."""
        with guard("langchain.chain_start"):
            if self._watching():
                if self._brake is not None:
                    self._brake.attach()
                name, caller = _name(serialized, kwargs), parents.caller(parent_run_id)
                self._chains.begin(run_id, caller, name, tags, metadata or {}, inputs)
                parents.began(run_id)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End it."""
        with guard("langchain.chain_end"):
            step = self._step(run_id)
            if step is not None:
                _ended(step)
                self._chains.end(step, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End it by an exception."""
        with guard("langchain.chain_error"):
            step = self._step(run_id)
            if step is not None:
                _ended(step)
                if self._brake is not None:
                    self._brake.ended(step, error)
                self._chains.fail(step, error)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Begin a model call."""
        with guard("langchain.model_start"):
            if self._watching():
                request = messages[0] if messages else []
                self._begin_model(serialized, request, run_id, parent_run_id, metadata, kwargs)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Begin a call of a text-completion model."""
        with guard("langchain.model_start"):
            if self._watching():
                request = [HumanMessage(prompt) for prompt in prompts[:1]]
                self._begin_model(serialized, request, run_id, parent_run_id, metadata, kwargs)

    def _begin_model(
        self,
        serialized: dict[str, Any] | None,
        request: Sequence[BaseMessage],
        run_id: UUID,
        parent_run_id: UUID | None,
        metadata: dict[str, Any] | None,
        more: dict[str, Any],
    ) -> None:
        self._calls.begin_model(
            run_id,
            parents.caller(parent_run_id),
            request,
            metadata or {},
            more.get("invocation_params") or {},
            model_class=str((serialized or {}).get("name") or ""),
            run_name=str(more.get("name") or ""),
        )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """End a model call: here an utterance is born, streamed or not."""
        with guard("langchain.model_end"):
            step = self._step(run_id)
            if step is not None:
                self._calls.end_model(step, response)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End a model call by an exception."""
        with guard("langchain.model_error"):
            step = self._step(run_id)
            if step is not None:
                self._calls.fail_model(step, error)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Begin a tool call."""
        with guard("langchain.tool_start"):
            if self._watching():
                self._calls.begin_tool(
                    run_id,
                    parents.caller(parent_run_id),
                    _name(serialized, kwargs),
                    input_str if inputs is None else inputs,
                    kwargs.get("tool_call_id"),
                    metadata or {},
                )
                parents.began(run_id)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End a tool call."""
        with guard("langchain.tool_end"):
            step = self._step(run_id)
            if step is not None:
                _ended(step)
                self._calls.end_tool(step, output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End a tool call by an exception."""
        with guard("langchain.tool_error"):
            step = self._step(run_id)
            if step is not None:
                _ended(step)
                self._calls.fail_tool(step, error)


def _name(serialized: dict[str, Any] | None, kwargs: dict[str, Any]) -> str:
    return str((serialized or {}).get("name") or kwargs.get("name") or "")


def _ended(step: Step) -> None:
    parents.ended(step.run_id, step.parent.run_id if step.parent is not None else None)
