"""The parameters of detectors: what a constructor takes, and whether a value fits."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from mastwatch.detector import Detector

Parameters: TypeAlias = dict[str, dict[str, Any]]
"""Values by the detector's name and the parameter's."""

_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
_REFUSAL = "it is ignored"


def defaults(kind: type[Detector]) -> dict[str, Any]:
    """A detector's parameters with their defaults, in the order of its constructor.

    >>> from mastwatch_detectors.conversation_reset import ConversationReset
    >>> defaults(ConversationReset)["replans"]
    2
    """
    try:
        signature = inspect.signature(kind)
    except (TypeError, ValueError):
        return {}
    return {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is not parameter.empty
    }


def fit(value: Any, default: Any) -> Any:
    """``value`` as the parameter with this default takes it.

    Raises:
        TypeError: It is of another type.

    >>> fit(1, 0.5)
    1.0
    """
    kind = type(default)
    if kind is float and type(value) is int:
        return float(value)
    if kind is tuple and type(value) is list:
        return tuple(value)
    fits = type(value) is kind or kind not in _WORDS
    if not fits or (kind is float and not math.isfinite(value)):
        raise TypeError(f"expected {_WORDS.get(kind, kind.__name__)}, not {value!r}")
    return value


def assign(
    given: Any, kinds: Iterable[type[Detector]], where: str, problems: list[str]
) -> Parameters:
    """Give each detector those of the parameters it takes.

    Args:
        given: The parameters as written.
        kinds: The detectors they are meant for.
        where: Where they are written, for ``problems``.
        problems: What cannot be used is added here; the rest counts.
    """
    if not isinstance(given, Mapping):
        problems.append(f"{where}: expected a table of parameters, not {given!r}; {_REFUSAL}")
        return {}
    known = {kind.name: defaults(kind) for kind in kinds}
    assigned: Parameters = {}
    for name, value in given.items():
        takers = [detector for detector in known if name in known[detector]]
        if not takers:
            problems.append(f"{where}.{name}: {_unknown(name, known)}; {_REFUSAL}")
        for detector in takers:
            try:
                fitting = fit(value, known[detector][name])
            except TypeError as error:
                problems.append(f"{where}.{name}: {error}; {_REFUSAL}")
            else:
                assigned.setdefault(detector, {})[name] = fitting
    return assigned


def _unknown(name: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    if not known:
        return "there is no detector here that could take it"
    from difflib import get_close_matches

    lists = "; ".join(f"{name}: {', '.join(own) or 'none'}" for name, own in known.items())
    close = get_close_matches(str(name), [key for own in known.values() for key in own], n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"no such parameter{hint}; known are {lists}"


def refused(kind: type[Detector], values: Mapping[str, Any]) -> str:
    """Why a detector cannot be made with these values; empty when it can."""
    try:
        kind(**values)
    except Exception as error:  # a stranger's constructor may raise anything
        return f"{kind.name} refuses {dict(values)} ({type(error).__name__}: {error})"
    return ""
