"""A run as the judge reads it: numbered rows that nothing inside a row can imitate.

Rows begin at the margin, ``[#17 planner reply -> coder]``; every line of what was said stands
behind a bar. Whatever a message holds, it cannot begin a row, close the frame or hide characters.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from mastwatch.store import ModelInput, Trace, TraceRow

ELIDED = re.compile(r"<elided \d+ chars>")
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN = re.compile(
    "\x1b\\[[0-9;?]*[ -/]*[@-~]"  # terminal sequences
    "|[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e]"
    "|[\u115f\u1160\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]"
    "|[\U000e0000-\U000e01ef]"  # tags and variation selectors: text that no reader sees
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[\[\]\s]+")
NAME_CHARS = 60
LINE_CHARS = 140


def visible(text: str) -> str:
    r"""A text without what a reader would not see: control, zero-width and terminal characters.

    Whatever ends a line somewhere ends it here: one kind of line, one bar before each.

    >>> visible("a\x1b[31mb\u200bc\x00\rd")
    'abc\nd'
    """
    return _SURROGATE.sub("\ufffd", _HIDDEN.sub("", _BREAKS.sub("\n", text)))


def row_text(row: TraceRow) -> str:
    """What a row says: its words, then the tools it calls, or why it has neither."""
    parts = [row.text] if row.text else []
    parts += [f"calls {call.name}({_arguments(call.arguments)})" for call in row.tool_calls]
    if row.error:
        parts.append(f"failed: {row.error}")
    if not parts and row.text is None:
        parts.append("(text withheld)")
    return "\n".join(parts)


def header(row: TraceRow, part: str = "") -> str:
    """The line a row begins with."""
    who = _name(row.agent) or "?"
    what = f"result of {_name(row.tool)}" if row.kind == "tool" and row.tool else row.kind
    to = ", ".join(_name(name) for name in row.recipients[:4])
    where = f" in {_name(row.branch)}" if row.branch else ""
    return f"[#{row.index} {who} {what}{f' -> {to}' if to else ''}{where}{part}]"


def boundary() -> str:
    """A frame around the run that nobody who wrote the run could know."""
    return f"run-{secrets.token_hex(8)}"


def behind_bars(text: str) -> str:
    """Put every line of a text behind a bar."""
    return "\n".join(f"| {line}" for line in visible(text).split("\n"))


def one_line(row: TraceRow) -> str:
    """A row in a line, for the skeleton of a long run."""
    words = " ".join(visible(row_text(row)).split())
    if len(words) > LINE_CHARS:
        words = f"{words[: LINE_CHARS - 40]} <elided {len(words) - LINE_CHARS} chars> {words[-40:]}"
    return f"{header(row)} {words}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A row, or a part of one that is too long for a window, as it is shown.

    Attributes:
        index: The row.
        part, parts: Which part of how many, from 1.
        text: The shown text, with its header.
    """

    index: int
    part: int
    parts: int
    text: str


def pieces(trace: Trace, max_chars: int) -> Iterator[Piece]:
    """The run row by row; rows longer than ``max_chars`` come in parts that overlap a little."""
    for row in trace.rows:
        text = visible(row_text(row))  # before it is cut: no cut falls inside a hidden sequence
        chunks = list(_chunks(text, max_chars))
        for number, chunk in enumerate(chunks, 1):
            part = f", part {number} of {len(chunks)}" if len(chunks) > 1 else ""
            shown = f"{header(row, part)}\n{behind_bars(chunk)}"
            yield Piece(row.index, number, len(chunks), shown)


_OVERLAP = 200


def _chunks(text: str, size: int) -> Iterator[str]:
    at, back = 0, min(_OVERLAP, size // 4)
    while True:
        yield text[at : at + size]
        if at + size >= len(text):
            return
        at += size - back


def about(trace: Trace, max_chars: int) -> str:
    """What is known of the run beside its rows: task, agents, prompts, tools, end.

    Args:
        trace: The run.
        max_chars: Texts are elided in their middle until all of it fits.
    """
    texts = 1 + len(trace.prompts) + len(trace.inputs)
    share = max(400, max_chars // texts)
    lines = [f"Task:\n{behind_bars(elide(trace.task or '(not recorded)', 4 * share))}"]
    lines.append(f"Agents: {', '.join(map(_name, trace.agents)) or '(none spoke)'}")
    for agent, prompt in trace.prompts.items():
        lines.append(f"System prompt of {_name(agent)}:\n{behind_bars(elide(prompt, share))}")
    for agent, tools in trace.tools.items():
        lines.append(f"Tools {_name(agent)} used: {', '.join(map(_name, tools))}")
    if trace.contract.tokens:
        lines.append(f"Ends when an agent says: {', '.join(map(_name, trace.contract.tokens))}")
    if trace.contract.max_messages:
        lines.append(f"Limit: {trace.contract.max_messages} messages")
    reason = f" ({_name(trace.reason)})" if trace.reason else ""
    error = f", error {_name(trace.error)}" if trace.error else ""
    lines.append(f"Ended: {trace.outcome}{reason}{error}")
    lines += [_sent(given, share) for given in trace.inputs]
    return _elide_lines("\n".join(lines), max(max_chars, 2_000))


def _elide_lines(text: str, size: int) -> str:
    """Elide whole lines: what follows begins with its bar, however it was cut."""
    if len(text) <= size:
        return text
    head = text[: size // 2].rpartition("\n")[0]
    tail = text[-(size // 2) :].partition("\n")[2]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n<elided {left_out} chars>\n{tail}"


def _sent(given: ModelInput, share: int) -> str:
    return (
        f"Sent to the model of {_name(given.agent)} before #{given.before} ({given.role}, in "
        f"{given.times} requests), in no row:\n{behind_bars(elide(given.text, share))}"
    )


def elide(text: str, size: int) -> str:
    """Head and tail of a text that is longer than ``size``, and how much is left out."""
    if len(text) <= size:
        return text
    half = size // 2
    return f"{text[:half]}\n<elided {len(text) - 2 * half} chars>\n{text[-half:]}"


def _name(text: str) -> str:
    return _NAME.sub(" ", visible(text)).strip()[:NAME_CHARS]


def _arguments(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
