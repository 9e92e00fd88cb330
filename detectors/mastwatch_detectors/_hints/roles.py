"""Agents whose job is to check or to run the work of others, told by their names."""

from __future__ import annotations

import re
from typing import Literal

NAMES_KEPT = 256

_VERIFIER = re.compile(
    r"verif|valid|review|critic|inspect|(?<![a-z])(?:test|qa(?![a-z])|check)"
    r"|验证|驗證|审核|審核|审查|審查|测试|測試|检查|檢查|検証|確認|レビュー|テスト",
)
_RUNNER = re.compile(r"execut|runner|terminal|interpreter|sandbox|执行|執行|実行|终端|終端")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


Role = Literal["checker", "runner", "other"]


def role(agent: str) -> Role:
    """Tell by an agent's name whether it checks, or runs what others write.

    >>> [role(name) for name in ("Agent_Verifier", "Latest_News", "审核员", "Executor")]
    ['checker', 'other', 'checker', 'runner']
    """
    name = _CAMEL.sub("_", agent).lower()
    if _VERIFIER.search(name):
        return "checker"
    return "runner" if _RUNNER.search(name) else "other"
