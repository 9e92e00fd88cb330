"""A trace without the secrets in its texts: what is written has gone through here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mastwatch.events import ToolRequest
from mastwatch.store.trace import ModelInput, Trace, TraceRow

_MAX_DEPTH = 32

Clean = Callable[[str], str]


def redacted(trace: Trace, clean: Clean) -> Trace:
    """Every text of a trace through ``clean``.

    Names (agents, tools, the run's), ids and types of errors stay as they are; so do the sentences
    of findings, which quote no text.
    """

    def optional(text: str | None) -> str | None:
        return clean(text) if text else text

    return replace(
        trace,
        rows=tuple(_row(row, clean) for row in trace.rows),
        inputs=tuple(_input(item, clean) for item in trace.inputs),
        task=optional(trace.task),
        reason=clean(trace.reason),
        tags={name: clean(value) for name, value in trace.tags.items()},
        prompts={agent: clean(prompt) for agent, prompt in trace.prompts.items()},
        expected=optional(trace.expected),
        comment=optional(trace.comment),
    )


def _row(row: TraceRow, clean: Clean) -> TraceRow:
    text = clean(row.text) if row.text else row.text
    calls = tuple(_call(call, clean) for call in row.tool_calls)
    return replace(row, text=text, tool_calls=calls)


def _call(call: ToolRequest, clean: Clean) -> ToolRequest:
    return replace(call, arguments=_plain(call.arguments, clean))


def _input(item: ModelInput, clean: Clean) -> ModelInput:
    return replace(item, text=clean(item.text))


def _plain(value: object, clean: Clean, depth: int = 0) -> object:
    """Arguments as plain JSON values; an odd object by its ``str``, which may tell a secret too."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth < _MAX_DEPTH and isinstance(value, Mapping):
        return {clean(str(key)): _plain(item, clean, depth + 1) for key, item in value.items()}
    if depth < _MAX_DEPTH and isinstance(value, (list, tuple)):
        return [_plain(item, clean, depth + 1) for item in value]
    return clean(str(value))
