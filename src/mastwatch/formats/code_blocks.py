"""Code in a message that somebody runs: one tool call, as the tools that run it see it."""

from __future__ import annotations

import re

from mastwatch.events import ToolRequest

TOOL = "execute_code"
_BLOCK = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)


def execution(text: str) -> tuple[ToolRequest, ...]:
    r"""The call for the code of a message; several blocks are run in one go.

    >>> execution("Run this:\n```python\nprint(2)\n```\n")[0].arguments
    {'language': 'python', 'code': 'print(2)\n'}
    >>> execution("Nothing to run.")
    ()
    """
    blocks = _BLOCK.findall(text)
    if not blocks:
        return ()
    language = next((name for name, _ in blocks if name), "")
    code = "\n".join(code for _, code in blocks)
    return (ToolRequest(name=TOOL, arguments={"language": language, "code": code}),)


def each_block(text: str) -> tuple[ToolRequest, ...]:
    r"""A call for each block, for programs that run them one by one.

    >>> len(each_block("```python\nprint(2)\n```\nand\n```sh\nls\n```"))
    2
    """
    return tuple(
        ToolRequest(name=TOOL, arguments={"language": language, "code": code})
        for language, code in _BLOCK.findall(text)
    )
