"""Runs, turns and utterances: opened when first needed, parented by LangChain's own run ids."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.events import ToolRequest
from mastwatch.spans.emit import Emitter, Run, Scope
from mastwatch_instrumentations.langchain import LangChainInstrumentor
from mastwatch_instrumentations.langchain.handoffs import (
    arrivals,
    give,
    only_hands_off,
    recipients,
)
from mastwatch_instrumentations.langchain.state import Asked, Session, Step


def traced_by_others() -> bool:
    """Whether another producer already makes spans for LangChain; then ours would be doubles."""
    return bool(LangChainInstrumentor.traced_by())


def open_run(emitter: Emitter, session: Session) -> Run:
    """Return the session's run; a plain chain gets it when it first calls a model or a tool."""
    with session.lock:
        if session.run is None:
            session.run = emitter.start_run(
                session.name,
                framework=session.framework,
                task=session.task,
                conversation_id=session.conversation_id,
                user_id=session.user_id,
                resume=session.resume,
                spans=not traced_by_others(),
            )
        return session.run


def run_of(emitter: Emitter, step: Step) -> Run:
    """Return the run or branch that a step belongs to."""
    for around in step.above():
        if around.branch is not None:
            return around.branch
    return open_run(emitter, step.session)


def scope_above(emitter: Emitter, step: Step) -> Scope:
    """Return the innermost open scope around a step."""
    for around in step.parent.above() if step.parent else ():
        if around.scope is not None:
            return around.scope
        if around.branch is not None:
            return around.branch
    return step.session.base or open_run(emitter, step.session)


def open_branch(emitter: Emitter, step: Step, name: str) -> Run:
    """Give what happens below a step a conversation of its own."""
    if step.branch is None:
        step.branch = emitter.start_run(
            name,
            framework=step.session.framework,
            task=step.task,
            parent=scope_above(emitter, step),
        )
    return step.branch


def open_turn(emitter: Emitter, holder: Step | None) -> Scope | None:
    """Return the turn a step is in, opening it if this is the first sign of an agent at work."""
    if holder is None:
        return None
    session = holder.session
    with session.lock:
        if holder.scope is not None:
            return holder.scope
        parallel = _parallel_node(holder) or (holder if _overlaps(holder) else None)
        if parallel is not None:
            open_branch(emitter, parallel, holder.agent)
        run = run_of(emitter, holder)
        holder.scope = run.turn(holder.agent, parent=scope_above(emitter, holder))
        session.turns.append(holder)
    for source in arrivals(holder):
        hand_off(emitter, holder, source, holder.agent)
    return holder.scope


def _parallel_node(holder: Step) -> Step | None:
    """Return the node around an agent that runs side by side with another one, if any.

    The agent may be one that the node runs, under a name of its own.
    """
    for around in holder.above():
        if around.branch is not None:
            return None
        if around.parallel or _beside_another(around):
            return around
    return None


def _beside_another(node: Step) -> bool:
    """Whether another node spoke in the same step of the graph: they cannot hear each other.

    The first to speak stays in the conversation around; a node that is retried is the same one.
    """
    graph = node.parent
    if not node.node or graph is None or graph.node:  # in a node: a task, which may follow another
        return False
    if graph.first_speaker[0] != node.graph_step:
        graph.first_speaker = (node.graph_step, node.namespace)
    return graph.first_speaker[1] != node.namespace


def _overlaps(holder: Step) -> bool:
    """Whether the same agent is already at work beside us, in the same branch."""
    around = list(holder.above())
    branch = _branch(holder)
    return any(
        other.agent == holder.agent and other not in around and _branch(other) is branch
        for other in holder.session.turns
    )


def _branch(step: Step) -> Run | None:
    return next((around.branch for around in step.above() if around.branch is not None), None)


def speaker(step: Step) -> str:
    """Name who speaks in a step."""
    session = step.session
    if step.agent:
        return step.agent
    if session.base is not None and session.base.agent:
        return session.base.agent
    return session.speaker


def utter(
    emitter: Emitter,
    step: Step,
    text: str,
    *,
    message_id: str | None = None,
    tool_calls: Sequence[ToolRequest] = (),
    carriers: Sequence[Scope | None] = (),
) -> None:
    """Report one utterance, unless a resumed node only says again what it had said."""
    session, sender = step.session, speaker(step)
    node = step.nearest_node()
    for around in step.above():
        around.heard = sender
        if around.branch is not None:
            break
    session.remember(session.memory.reported, message_id)
    if not only_hands_off(tool_calls):
        session.work += 1
    if node is not None:
        node.spoken += 1
        if node.replay is not None and node.replay.spoken > 0:
            node.replay.spoken -= 1
            return
    index = run_of(emitter, step).message(
        sender,
        text,
        recipients=recipients(step, sender, tool_calls),
        tool_calls=tool_calls,
        carriers=carriers,
    )
    for call in tool_calls:
        session.remember(session.memory.calls, call.call_id, Asked(sender, index, call.name))


def hand_off(emitter: Emitter, step: Step, source: str, target: str) -> None:
    """Report that ``source`` gave the word to ``target``."""
    if give(step.session, source, target):
        run_of(emitter, step).handed_off(source, target)
