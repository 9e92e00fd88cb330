"""The calls that scripts and users of ag2tracer make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attribution.model import Model, run, words
from mastwatch import attribution
from mastwatch.store.attribution import METHODS

HISTORY = [
    {"name": name, "role": "assistant", "content": f"I say {words(n)} today."}
    for n, name in enumerate(["Planner", "Pilot", "Clerk", "Planner", "Pilot"])
]


@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_a_function(method: str) -> None:
    found = getattr(attribution, method)(run(), model=Model(3))
    assert (found.method, found.step_number, found.agent_name) == (method, 3, "Planner")


@pytest.mark.parametrize("key", ["history", "conversation"])
def test_a_trace_file_of_ag2tracer_is_read(key: str, tmp_path: Path) -> None:
    content = {key: HISTORY, "question": "Bring the ship home.", "ground_truth": "port 7"}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(content))
    for given in (path, str(path), content):
        model = Model(3)
        found = attribution.all_at_once(given, model=model, ground_truth=True)
        assert (found.step_number, found.agent_name, found.reason) == (3, "Planner", "wrong port")
        assert "port 7" in model.asked[0].user


def test_a_function_will_do_as_a_model() -> None:
    def model(messages: Any, schema: Any) -> str:
        return json.dumps({"step": 1, "agent": "", "reason": "r", "confidence": 1})

    found = attribution.all_at_once(HISTORY, model=model)
    assert (found.step, found.agent) == (1, "Pilot")


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="colour is no setting"):
        attribution.all_at_once(run(), model=Model(), colour="red")
    with pytest.raises(ValueError, match="ground_truth"):
        attribution.all_at_once(run(), model=Model(), ground_truth="perhaps")


@pytest.mark.parametrize("given", [{}, [], {"history": []}, "/nowhere/at/all.json"])
def test_what_is_no_run_is_said(given: Any) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        attribution.all_at_once(given, model=Model())


async def test_in_a_running_loop_the_error_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"await Attributor\.attribute"):
        attribution.all_at_once(run(), model=Model())
