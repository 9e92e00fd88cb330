"""What text may leave the process, and in which size and shape.

Off by default: with capture off nothing here returns text. Redaction runs before truncation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mastwatch.events import ToolRequest
from mastwatch.guard import guard

MAX_ATTRIBUTE_CHARS = 8_192
"""Longest text put into one attribute, in characters."""
REDACTION_FAILED = "[redaction failed]"

_SECRETS = re.compile(
    r"(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe style keys
    r"|gh[pousr]_[A-Za-z0-9]{20,}"  # GitHub tokens
    r"|AKIA[0-9A-Z]{16}"  # AWS access key ids
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"  # JSON web tokens
    r"|(?i:bearer\s+)[A-Za-z0-9._~+/=-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"
)


def redact_secrets(text: str) -> str:
    """Replace what looks like a key or token.

    >>> redact_secrets("use sk-abcdefghijklmnop1234 here")
    'use [redacted] here'
    """
    return _SECRETS.sub("[redacted]", text)


@dataclass(frozen=True, slots=True)
class ContentPolicy:
    """Decides what text goes onto exported spans.

    Attributes:
        capture: Export message text, tool arguments and results on spans.
        redact: The user's own redaction, applied after the built-in secret patterns.
    """

    capture: bool = False
    redact: Callable[[str], str] | None = None

    def clean(self, text: str) -> tuple[str, bool]:
        """Redacted and cut text, and whether it was cut."""
        text = self.redacted(text)
        return text[:MAX_ATTRIBUTE_CHARS], len(text) > MAX_ATTRIBUTE_CHARS

    def redacted(self, text: str) -> str:
        """A text without secrets, by the built-in patterns and then by the user's function."""
        text = redact_secrets(text)
        if self.redact is None:
            return text
        # Where the host's function fails, the text stays in and everything else goes on.
        with guard("redact"):
            return self.redact(text)
        return REDACTION_FAILED

    def output_message(
        self, sender: str, role: str, text: str | None, tool_calls: Sequence[ToolRequest]
    ) -> tuple[str, bool]:
        """The one new message as ``gen_ai.output.messages`` JSON, and whether it was cut."""
        parts: list[dict[str, Any]] = []
        cut = False
        if text:
            clean, cut = self.clean(text)
            parts.append({"type": "text", "content": clean})
        for call in tool_calls:
            arguments, cut_arguments = self.clean(to_json(call.arguments))
            cut = cut or cut_arguments
            parts.append(
                {
                    "type": "tool_call",
                    "id": call.call_id,
                    "name": call.name,
                    "arguments": arguments,
                }
            )
        message = {"role": role, "name": sender, "parts": parts}
        return json.dumps([message], ensure_ascii=False), cut


def to_json(value: object) -> str:
    """Any value as text: strings as they are, the rest as JSON, the odd object by ``str``."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
