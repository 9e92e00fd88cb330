"""HTML as nested calls, with the one place where text becomes HTML.

Everything a run holds may be an attack on the page. A template engine escapes as well, but it is a
dependency and its templates are out of reach of the type checker; here a plain string cannot get
into a page unescaped, because only ``Html`` is taken as it stands and only this module makes it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

_UNSEEN = re.compile(
    "\x1b\\[[0-9;?]*[ -/]*[@-~]"  # terminal sequences
    # Control characters, those that turn the direction of text, tags, and what has no shape.
    "|(?P<one>[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f])(?P=one)*"
)
"""What a reader does not see, and what may change what a reader sees elsewhere."""
_VOID = frozenset({"meta", "link", "br"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"
"""Content of an element: text is escaped, ``Html`` is not, None is nothing."""


def escape(text: str) -> Html:
    r"""Make text inert, and what is invisible in it visible.

    >>> str(escape("<b>\u202ex\x1b[31m"))
    '&lt;b&gt;‹U+202E›x'
    """
    return Html(html.escape(_UNSEEN.sub(_shown, text), quote=True))


def _shown(found: re.Match[str]) -> str:
    hidden = found[0]
    if hidden[0] == "\r" or hidden.startswith("\x1b["):
        return ""  # part of a line break, a progress bar; a colour
    times = f" ×{len(hidden)}" if len(hidden) > 1 else ""
    return f"‹U+{ord(hidden[0]):04X}{times}›"


def join(*children: Child) -> Html:
    """Put content side by side."""
    return Html("".join(_flat(children)))


def el(tag: str, *children: Child, **attributes: str | float | bool | None) -> Html:
    """An element.

    Args:
        tag: Its name.
        children: Its content.
        attributes: Their names with ``_`` for ``-``, ``class_`` for ``class``; None and False
            leave one out, True gives one without a value.

    >>> str(el("a", "1 < 2", href="#m1", aria_label='"'))
    '<a href="#m1" aria-label="&quot;">1 &lt; 2</a>'
    """
    opening = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Html(f"<{tag}{opening}>")
    return Html(f"<{tag}{opening}>{''.join(_flat(children))}</{tag}>")


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{escape(str(value))}"'


def _flat(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            yield child
        elif isinstance(child, str):
            yield escape(child)
        else:
            yield from _flat(child)
