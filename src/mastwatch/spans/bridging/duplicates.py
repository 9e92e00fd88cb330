"""Two accounts of one happening: when they are that, and what one adds to the other."""

from __future__ import annotations

from mastwatch.spans.bridging.opened import Entry
from mastwatch.spans.foreign.step import Step


def is_same(outer: Entry, inner: Entry) -> bool:
    """Whether a step that ended inside another one, or beside it, is the same happening.

    Model calls nested in each other are one, tools if they are one tool. Beside each other it
    takes the same answer: the library above keeps no span current while it calls the one below.
    """
    one, other = outer.step, inner.step
    if one is None or other is None or one.op != other.op:
        return False
    if one.op == "tool":
        return one.name == other.name or (one.call_id is not None and one.call_id == other.call_id)
    if one.op != "chat":
        return False
    if outer.span in inner.span.above():
        return True
    return _same_answer(one, other, alone=len(inner.waits) == 1)


def _same_answer(one: Step, other: Step, alone: bool) -> bool:
    if one.answer is None or other.answer is None or None in (one.answer.text, other.answer.text):
        # Withheld. Around the only model call that was under way then, it is that one.
        tokens = (one.output_tokens, other.output_tokens)
        return alone and (None in tokens or tokens[0] == tokens[1])
    calls = [[(c.name, c.call_id) for c in s.tool_calls] for s in (one.answer, other.answer)]
    return one.answer.text == other.answer.text and calls[0] == calls[1]
