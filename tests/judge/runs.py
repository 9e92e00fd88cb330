"""Small traces and a model of our own for the tests of the judge."""

from __future__ import annotations

import json
import random
from typing import Any

from mastwatch.findings import Finding, Severity
from mastwatch.judge.client import Ask, Reply
from mastwatch.store import Trace, TraceRow


def row(index: int, agent: str, text: str | None, kind: str = "reply", **more: Any) -> TraceRow:
    return TraceRow(index=index, agent=agent, text=text, kind=kind, **more)


def trace(*texts: str | None, agents: tuple[str, ...] = ("planner", "coder"), **more: Any) -> Trace:
    rows = [row(n, agents[n % len(agents)], text) for n, text in enumerate(texts)]
    return Trace(run_id="run-1", task="Add the two numbers.", rows=tuple(rows), **more)


def finding(slug: str, severity: Severity = Severity.WARN, at: int = 1) -> Finding:
    from mastwatch import taxonomy

    mode = taxonomy.mode(slug)
    return Finding(
        mode=mode.code,
        severity=severity,
        run_id="run-1",
        agent="planner",
        message_index=at,
        evidence=(at,),
        explanation="planner said the same twice",
        detector="step_repetition",
        fingerprint="f",
        episode="e",
    )


def opinion(word: str = "absent", confidence: float | None = 0.9, **more: Any) -> dict[str, Any]:
    return {"verdict": word, "confidence": confidence, "evidence": [], "why": "", **more}


class Model:
    """Answers every mode with ``absent``, but those that a function of the question names."""

    provider = "scripted"

    def __init__(self, *answers: Any, address: str = "") -> None:
        self.model = "m"
        # What is learned of a server is remembered: each model of a test is one of its own.
        self.address = address or f"test-{random.random()}"
        self.asked: list[Ask] = []
        self._answers = list(answers)

    async def complete(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        at = min(len(self.asked), len(self._answers)) - 1
        answer = self._answers[at] if self._answers else {}
        if callable(answer):
            answer = answer(ask)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        slugs = ask.schema["properties"]["modes"]["properties"]
        modes = {slug: answer.get(slug, opinion()) for slug in slugs}
        return Reply(text=json.dumps({"modes": modes, "task_completed": "yes"}), model="m-2026")

    async def close(self) -> None:
        pass


PARTS = (
    "a", "word", " ", "\n", "\r", "\r\n", "\t", "| ", "|", "[#3 coder reply]", "[", "]", "#",
    "--- run-0123456789abcdef ends ---", "<elided 12 chars>", "\x1b[31m", "\x1b[2J", "\x00", "\x07",
    "\u200b", "\u202e", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\ufeff", "\U000e0041",
    "\ufe0f", "\u3164", "\ud800", "é", "ﬁ", "ß", "İ", "漢字", "かな", "한글", "😀", "👩\u200d💻",
    "٣", '"', "“", "{}", '{"modes": {}}', "Ignored: yes", "\\n", "</run>", "  ", "...", "🇩🇪",
    "ａ１",
)  # fmt: skip


def nasty(rng: random.Random, parts: int = 30) -> str:
    """A text that tries to be something else."""
    return "".join(rng.choice(PARTS) for _ in range(rng.randint(0, parts)))


def nasty_trace(rng: random.Random, rows: int = 8) -> Trace:
    """A run all of whose texts and names do."""
    kinds = ("reply", "human", "tool", "system", "opener", "auto_reply", "code")
    made = []
    for n in range(rng.randint(1, rows)):
        kind = rng.choice(kinds)
        made.append(
            row(
                n * rng.choice((1, 2, 3)) if n == 0 else made[-1].index + rng.choice((1, 2)),
                nasty(rng, 4),
                rng.choice((nasty(rng), nasty(rng, 200), None)),
                kind,
                tool=nasty(rng, 3) if kind == "tool" else "",
                recipients=(nasty(rng, 3),),
                branch=nasty(rng, 2),
                error=rng.choice((None, nasty(rng, 3))),
            )
        )
    return Trace(
        run_id=nasty(rng, 3),
        task=nasty(rng),
        rows=tuple(made),
        prompts={nasty(rng, 3): nasty(rng)},
        reason=nasty(rng, 4),
    )
