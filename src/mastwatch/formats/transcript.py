"""From the rows of a transcript to Events; what all message-list formats share.

A reader turns its log into ``Row``s (or ``None`` for a row that is no utterance or is broken) and
``events`` does the rest: start and end, branches, tool results matched with their calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mastwatch.events import (
    Contract,
    Event,
    MessageKind,
    MessageSent,
    ModelCalled,
    Outcome,
    Role,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolRequest,
    ToolReturned,
)

PERSONS = frozenset({"user", "human", "customer", "client", "human_user"})
"""Names under which logs record a person; a proxy under a name of its own is a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a transcript, checked and in our words.

    Attributes:
        index: Its number, as findings give it.
        agent: Who stands in the log: the speaker, or for a tool result whoever returned it.
        role, text: As in the log; None for content it withholds.
        kind, recipients: What sort of utterance it is, and to whom.
        calls: Tools it asks for; ``call_id`` set where the log has ids.
        tool, call_id, error: For a tool result: the tool's name, or empty; the call it answers;
            what the log says went wrong.
        at, id: Unix seconds, and the log's own id of the row.
        branch: Conversation inside the run.
    """

    index: int
    agent: str
    role: Role
    text: str | None = None
    kind: MessageKind = "reply"
    recipients: tuple[str, ...] = ()
    calls: tuple[ToolRequest, ...] = ()
    tool: str = ""
    call_id: str | None = None
    error: str | None = None
    at: float | None = None
    id: str | None = None
    branch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What is known of the run as a whole.

    Attributes:
        run_id, name, framework: Of the run, of its workflow, of what made the log.
        task: What the run was asked to do.
        prompts: System prompt by agent.
        contract, rows: How it is meant to stop, and the length of its transcript.
        ended, reason: How it ended where the log says so, and in its own words.
    """

    run_id: str
    name: str = ""
    framework: str = ""
    task: str | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    contract: Contract = field(default_factory=Contract)
    rows: int = 0
    ended: Outcome | None = None
    reason: str = ""

    @property
    def outcome(self) -> Outcome:
        """How the run ended, as far as a list of messages can tell."""
        if self.ended is not None:
            return self.ended
        cap = self.contract.max_messages
        return "limit" if cap is not None and self.rows >= cap else "unknown"


@dataclass(slots=True)
class _Branch:
    """What must be remembered of one conversation while its rows go by."""

    open: list[ToolRequest] = field(default_factory=list)
    caller: str = ""
    called_at: int = -1
    speaker: str = ""
    last: int = -1
    at: float | None = None


def events(
    header: Header,
    rows: Sequence[Row | None],
    model_calls: Mapping[int, Sequence[ModelCalled]] | None = None,
) -> Iterator[Event]:
    """Tell a run as Events.

    Args:
        header: Of the run.
        rows: Its rows in order; None stands for one without an event.
        model_calls: Model calls by the index of the row they came before.
    """
    calls = dict(model_calls or {})
    ids = _Ids(rows)
    branches: dict[str, _Branch] = {"": _Branch()}
    yield _started(header, "", next((row.at for row in rows if row), None))
    for row in filter(None, rows):
        for index in [before for before in calls if before <= row.index]:
            yield from calls.pop(index)
        if row.branch not in branches:
            branches[row.branch] = _Branch()
            yield _started(header, row.branch, row.at)
        branch = branches[row.branch]
        branch.last, branch.at = row.index, row.at
        if row.role == "tool":
            yield from _returned(header.run_id, row, branch, ids)
        else:
            yield _sent(header.run_id, row, branch, ids)
    for index in sorted(calls):
        yield from calls[index]
    yield from _finished(header, branches)


def _started(header: Header, branch: str, at: float | None) -> RunStarted:
    return RunStarted(
        run_id=header.run_id,
        at=at,
        branch=branch,
        name=header.name,
        framework=header.framework,
        task=header.task,
        prompts={} if branch else header.prompts,
        contract=header.contract,
    )


def _finished(header: Header, branches: Mapping[str, _Branch]) -> Iterator[RunFinished]:
    for name, branch in [(n, b) for n, b in branches.items() if n]:
        yield RunFinished(run_id=header.run_id, at=branch.at, branch=name, index=branch.last)
    at = max((b.at for b in branches.values() if b.at is not None), default=None)
    last = max([header.rows - 1, *(b.last for b in branches.values())])
    yield RunFinished(
        run_id=header.run_id, at=at, index=last, outcome=header.outcome, reason=header.reason
    )


def _sent(run_id: str, row: Row, branch: _Branch, ids: _Ids) -> MessageSent:
    if row.role != "system":
        branch.speaker = row.agent
    if row.role == "assistant":
        # Calls the log shows no result of stay with their message; results never skip a turn.
        branch.open, branch.caller, branch.called_at = list(row.calls), row.agent, row.index
    return MessageSent(
        run_id=run_id,
        at=row.at,
        id=ids.known(("row", row.id)),
        branch=row.branch,
        index=row.index,
        sender=row.agent,
        recipients=row.recipients,
        text=row.text,
        role=row.role,
        kind=row.kind,
        tool_calls=row.calls,
    )


def _returned(run_id: str, row: Row, branch: _Branch, ids: _Ids) -> Iterator[Event]:
    """The call, as far as the log shows it, and its result.

    That a tool ran is certain only where a result stands, so the ToolCalled comes with it.
    """
    call = _take(branch.open, row)
    if call is not None:
        yield ToolCalled(
            run_id=run_id,
            at=row.at,
            id=ids.known(("call", call.call_id)),
            branch=row.branch,
            index=branch.called_at,
            agent=branch.caller,
            name=call.name,
            arguments=call.arguments,
            call_id=call.call_id,
        )
    yield ToolReturned(
        run_id=run_id,
        at=row.at,
        id=ids.known(("row", row.id)) or ids.known(("result", row.call_id)),
        branch=row.branch,
        index=row.index,
        agent=branch.caller if call is not None else branch.speaker or row.agent,
        name=row.tool or (call.name if call is not None else ""),
        call_id=row.call_id or (call.call_id if call is not None else None),
        result=row.text,
        error=row.error,
    )


def _take(pending: list[ToolRequest], row: Row) -> ToolRequest | None:
    """The open call that a result answers: by id, else by name, else the oldest one."""
    if row.call_id is not None:
        matches = [call for call in pending if call.call_id == row.call_id]
    else:
        matches = [call for call in pending if call.name == row.tool] or pending
    if not matches:
        return None
    # By identity: two equal calls are two calls.
    position = next(n for n, call in enumerate(pending) if call is matches[0])
    return pending.pop(position)


class _Ids:
    """Which of a log's ids really name one happening.

    Some providers number the calls of every answer anew (``call_0``). An id that stands for two
    different contents is therefore no identity; the watch would drop the second as a duplicate.
    """

    def __init__(self, rows: Sequence[Row | None]) -> None:
        contents: dict[tuple[str, str | None], object] = {}
        self._ambiguous: set[tuple[str, str | None]] = set()
        for row in filter(None, rows):
            content = (row.agent, row.text, repr(row.calls))
            seen: list[tuple[tuple[str, str | None], object]] = [(("row", row.id), content)]
            seen += [(("call", c.call_id), (c.name, repr(c.arguments))) for c in row.calls]
            if row.role == "tool":
                seen.append((("result", row.call_id), content))
            for key, what in seen:
                if contents.setdefault(key, what) != what:
                    self._ambiguous.add(key)

    def known(self, key: tuple[str, str | None]) -> str | None:
        """The id if it is one."""
        return None if key in self._ambiguous else key[1]
