"""Chains: roots are runs, nodes of a graph are agents at work, the rest only passes things on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations.langchain import names
from mastwatch_instrumentations.langchain.messages import (
    gotos,
    key_of,
    langgraph,
    messages_in,
    plain,
    task_of,
)
from mastwatch_instrumentations.langchain.nodes import end_node, note_fan_out
from mastwatch_instrumentations.langchain.outcomes import Ending, ending_of, real_error
from mastwatch_instrumentations.langchain.state import Replay, Session, Step, Store
from mastwatch_instrumentations.langchain.turns import (
    hand_off,
    open_branch,
    open_run,
)


class Chains:
    """What chain callbacks lead to."""

    def __init__(self, emitter: Emitter, store: Store) -> None:
        self._emitter = emitter
        self._store = store

    def begin(
        self,
        run_id: UUID,
        parent_id: UUID | None,
        name: str,
        tags: Sequence[str] | None,
        metadata: Mapping[str, Any],
        inputs: object,
    ) -> None:
        """Note a chain: a new run, a graph's node, or a chain inside one."""
        parent = self._store.get(parent_id)
        if parent is None:
            # Inside a graph: one that started before we watched, or was given up. No new run.
            if parent_id is None or "langgraph_node" not in metadata:
                self._begin_root(run_id, name, metadata, inputs)
            return
        step = Step(
            run_id,
            parent.session,
            parent,
            "chain",
            name=name,
            metadata_agent=str(metadata.get("lc_agent_name") or ""),
            namespace=str(metadata.get("langgraph_checkpoint_ns") or ""),
            graph_step=int(metadata.get("langgraph_step", -1)),
        )
        step.node = names.is_node(tags) or _is_task(step, metadata)
        if step.node:
            self._place_node(step, parent, metadata, inputs)
        else:
            self._place_chain(step, parent, inputs)
        self.add(step)

    def _begin_root(
        self, run_id: UUID, name: str, metadata: Mapping[str, Any], inputs: object
    ) -> None:
        session = self.new_session(run_id, name, metadata)
        session.task = task_of(inputs)
        session.speaker = names.speaker_of_chain(names.name_of_graph(name))
        session.graph = names.is_graph_root(metadata)
        answer = inputs.resume if isinstance(inputs, langgraph("types", "Command")) else None
        if answer is not None:
            session.reply = str(plain(answer))
        session.resume = answer is not None or (
            inputs is None and session.conversation_id is not None
        )
        agent = str(metadata.get("lc_agent_name") or "")
        step = Step(run_id, session, None, "chain", name=name, agent=agent, metadata_agent=agent)
        step.holder = step if agent else None
        self.add(step)
        # A graph is a run from its start; a plain chain may never call anything worth a run.
        if session.resume:
            self._resume(session)
        elif session.graph:
            open_run(self._emitter, session)

    def _resume(self, session: Session) -> None:
        paused = self._store.unpark(session.conversation_id)
        if paused is not None:
            session.replays, session.memory = paused.replays, paused.memory
        run = open_run(self._emitter, session)
        if session.reply is not None:
            run.human_replied(paused.agent if paused is not None else "", session.reply)

    def new_session(self, run_id: UUID, name: str, metadata: Mapping[str, Any]) -> Session:
        """Make the state of a root."""
        user = metadata.get("user_id")
        return Session(
            run_id,
            name,
            names.framework_of(metadata),
            names.conversation_of(metadata),
            user_id=str(user) if user else None,
        )

    def add(self, step: Step) -> None:
        """Note a step; close what is overdue."""
        for overdue in self._store.add(step):
            self.close(overdue, Ending("unknown", "idle for too long, or too many runs at once"))

    def _place_node(
        self, step: Step, graph: Step, metadata: Mapping[str, Any], inputs: object
    ) -> None:
        tool = graph.nearest_tool()
        if tool is not None and all(s.branch is None for s in _until(graph, tool)):
            # Only now do we know that the chain inside the tool is a graph: a nested conversation.
            open_branch(self._emitter, graph, graph.name)
        node = str(metadata.get("langgraph_node") or "")
        step.quiet = names.is_middleware(node) or node.startswith("__")
        step.known = frozenset(key_of(message) for message in messages_in(inputs))
        source, expected_at = graph.expected.get(node, ("", -1))
        step.sent_by = source if expected_at == step.graph_step else ""
        step.replay = step.session.replays.pop(step.namespace, None)
        step.agent, step.holder = graph.agent, graph.holder
        if node == "tools" or step.quiet:
            return
        inherited = tool.metadata_agent if tool is not None else ""
        step.agent = names.agent_of(metadata, graph.name, inherited)
        step.asks_model = names.is_create_agent_model(node, metadata)
        if graph.holder is not None and graph.holder.agent == step.agent:
            return
        if step.asks_model:
            # An agent without a name: its turn is the whole graph, as that of one with a name.
            graph.agent = step.agent
            graph.holder = step.holder = graph
            return
        step.holder = step
        step.parallel = graph.fan.get(node) == step.graph_step
        step.task = task_of(inputs) if step.parallel else None

    def _place_chain(self, step: Step, parent: Step, inputs: object) -> None:
        step.agent, step.holder, step.quiet = parent.agent, parent.holder, parent.quiet
        in_tool = parent.kind == "tool"
        if in_tool:
            step.holder, step.task = None, task_of(inputs)
        if not step.metadata_agent or step.metadata_agent == parent.metadata_agent:
            return
        # The graph of an agent; inside the node of the same agent it is the same turn.
        step.agent = step.metadata_agent
        if in_tool:
            open_branch(self._emitter, step, step.agent)
            step.quiet = False
        if step.holder is None or step.holder.agent != step.agent:
            step.holder = step

    def end(self, step: Step, outputs: object) -> None:
        """Close a chain; what a node wrote itself is said by its agent."""
        try:
            if step.node:
                end_node(self._emitter, step, outputs)
            if step.interrupted and step.nearest_tool() is None:
                # The graph swallowed the interrupt and ends as if nothing were: it waits.
                step.session.paused = True
            if step.parent is not None:
                note_fan_out(step, outputs)
        finally:
            self._close(step, None)

    def fail(self, step: Step, error: BaseException) -> None:
        """Close a chain that an exception went through: an error, or control flow."""
        try:
            if isinstance(error, langgraph("errors", "GraphInterrupt")):
                _note_pause(step)
            elif isinstance(error, langgraph("errors", "ParentCommand")):
                self._leave_graph(step, gotos(error.args[0] if error.args else None))
        finally:
            self._close(step, error)

    def _leave_graph(self, step: Step, targets: list[str]) -> None:
        # The same command passes through every chain on its way up; it is one hand-off.
        if not step.handed:
            for target in targets:
                hand_off(self._emitter, step, step.agent, target)
        if step.parent is not None:
            step.parent.handed = True

    def _close(self, step: Step, error: BaseException | None) -> None:
        session = step.session
        if step.parent is None:
            ending = ending_of(error)
            if error is None and session.paused:
                ending = Ending("paused", "interrupt")
            elif error is None and not session.graph:
                ending = Ending("completed", "chain returned")
            self.close(session, ending)
            return
        _end_scope(step, real_error(error))
        if step.branch is not None:
            step.branch.finish(*ending_of(error))
        self._store.remove(step)

    def close(self, session: Session, ending: Ending) -> None:
        """End a session: whatever is still open in it, then its run."""
        if session.ended:
            return
        session.ended = True
        for step in self._store.drop(session):
            _end_scope(step, ending.error if step.parent is None else None)
            if step.branch is not None:
                step.branch.finish(ending.outcome, ending.reason)
        if ending.outcome == "paused":
            self._store.park(session)
        if session.run is not None and session.base is None:
            session.run.finish(*ending)


def _is_task(step: Step, metadata: Mapping[str, Any]) -> bool:
    """Whether a chain is a ``@task`` of the functional API: a node, but not tagged as one."""
    above = step.parent.namespace if step.parent is not None else ""
    nested = bool(above) and step.namespace.startswith(f"{above}|")
    return nested and step.name == metadata.get("langgraph_node")


def _note_pause(step: Step) -> None:
    session = step.session
    if step.node:
        session.paused_at[step.namespace] = Replay(step.spoken, dict(step.used))
        session.paused_agent = session.paused_agent or step.agent
        if step.parent is not None:
            step.parent.interrupted = True


def _end_scope(step: Step, error: BaseException | None) -> None:
    if step.scope is not None:
        step.scope.end(error)
    with step.session.lock:
        if step in step.session.turns:
            step.session.turns.remove(step)


def _until(step: Step, last: Step) -> list[Step]:
    found: list[Step] = []
    for around in step.above():
        if around is last:
            break
        found.append(around)
    return found
