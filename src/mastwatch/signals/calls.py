"""Tool calls and their results: each call counted once, each result paired with its call."""

from __future__ import annotations

import re
from collections import OrderedDict, deque

from mastwatch.events import ToolCalled, ToolRequest
from mastwatch.signals import text, vocabulary
from mastwatch.signals.facts import Call, Result
from mastwatch.signals.identity import (
    call_key,
    canonical,
    error_class,
    is_mutating,
    result_digest,
)

KEYS_KEPT = 112
"""Different calls that are remembered per conversation."""
PENDING_KEPT = 32
"""Unanswered calls that are remembered per conversation."""
ARGUMENT_WORDS = 16
RESULTS_KEPT = 8
"""Different results that are remembered per call."""

_SPACER = frozenset(vocabulary.SPACER_TOOLS.split())
_FINISHING = frozenset(vocabulary.FINISHING_TOOLS.split())
_SPACER_COMMAND = re.compile(r'(?:sleep|wait)\b|\{"(?:command|cmd|code)":"\s*(?:sleep\b|")')


class _Pending:
    """A call on its way; ``started`` once a tool event confirmed what a message announced."""

    __slots__ = ("call", "started")

    def __init__(self, call: Call, started: bool) -> None:
        self.call = call
        self.started = started


class _Known:
    __slots__ = ("calls", "digests")

    def __init__(self) -> None:
        self.calls = 0
        self.digests: tuple[int, ...] = ()  # tuples are smaller; there are many of them


class Calls:
    """Pairs calls with results and remembers what each call has given before."""

    def __init__(self) -> None:
        self._pending: deque[_Pending] = deque(maxlen=PENDING_KEPT)
        self._known: OrderedDict[int, _Known] = OrderedDict()

    def announce(
        self, agent: str, index: int, requests: tuple[ToolRequest, ...]
    ) -> tuple[Call, ...]:
        """Note the calls a message asks for."""
        if not requests:
            return ()
        # An agent that asks again no longer waits for calls whose results were never logged.
        stale = [p for p in self._pending if p.call.agent == agent and not p.started]
        for pending in stale:
            self._pending.remove(pending)
        made = []
        for request in requests:
            call = self._make(agent, index, request.name, request.arguments, request.call_id)
            self._pending.append(_Pending(call, started=False))
            made.append(call)
        return tuple(made)

    def start(self, event: ToolCalled) -> Call | None:
        """Note a tool that begins to run; None when a message had announced it."""
        key = call_key(event.name, canonical(event.arguments))
        for pending in self._pending:
            if not pending.started and _same_call(pending.call, event, key):
                pending.started = True
                pending.call = pending.call._replace(
                    mutating=is_mutating(event.name, event.mutating), poll=event.poll
                )
                return None
        call = self._make(event.agent, event.index, event.name, event.arguments, event.call_id)
        call = call._replace(mutating=is_mutating(event.name, event.mutating), poll=event.poll)
        self._pending.append(_Pending(call, started=True))
        return call

    def finish(
        self,
        index: int,
        name: str,
        call_id: str | None,
        result: str | None,
        error: str | None,
        novelty: float | None,
        words: int = 0,
    ) -> Result:
        """Pair a result with its call and compare it with the call's earlier results."""
        call = self._take(name, call_id)
        kind = error_class(error, result)
        shown = result if result is not None else (error if kind else None)
        digest = 0 if shown is None else result_digest(shown)
        known = changed = False
        varied = 0
        if call is not None and digest:
            history = self._history(call.key)
            known = bool(history.digests)
            changed = known and history.digests[-1] != digest
            others = [d for d in history.digests if d != digest]
            history.digests = (*others, digest)[-RESULTS_KEPT:]
            varied = len(history.digests)
        return Result(
            call=call,
            row=index,
            digest=digest,
            known=known,
            changed=changed,
            varied=varied,
            error=kind,
            empty=result is not None and result.strip() in ("", "[]", "{}", "None", "null"),
            words=words,
            novelty=novelty,
        )

    @property
    def waiting(self) -> bool:
        """Some call has no result yet."""
        return bool(self._pending)

    def _make(
        self, agent: str, index: int, name: str, arguments: object, call_id: str | None
    ) -> Call:
        shown = canonical(arguments)
        key = call_key(name, shown)
        history = self._history(key)
        history.calls += 1
        return Call(
            key=key,
            tool=name,
            agent=agent,
            row=index,
            call_id=call_id,
            mutating=is_mutating(name, None),
            poll=False,
            spacer=name.lower() in _SPACER or bool(_SPACER_COMMAND.match(shown)),
            finishes=name.lower() in _FINISHING,
            argument_words=text.word_hashes(text.words(shown)[:ARGUMENT_WORDS]),
            times=history.calls - 1,
        )

    def _history(self, key: int) -> _Known:
        history = self._known.get(key)
        if history is None:
            history = self._known[key] = _Known()
            if len(self._known) > KEYS_KEPT:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return history

    def _take(self, name: str, call_id: str | None) -> Call | None:
        for pending in self._pending:
            call = pending.call
            if call_id and call.call_id:
                fits = call_id == call.call_id
            else:
                fits = not name or not call.tool or name == call.tool
            if fits:
                self._pending.remove(pending)
                return call
        return None


def _same_call(call: Call, event: ToolCalled, key: int) -> bool:
    if call.call_id and event.call_id:
        return call.call_id == event.call_id
    return call.key == key
