"""What a record of ours says beside its rows: the run as a whole, model requests, Events."""

from __future__ import annotations

from collections.abc import Mapping

from mastwatch.events import OUTCOMES, Contract, Event, ModelCalled, RequestMessage
from mastwatch.formats import fields
from mastwatch.formats.event_values import from_value
from mastwatch.formats.record_rows import ROLES
from mastwatch.formats.recorded import Where
from mastwatch.formats.rows import RowProblems, record_id
from mastwatch.formats.transcript import Header

_EVENTS = "events"


def header(record: Mapping[str, object], where: Where, rows: int) -> Header:
    """What is known of the run; ``rows`` of the record may be more than it has messages."""
    task = record.get("task")
    framework = fields.identity(record, "framework") or ""
    outcome = record.get("outcome")
    reason = record.get("reason")
    return Header(
        run_id=record_id(record, where),
        name=fields.identity(record, "name") or framework,
        framework=framework,
        task=task if isinstance(task, str) else None,
        prompts=_prompts(record.get("prompts")),
        contract=_contract(record),
        rows=max(rows, fields.whole(record.get("rows")) or 0),
        ended=next((known for known in OUTCOMES if known == outcome), None),
        reason=reason if isinstance(reason, str) else "",
    )


def _prompts(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name: text for name, text in value.items() if isinstance(text, str)}


def _contract(record: Mapping[str, object]) -> Contract:
    told = record.get("contract")
    if isinstance(told, dict):
        tokens, votes, source = told.get("tokens"), told.get("votes"), told.get("source")
        return Contract(
            tokens=tuple(t for t in tokens if isinstance(t, str))
            if isinstance(tokens, list)
            else (),
            max_messages=fields.whole(told.get("max_messages")),
            votes=fields.whole(votes) or 1,
            source=source if isinstance(source, str) else "",
            uncapped=told.get("uncapped") is True,
        )
    labels = record.get("labels")
    cap = fields.whole(labels.get("turn_cap")) if isinstance(labels, dict) else None
    return Contract(max_messages=cap, source="labels.turn_cap") if cap else Contract()


def events(
    record: Mapping[str, object], run_id: str, problems: RowProblems
) -> tuple[Event, ...] | None:
    """The Events themselves, where a record has them; None where its rows are to tell them."""
    told = record.get(_EVENTS)
    if told is None:
        return None
    try:
        if not isinstance(told, list) or not told:
            raise fields.Malformed(f"is {fields.kind(told)}, not a list of events")
        return tuple(from_value(value, run_id) for value in told)
    except (fields.Malformed, RecursionError) as error:
        problems.add(None, f"{_EVENTS!r}: {error}; the messages are read instead")
        return None


def requests(
    record: Mapping[str, object], run_id: str, problems: RowProblems
) -> dict[int, list[ModelCalled]]:
    """The model requests, by the row they came before."""
    calls: dict[int, list[ModelCalled]] = {}
    told = record.get("requests", [])
    if not isinstance(told, list):
        problems.add(None, f"'requests' is {fields.kind(told)}, not a list; left out")
        return calls
    for number, request in enumerate(told):
        try:
            before, call = _model_call(request, run_id)
        except (fields.Malformed, RecursionError) as error:
            problems.add(None, f"request {number}: {error}; left out")
        else:
            calls.setdefault(before, []).append(call)
    return calls


def _model_call(request: object, run_id: str) -> tuple[int, ModelCalled]:
    if not isinstance(request, dict):
        raise fields.Malformed(f"is {fields.kind(request)}, not an object")
    before = fields.whole(request.get("before"))
    messages = request.get("messages")
    if before is None or "messages" not in request or not isinstance(messages, list | None):
        raise fields.Malformed("needs 'before' (a row number) and 'messages' (a list)")
    return before, ModelCalled(
        run_id=run_id,
        at=fields.moment(request.get("ts")),
        id=fields.identity(request, "id"),
        branch=fields.identity(request, "branch") or fields.identity(request, "thread") or "",
        index=before - 1,
        agent=fields.string(request, "agent", ""),
        turn=fields.string(request, "turn", ""),
        model=fields.string(request, "model", ""),
        provider=fields.string(request, "provider", ""),
        request=tuple(map(_request_message, messages)) if messages is not None else None,
        text=fields.text(request.get("text")),
        input_tokens=fields.whole(request.get("input_tokens")),
        output_tokens=fields.whole(request.get("output_tokens")),
        seconds=fields.moment(request.get("seconds")),
        error=fields.identity(request, "error"),
    )


def _request_message(message: object) -> RequestMessage:
    if not isinstance(message, dict):
        raise fields.Malformed(f"a message is {fields.kind(message)}, not an object")
    return RequestMessage(
        role=ROLES.get(fields.string(message, "role", "user"), "user"),
        content=fields.text(message.get("content")),
        name=fields.identity(message, "name") or fields.identity(message, "agent") or "",
    )
