"""Small logs of our own, as bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from mastwatch.formats import Problem, RecordedRun, read_runs


class Read:
    """What came of reading some bytes."""

    def __init__(self, items: list[RecordedRun | Problem]) -> None:
        self.runs = [item for item in items if isinstance(item, RecordedRun)]
        self.problems = [str(item) for item in items if isinstance(item, Problem)]


@pytest.fixture
def read() -> Callable[..., Read]:
    def read_bytes(data: bytes, format: str = "auto", name: str = "log.jsonl") -> Read:
        return Read(list(read_runs(io.BytesIO(data), format, name=name)))

    return read_bytes


@pytest.fixture
def record() -> Callable[..., dict[str, Any]]:
    def make(id: str = "r1", texts: tuple[str, ...] = ("hello", "done"), **more: Any) -> Any:
        messages = [
            {"index": i, "agent": "abc"[i % 3], "role": "assistant", "content": text}
            for i, text in enumerate(texts)
        ]
        return {"id": id, "framework": "AG2", "task": "Do it", "messages": messages, **more}

    return make


@pytest.fixture
def jsonl() -> Callable[..., bytes]:
    def join(*values: Any) -> bytes:
        lines = [v if isinstance(v, bytes) else json.dumps(v).encode() for v in values]
        return b"\n".join(lines) + b"\n"

    return join
