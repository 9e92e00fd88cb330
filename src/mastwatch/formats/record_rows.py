"""The rows of our own record: who spoke, in which role, and what sort of utterance it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from mastwatch.events import MessageKind, Role
from mastwatch.formats import fields
from mastwatch.formats.calls import tool_calls
from mastwatch.formats.recorded import Thought
from mastwatch.formats.transcript import PERSONS, Header, Row

ROLES: dict[str, Role] = {role: role for role in get_args(Role)}
_KINDS: dict[str, MessageKind] = {
    **{kind: kind for kind in get_args(MessageKind)},
    "phase_prompt": "system",
    "termination condition": "system",
}
_THOUGHT = "thought"
_NO_TEXT = "no_text_logged"


class Rows:
    """Reads the rows of one run; knows which of them opened a conversation."""

    def __init__(self, header: Header, indices: list[int]) -> None:
        self._task = _folded(header.task or "")
        self._indices = indices
        framework = header.framework.casefold()
        # Their ``user`` rows are proxies: programs that speak for nobody.
        self._proxies = "ag2" in framework or "autogen" in framework
        # Message 0 of a CaptainAgent log is the manager's task, under an expert's name.
        self._captain = framework.startswith("captainagent")
        self._begun: set[str] = set()
        self.thoughts: list[Thought] = []

    def row(self, position: int, message: Mapping[str, object]) -> Row | None:
        """Check one message; None for a thought.

        Raises:
            Malformed: It cannot be used.
        """
        told = message.get("kind")
        told = told if isinstance(told, str) else ""
        if told == _THOUGHT:
            agent, text = fields.string(message, "agent"), fields.text(message.get("content"))
            self.thoughts.append(Thought(self._indices[position], agent, text))
            return None
        role = ROLES.get(fields.string(message, "role"))
        if role is None:
            raise fields.Malformed(f"'role' is none of {', '.join(ROLES)}")
        agent = fields.string(message, "agent")
        text = None if told == _NO_TEXT else fields.text(message.get("content"))
        branch = fields.identity(message, "branch") or fields.identity(message, "thread") or ""
        calls = tool_calls(message)
        return Row(
            index=self._indices[position],
            agent=agent,
            role=role,
            text="" if text is None and calls else text,
            kind=_KINDS.get(told) or self._kind(role, agent, text, branch),
            recipients=_recipients(message, told),
            calls=calls,
            tool=fields.identity(message, "tool_name") or "",
            call_id=fields.identity(message, "tool_call_id"),
            error=fields.identity(message, "error"),
            at=fields.moment(message.get("ts")),
            id=fields.identity(message, "id"),
            branch=branch,
        )

    def _kind(self, role: Role, agent: str, text: str | None, branch: str) -> MessageKind:
        if role in ("system", "tool"):
            return "system" if role == "system" else "reply"
        first = branch not in self._begun
        self._begun.add(branch)
        if first and self._opens(role, text):
            return "opener"
        if role == "user" and agent.casefold() in PERSONS and not self._proxies:
            return "human"
        return "reply"

    def _opens(self, role: Role, text: str | None) -> bool:
        if role == "assistant":
            return self._captain
        return bool(self._task) and self._task in _folded(text or "")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _recipients(message: Mapping[str, object], told: str) -> tuple[str, ...]:
    to = message.get("to")
    names = to if isinstance(to, list) else [to]
    if to is None and told.startswith("->"):
        names = [told[2:].strip()]
    return tuple(name for name in names if isinstance(name, str) and name)
