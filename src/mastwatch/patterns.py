"""Shell-style wildcards, as rules and allowances use them."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

from mastwatch import taxonomy


class Patterns:
    """One or several names, each of which may hold ``*``, ``?`` and ``[...]``; case counts.

    Args:
        names: Any of them may match. None at all match everything.

    Raises:
        ValueError: One of them is no pattern.

    >>> agents = Patterns(("Poller*", "Clerk"))
    >>> agents.match("Poller 2"), agents.match("clerk"), Patterns().match("anyone")
    (True, False, True)
    """

    __slots__ = ("_match", "names")

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.names = names
        try:
            self._match = re.compile("|".join(map(fnmatch.translate, names))).match
        except re.error as error:  # [z-a], before Python 3.11
            raise ValueError(f"expected shell-style wildcards, not {names!r} ({error})") from None

    @classmethod
    def read(cls, raw: Any) -> Patterns:
        """Take a name or a list of names.

        Raises:
            TypeError: ``raw`` is neither.
            ValueError: ``raw`` is empty.
        """
        names = (raw,) if isinstance(raw, str) else raw
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            raise TypeError(f"expected a name or a list of names, not {raw!r}")
        if not names or not all(names):
            raise ValueError("expected a name or a list of names, not nothing")
        return cls(tuple(names))

    def match(self, value: str) -> bool:
        """Whether one of them matches the whole of ``value``, or is ``value`` as it stands."""
        return not self.names or value in self.names or self._match(value) is not None

    def modes(self) -> frozenset[str]:
        """Codes of the failure modes that are meant, by code or slug.

        Raises:
            ValueError: A name is meant for no mode.
        """
        meant: set[str] = set()
        for name in self.names:
            one = Patterns((name,))
            found = {m.code for m in taxonomy.MODES if one.match(m.code) or one.match(m.slug)}
            if not found:
                known = ", ".join(mode.code for mode in taxonomy.MODES)
                raise ValueError(f"{name!r} is no MAST failure mode; known codes: {known}")
            meant |= found
        return frozenset(meant)

    def __bool__(self) -> bool:
        return bool(self.names)

    def __str__(self) -> str:
        return ",".join(self.names)
