"""What AG2's logs have in common: who is a proxy, what opens a chat, what is the output of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mastwatch.events import MessageKind, ToolRequest
from mastwatch.formats.code_blocks import each_block
from mastwatch.formats.transcript import Row

FRAMEWORK = "AG2"
_OUTPUT = re.compile(r"exit\s?code: -?\d+ \(execution (?:succeeded|failed)\)\s*\nCode output: ?")
_PROXY = re.compile(r"proxy|user|human", re.IGNORECASE)
_RUNS_MATH = "mathproxyagent"
_CANNED = re.compile(r"Continue\. Please keep solving the problem until you need to query\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a chat, or one result of a tool, as a log has it.

    Attributes:
        agent: Who said it.
        text: What.
        to: To whom, if the log says so.
        calls: Tools it asks for.
        result: It is a tool's result.
        call_id: Of that result.
        tool: Of that result.
        kind: Where the log itself tells: ``human``, ``code``, ``auto_reply``.
        at: Unix seconds.
        branch: Conversation inside the run.
    """

    agent: str
    text: str | None
    to: str = ""
    calls: tuple[ToolRequest, ...] = ()
    result: bool = False
    call_id: str | None = None
    tool: str = ""
    kind: MessageKind | None = None
    at: float | None = None
    branch: str = ""


class Conversations:
    """Chats inside each other, told apart by who takes part."""

    def __init__(self) -> None:
        self._open: list[tuple[str, set[str]]] = [("", set())]
        self._opened = 0

    @property
    def nested(self) -> bool:
        """Whether a chat inside the main one goes on."""
        return len(self._open) > 1

    def begin(self) -> None:
        """A chat begins inside the one that goes on."""
        self._opened += 1
        self._open.append((f"chat {self._opened}", set()))

    def end(self) -> None:
        """The innermost chat is over."""
        self._open.pop()

    def of(self, one: str, other: str) -> str:
        """The branch in which these two talk; the chats inside that one are over."""
        two = {one, other}
        names = self._open[-1][1]
        if names and not two <= names:
            outer = [n for n, (_, others) in enumerate(self._open[:-1]) if two <= others]
            if outer:
                del self._open[outer[-1] + 1 :]
        self._open[-1][1].update(two)
        return self._open[-1][0]


def rows(said: Sequence[Said | None]) -> Iterator[Row | None]:
    """The rows of a chat; None stands for a message that could not be read."""
    begun: set[str] = set()
    before: dict[str, Said] = {}
    for index, one in enumerate(said):
        if one is None:
            yield None
            continue
        opens = one.branch not in begun
        begun.add(one.branch)
        kind = one.kind or _kind(one, before.get(one.branch), opens=opens)
        # Code counts as run where its output follows.
        after = next((later for later in said[index + 1 : index + 2] if later), None)
        ran = after is not None and (after.kind or _kind(after, one, opens=False)) == "code"
        before[one.branch] = one
        yield Row(
            index=index,
            agent=one.agent,
            role="tool" if one.result else "user" if _is_proxy(one, kind) else "assistant",
            text=one.text,
            kind=kind,
            recipients=(one.to,) if one.to else (),
            calls=one.calls or (each_block(one.text or "") if ran else ()),
            tool=one.tool,
            call_id=one.call_id,
            at=one.at,
            branch=one.branch,
        )


def _is_proxy(one: Said, kind: MessageKind) -> bool:
    """Whether no model speaks: a proxy is a program or a person."""
    return kind in ("opener", "human") or _PROXY.search(one.agent) is not None


def _kind(one: Said, before: Said | None, *, opens: bool) -> MessageKind:
    if opens:
        return "opener"
    if one.result or before is None:
        return "reply"
    text = one.text or ""
    if not text and not one.calls and _PROXY.search(one.agent):
        return "auto_reply"
    if _OUTPUT.match(text):
        return "code"
    # This proxy returns what the code printed without saying that it ran.
    ran = one.agent == _RUNS_MATH and before.agent != one.agent and each_block(before.text or "")
    return "code" if ran and not _CANNED.match(text) else "reply"
