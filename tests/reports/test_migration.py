"""The note for users of agentdash says what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mastwatch import taxonomy
from mastwatch.testing.model_server import ScriptedModelServer

NOTE = (Path(__file__).parents[2] / "docs" / "from-agentdash.md").read_text(encoding="utf-8")
TRACE = re.search(r"```text\n(.*?)```", NOTE, re.DOTALL)[1]
QUOTE = "Veit did not answer."


def test_the_table_of_keys_is_the_taxonomy() -> None:
    table = NOTE.split("## Numbers are not names")[1]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")][2:]
    columns = [[cell.strip().strip("`") for cell in column] for column in zip(*rows, strict=True)]
    told = [slug for column in columns for slug in column if slug]
    assert told == [m.slug for m in taxonomy.MODES if m.code not in ("FM-3.2", "FM-3.3")]


def reply(request):
    absent = {"verdict": "absent", "confidence": 0.95, "evidence": [], "why": "Nothing of it."}
    modes = {mode.slug: absent for mode in taxonomy.MODES}
    modes["premature_termination"] = {
        "verdict": "present",
        "confidence": 0.95,
        "evidence": [{"msg": 1, "quote": QUOTE}, {"msg": 2, "quote": "Then we order at Kessler."}],
        "why": "It ends before the second offer is in.",
    }
    return {"modes": modes, "task_completed": "no"}


@pytest.mark.slow
def test_the_five_lines_run(monkeypatch, tmp_path) -> None:
    pytest.importorskip("openai")
    code = re.findall(r"```python\n(.*?)```", NOTE, re.DOTALL)[1]
    assert len(code.strip().splitlines()) == 6  # with a blank one
    run = subprocess.run

    def here(command, **options):
        return run([sys.executable, "-m", *command], cwd=tmp_path, **options)

    monkeypatch.setattr(subprocess, "run", here)
    with ScriptedModelServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        names = {"trace": TRACE}
        exec(code, names)
    assert names["found"] == ["premature_termination"]
    assert names["done"] is False
    report = names["report"]
    evidence = report["verdicts"]["premature_termination"]["evidence"]
    assert evidence[0] == {"message_index": 1, "quote": QUOTE, "status": "verified"}
    assert report["coverage"] == 1.0
