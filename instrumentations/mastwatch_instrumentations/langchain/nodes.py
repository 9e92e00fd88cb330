"""What a node of a graph does without a model or a tool of LangChain's, read from its output."""

from __future__ import annotations

from mastwatch.spans.emit import Emitter
from mastwatch_instrumentations.langchain import names
from mastwatch_instrumentations.langchain.handoffs import expect
from mastwatch_instrumentations.langchain.messages import (
    fanned_out,
    gotos,
    text_of,
    tool_requests,
    written,
)
from mastwatch_instrumentations.langchain.state import Step
from mastwatch_instrumentations.langchain.turns import (
    open_turn,
    run_of,
    scope_above,
    utter,
)


def end_node(emitter: Emitter, step: Step, outputs: object) -> None:
    """Report what a node did by itself: tool results, words, a hand-off."""
    _results(emitter, step, outputs)
    if not step.quiet and not step.heard:
        _speech(emitter, step, outputs)
    if step.quiet:
        return
    expect(step, gotos(outputs))
    if step.name not in names.GENERIC_NODES:
        step.session.work += 1  # what it wrote may be no message


def note_fan_out(step: Step, outputs: object) -> None:
    """Note which nodes the graph will run several times at once in its next step."""
    targets = fanned_out(outputs)
    if targets:
        node = step.nearest_node()
        graph = node.parent if node is not None else step.parent
        if graph is not None:
            graph.fan.update(dict.fromkeys(targets, (node or step).graph_step + 1))


def _speech(emitter: Emitter, step: Step, outputs: object) -> None:
    for message in written(outputs, step.known).said:
        if message.id and message.id in step.session.memory.reported:
            continue
        utter(
            emitter,
            step,
            text_of(message),
            message_id=message.id,
            tool_calls=tool_requests(message),
            carriers=(open_turn(emitter, step.holder),),
        )


def _results(emitter: Emitter, step: Step, outputs: object) -> None:
    """Report tool calls that a node answered by itself, without running a LangChain tool."""
    memory = step.session.memory
    if step.asks_model:
        return  # the "tool" of a structured answer: the prebuilt agent writes its result
    for message in written(outputs, step.known).results:
        call_id = message.tool_call_id
        asked = memory.calls.get(call_id)
        if asked is None or call_id in memory.answered:
            continue
        step.session.remember(memory.answered, call_id)
        call = run_of(emitter, step).tool_call(
            message.name or asked.tool,
            agent=asked.agent,
            index=asked.row,
            call_id=call_id,
            parent=step.scope or scope_above(emitter, step),
        )
        call.returned(
            text_of(message), error="ToolException" if message.status == "error" else None
        )
