"""The table in docs/dialects.md is what the recordings show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from dialects.fixtures import DATA, steps
from mastwatch.spans.foreign.step import Op, Step

DOCS = Path(__file__).parents[2] / "docs" / "dialects.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
ROWS = {
    "genai": "genai (LangChain)",
    "openai_v2": "genai (openai-v2)",
    "openinference": "openinference (LangChain)",
    "openllmetry": "openllmetry (LangChain)",
    "ag2_classic": "ag2_classic",
    "ag2": "ag2",
    "autogen_core": "autogen_core",
    "pydantic_ai": "pydantic_ai",
    "google_adk": "google_adk",
    "google_adk.legacy": "google_adk, older form",
    "agent_framework": "agent_framework",
    "strands": "strands",
    "langsmith": "langsmith (LangChain)",
    "openlit": "openlit (LangChain)",
    "mcp": "mcp",
}
Field = tuple[tuple[Op, ...], Callable[[Step], object]]
ACTS: tuple[Op, ...] = ("agent", "chat", "tool")
FIELDS: dict[str, Field] = {
    "agent": (ACTS, lambda step: step.agent),
    "conversation": ((*ACTS, "workflow"), lambda step: step.conversation_id),
    "task": (("agent", "workflow"), lambda step: step.task),
    "model": (("chat",), lambda step: step.model),
    "tokens": (("chat",), lambda step: step.input_tokens),
    "request": (("chat",), lambda step: any(m.content for m in step.request or ())),
    "answer": (("chat",), lambda step: step.answer and step.answer.text is not None),
    "turn's answer": (("agent",), lambda step: step.answer and step.answer.text),
    "tool": (("tool",), lambda step: step.name),
    "call id": (("tool",), lambda step: step.call_id),
    "arguments": (("tool",), lambda step: step.arguments),
    "result": (("tool",), lambda step: step.result),
}


def share(name: str, field: Field) -> str:
    """Whether none, some or all steps carry it; failed ones need not."""
    ops, value = field
    found = [bool(value(step)) for step in steps(name) if step.op in ops and step.error is None]
    if not any(found):
        return "–"
    return "yes" if all(found) else "some"


def cell(name: str, field: Field) -> str:
    with_text = share(name, field)
    if with_text == "–" or not (DATA / f"{name}.off.jsonl").exists():
        return with_text
    without = share(f"{name}.off", field)
    return with_text if without == with_text else f"{with_text}*"


def table() -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rows = [
        [shown, *(cell(name, each) for each in FIELDS.values())] for name, shown in ROWS.items()
    ]
    return [line(["dialect", *FIELDS]), line(["---"] * (len(FIELDS) + 1)), *map(line, rows)]


def test_table_in_the_docs() -> None:
    text = DOCS.read_text()
    written = text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip().splitlines()
    assert written == table(), "\n".join(table())
