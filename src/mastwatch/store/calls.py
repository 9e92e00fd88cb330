"""Tool calls that no message asked for: what they were called with is told by their results."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeAlias

from mastwatch.events import MessageSent, ToolCalled, ToolRequest, ToolReturned

MAX_OPEN = 256
"""Calls under way, and requests, that are remembered."""

_Key: TypeAlias = tuple[str, object]


class UnaskedCalls:
    """Pairs results with calls that stand in no message (a framework without such messages)."""

    def __init__(self) -> None:
        self._asked: OrderedDict[_Key, None] = OrderedDict()  # by tool and call id, else row
        self._open: OrderedDict[_Key, ToolRequest] = OrderedDict()

    def asked(self, event: MessageSent) -> None:
        """A message asks for its calls."""
        for call in event.tool_calls:
            self._asked[call.name, call.call_id or event.index] = None
        _bound(self._asked)

    def called(self, event: ToolCalled) -> None:
        """A tool begins to run."""
        known = {(event.name, event.call_id), (event.name, event.index)} & self._asked.keys()
        if not known:
            self._open[event.name, event.call_id] = ToolRequest(
                name=event.name, arguments=event.arguments, call_id=event.call_id
            )
            _bound(self._open)

    def returned(self, event: ToolReturned) -> tuple[ToolRequest, ...]:
        """The call that a result answers, where no message asked for it."""
        call = self._open.pop((event.name, event.call_id), None)
        return () if call is None else (call,)


def _bound(entries: OrderedDict[_Key, Any]) -> None:
    while len(entries) > MAX_OPEN:
        entries.popitem(last=False)
