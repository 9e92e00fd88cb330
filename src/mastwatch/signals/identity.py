"""When two calls are the same call, two results the same result, and what kind a failure is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from mastwatch.signals import text, vocabulary
from mastwatch.signals.facts import ErrorClass
from mastwatch.signals.phrases import FAILED, INFRA

_VOLATILE_ARGUMENTS = frozenset(vocabulary.VOLATILE_ARGUMENTS.split())
_HEAD, _TAIL = 3000, 1000
_VOLATILE = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # uuid
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"  # timestamp
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b"  # Unix time, s or ms, 2017 to 2033
    r"|\b(?=[a-fA-F]*\d)[0-9a-fA-F]{16,}\b"
    r"|(?:/private)?(?:/var)?/(?:tmp|folders)/[\w./+-]+"
    r"|\b(?i:msg|message|call|req|request|run|resp|trace|span|wrapper|toolu|chatcmpl)(?i:_?id)?"
    r"""(?:[_-]|["']?\s*[:=]\s*["']?)(?=[\w-]*\d)[\w-]{6,}"""
)

_TELLTALE = re.compile(r"\d|/tmp/|/folders/")  # no volatile token is without one of these
_STATUS = re.compile(r"\b(?:429|50[0-4]|529)\b")
_NONE = re.compile(r"""\w+["']?\s*:\s*(?:null|none|false|0|""|''|\[\]|\{\})\s*(?:[,}]|$)""")
_REFUSED = re.compile(
    r'"(?:status|status_?[cC]ode|http_?[sS]tatus)"\s*:\s*"?[45]\d\d\b'
    r'|"code"\s*:\s*"?(?:429|50[0-4]|529)\b|"(?:success|ok)"\s*:\s*false'
)
_EXIT = re.compile(r"exit(?:code:| code| status)? [1-9]")
_OPENS = "\"'{[ \t\r\n"  # before the first word of a result that is JSON, or quoted
_HEAD_CHARS, _REASON_CHARS = 80, 200
# LangGraph raises these to steer; they are hand-offs and pauses, not failures.
_CONTROL_FLOW = ("ParentCommand", "GraphInterrupt", "GraphBubbleUp", "NodeInterrupt")

_MUTATING = frozenset(vocabulary.MUTATING_VERBS.split())
_READING = frozenset(vocabulary.READING_VERBS.split())
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def canonical(arguments: object) -> str:
    """Write arguments so that equal calls look equal: sorted keys, no call ids.

    >>> canonical({"b": 1, "a": 2, "call_id": "x"}) == canonical('{"a": 2, "b": 1}')
    True
    """
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return " ".join(str(arguments).split())
    try:
        return json.dumps(_stable(arguments), sort_keys=True, separators=(",", ":"), default=_shown)
    except (TypeError, ValueError, RecursionError):  # mixed key types, cycles
        return _shown(arguments)


def _shown(value: object) -> str:
    return _ADDRESS.sub("", repr(value))


def _stable(value: object) -> object:
    if isinstance(value, Mapping):
        return {
            k: _stable(v)
            for k, v in value.items()
            if not (isinstance(k, str) and k.lower() in _VOLATILE_ARGUMENTS)
        }
    if isinstance(value, (list, tuple)):
        return [_stable(v) for v in value]
    return value


def call_key(tool: str, arguments: str) -> int:
    """Identify a call by tool and canonical arguments."""
    return text.digest(f"{tool}\x1f{arguments}")


def result_digest(result: str) -> int:
    """Identify a result; ids, times and temporary paths at its ends do not count.

    >>> result_digest("msg_81fa02 at 10:31:07: low") == result_digest("msg_99bc17 at 10:32:55: low")
    True
    >>> result_digest('{"at": "Faro", "berths": 7}') == result_digest('{"berths":7,"at":"Faro"}')
    True
    """
    if len(result) <= _HEAD + _TAIL:
        return text.digest(_masked(_sorted_keys(result)))
    # The middle counts as it stands: masking all of a long result would cost milliseconds.
    ends = _masked(result[:_HEAD]), result[_HEAD:-_TAIL], _masked(result[-_TAIL:])
    return text.digest("".join(ends))


def _sorted_keys(result: str) -> str:
    """Write JSON with its keys in order; all else as it is."""
    if result.lstrip()[:1] not in ("{", "["):
        return result
    try:
        parsed = json.loads(result)
        return json.dumps(parsed, sort_keys=True, separators=(", ", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        return result


def _masked(part: str) -> str:
    if not _TELLTALE.search(part):
        return part.strip()
    # JSON with and without spaces must look alike, and an id must stay with its name.
    words = part.replace('": ', '":').split()
    return " ".join([_VOLATILE.sub("~", w) if _TELLTALE.search(w) else w for w in words])


def error_class(error: str | None, result: str | None) -> ErrorClass:
    """Tell failures of the call from weather; logs that give no error are read by their text.

    >>> error_class(None, "Error: no such file"), error_class(None, '{"error": "请求超时"}')
    ('error', 'infra')
    >>> error_class(None, '{"error": null, "depth": 4}')
    ''
    """
    if error:
        if any(name in error for name in _CONTROL_FLOW):
            return ""
        return _kind(error)
    if result and _failed(result[:_HEAD_CHARS]):
        return _kind(result[:_REASON_CHARS])
    return ""


def _failed(head: str) -> bool:
    if head.startswith("{") and _REFUSED.search(head):
        return True
    head = head.lstrip(_OPENS).casefold()
    if FAILED.opens(head):
        return not _NONE.match(head)
    return head.startswith("exit") and bool(_EXIT.match(head))


def _kind(reason: str) -> ErrorClass:
    weather = _STATUS.search(reason) or INFRA.within(reason.casefold())
    return "infra" if weather else "error"


def is_mutating(tool: str, said: bool | None) -> bool:
    """Take the source's word, else judge by the verb in the tool's name.

    >>> is_mutating("update_file", None), is_mutating("getOrder", None)
    (True, False)
    """
    if said is not None:
        return said
    parts = _CAMEL.sub("_", tool).lower().replace("-", "_").replace(".", "_").split("_")
    return parts[0] not in _READING and not _MUTATING.isdisjoint(parts)
