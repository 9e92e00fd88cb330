"""A run of any format as our own record, from which the same Events are read again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields as names_of

from mastwatch.events import (
    Contract,
    Event,
    MessageSent,
    ModelCalled,
    RunFinished,
    RunStarted,
    ToolRequest,
    ToolReturned,
)
from mastwatch.formats.event_values import to_value
from mastwatch.formats.record import OWN, read_record
from mastwatch.formats.recorded import RecordedRun, Thought

_REQUEST = (
    "turn",
    "model",
    "provider",
    "input_tokens",
    "output_tokens",
    "seconds",
    "error",
)


def to_record(run: RecordedRun) -> dict[str, object]:
    """Write a run as a record.

    Its rows tell nearly every run whole. Where they do not (a trace knows when a tool began, or
    that a person was asked), the Events stand beside them under ``events``.
    """
    record: dict[str, object] = {
        **_head(run),
        **{key: value for key, value in run.extra.items() if key not in OWN},
        "messages": sorted([*_rows(run.events), *map(_thought, run.thoughts)], key=_index),
    }
    requests = [_request(event) for event in run.events if isinstance(event, ModelCalled)]
    if requests:
        record["requests"] = requests
    if not _tells(record, run):
        record["events"] = [to_value(event) for event in run.events]
    return record


def as_line(record: Mapping[str, object]) -> str:
    """A record as one line of JSON, without its line break."""
    return json.dumps(record, ensure_ascii=False, default=str)


def _head(run: RecordedRun) -> dict[str, object]:
    started = next((e for e in run.events if isinstance(e, RunStarted) and not e.branch), None)
    ended = [e for e in run.events if isinstance(e, RunFinished) and not e.branch]
    head: dict[str, object] = {
        "id": run.id,
        "framework": run.framework,
        "rows": run.messages,
    }
    if started is not None:
        head |= {"name": started.name, "task": started.task}
        if started.prompts:
            head["prompts"] = dict(started.prompts)
        if started.contract != Contract() or "turn_cap" in _mapping(run.extra.get("labels")):
            head["contract"] = _contract(started.contract)
    if ended:
        head |= {"outcome": ended[-1].outcome, "reason": ended[-1].reason}
    return head


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _contract(contract: Contract) -> dict[str, object]:
    told = {one.name: getattr(contract, one.name) for one in names_of(contract)}
    return {**told, "tokens": list(contract.tokens)}


def _index(row: Mapping[str, object]) -> int:
    index = row["index"]
    assert isinstance(index, int)
    return index


def _rows(events: tuple[Event, ...]) -> Iterator[dict[str, object]]:
    for event in events:
        if isinstance(event, MessageSent):
            yield _without_blanks(_message(event), event)
        elif isinstance(event, ToolReturned):
            yield _without_blanks(_result(event), event)


def _message(event: MessageSent) -> dict[str, object]:
    return {
        "index": event.index,
        "agent": event.sender,
        "role": event.role,
        "kind": event.kind,
        "content": event.text,
        "to": list(event.recipients),
        "tool_calls": [_call(call) for call in event.tool_calls],
        "id": event.id,
    }


def _call(call: ToolRequest) -> dict[str, object]:
    told: dict[str, object] = {"name": call.name, "arguments": call.arguments}
    return told if call.call_id is None else {**told, "id": call.call_id}


def _result(event: ToolReturned) -> dict[str, object]:
    return {
        "index": event.index,
        "agent": event.agent,
        "role": "tool",
        "content": event.result,
        "tool_name": event.name,
        "tool_call_id": event.call_id,
        "error": event.error,
        # The call's id stands for the result where the log has no other.
        "id": None if event.id == event.call_id else event.id,
    }


def _without_blanks(row: dict[str, object], event: Event) -> dict[str, object]:
    row |= {"ts": event.at, "branch": event.branch}
    return {
        key: told for key, told in row.items() if key == "content" or told not in (None, "", [])
    }


def _thought(thought: Thought) -> dict[str, object]:
    return {
        "index": thought.index,
        "agent": thought.agent,
        "role": "assistant",
        "kind": "thought",
        "content": thought.text,
    }


def _request(event: ModelCalled) -> dict[str, object]:
    told: dict[str, object] = {"before": event.index + 1, "agent": event.agent}
    told |= {name: getattr(event, name) for name in _REQUEST}
    told |= {"ts": event.at, "id": event.id, "branch": event.branch}
    told = {key: item for key, item in told.items() if item not in (None, "")}
    told["messages"] = event.request and [
        {"role": one.role, "content": one.content, "name": one.name} for one in event.request
    ]
    return told if event.text is None else {**told, "text": event.text}


def _tells(record: Mapping[str, object], run: RecordedRun) -> bool:
    """Whether the rows alone give the run again, once they have been a line of a file."""
    again = read_record(json.loads(as_line(record)))
    runs = [item for item in again if isinstance(item, RecordedRun)]
    return len(runs) == 1 and runs[0].events == run.events
