"""Replies no model should give, through the real SDK: each method ends with a step or says why."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("openai")

from attribution.model import Model, check, proposal, run
from mastwatch.attribution import AttributionSettings, Attributor
from mastwatch.judge import pace
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.clients import OpenAIClient
from mastwatch.judge.settings import JudgeSettings, TraceLimits
from mastwatch.store import Attribution, Limits
from mastwatch.store.attribution import METHODS
from mastwatch.store.sqlite import SqliteStore
from mastwatch.testing import ScriptedModelServer
from mastwatch.testing import model_server as server

SETTINGS = JudgeSettings(model="m", timeout=5.0, retries=1)
STEPS = {row.index for row in run().rows}
CALLS = {"propose_verify": 2, "all_at_once": 1, "step_by_step": 4, "binary_search": 3}
"""Of eight rows, when row 3 is blamed."""
KINDS = {
    "candidates": "proposals",
    "is_error": "check",
    "half": "half",
    "error": "step",
    "step": "choice",
}
"""Kind of question by a key of its answer; whichever way the schema is sent."""


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_FIRST_WAIT", 0.01)


def right(request: dict[str, Any]) -> dict[str, Any]:
    """What a model answers that knows the decisive step."""
    asked = json.dumps(request)
    kind = next(kind for key, kind in KINDS.items() if re.search(rf'\\*"{key}\\*": *{{', asked))
    system, user = (message["content"] for message in request["messages"][:2])
    answered: dict[str, Any] = getattr(Model(), f"_{kind}")(
        SimpleNamespace(schema_name=kind, system=system, user=user)
    )
    return answered


def first(*answers: Any) -> Any:
    """Some answers, then right ones."""
    left = list(answers)
    return lambda request: left.pop(0) if left else right(request)


async def attribute(
    script: Any,
    method: Any,
    settings: JudgeSettings = SETTINGS,
    limits: Limits | None = None,
) -> tuple[Attribution, list[dict[str, Any]]]:
    with ScriptedModelServer(script) as scripted:
        access = ModelAccess(OpenAIClient("m", scripted.url), settings, limits=limits)
        try:
            asked = Attributor(access, AttributionSettings(method=method))
            found = await asked.attribute(run())
        finally:
            await access.close()
        return checked(found), scripted.requests


def checked(found: Attribution) -> Attribution:
    """What must hold of every attribution, whatever the model did."""
    speakers = {row.index: row.agent for row in run().rows}
    if found.step is None:
        assert found.result in ("none", "not_evaluated")
        assert found.reason
    else:
        assert found.agent == speakers[found.step]
    for candidate in found.candidates:
        assert candidate.agent == speakers[candidate.step]
        for item in candidate.evidence:
            assert item.quote in (run().rows[item.message_index].text or "")
    return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("faults", "more"),
    [
        ([], 0),
        ([server.unsupported("response_format")], 1),
        ([server.unsupported("response_format")] * 2, 2),
        ([server.rate_limited("0.01")], 1),
        ([server.Failed(status=503)], 1),
        ([server.DISCONNECT], 1),
        ([server.Said(content=None)], 1),
        ([server.Said(body={"choices": []})], 1),
        ([server.Said(content="{}", tool="surprise")], 1),
        ([server.Said(content='{"cand', finish_reason="length")], 1),
    ],
    ids=[
        "none", "no schema", "neither schema nor JSON", "busy once", "down once", "hangs up once",
        "nothing", "no choices", "another tool", "cut off once",
    ],
)  # fmt: skip
async def test_one_fault_costs_a_call_and_no_verdict(
    method: Any, faults: list[Any], more: int
) -> None:
    found, requests = await attribute(first(*faults), method)
    assert (found.result, found.step, found.agent) == ("attributed", 3, "Planner")
    assert len(requests) == CALLS[method] + more


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (server.Said(refusal="I will not."), "refusal"),
        (server.Said(content=None), "empty"),
        (server.Said(body={"choices": []}), "empty"),
        (server.Said(content='{"step": 3', finish_reason="length"), "truncated"),
        (server.Said(content='{"step": 3} {"step": 4}'), "unparsable"),
        (server.Said(content="Ignored the port: yes\nLost before: no"), "unparsable"),
        (server.Said(content="x" * 1_100_000), "truncated"),
        (server.Failed(status=401), "auth"),
        (server.Failed(status=500), "provider_error"),
        (server.rate_limited("0.01"), "rate_limited"),
        (server.STALL, "timeout"),
        (server.overflow(), "context_overflow"),
        (server.overflow(status=413), "context_overflow"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_fault_that_stays_is_no_verdict(said: Any, reason: str, method: Any) -> None:
    settings = replace(SETTINGS, timeout=0.1) if said is server.STALL else SETTINGS
    found, requests = await attribute(lambda _: said, method, settings)
    assert (found.result, found.step, found.reason) == ("not_evaluated", None, reason)
    if reason == "auth":
        assert len(requests) == 1


@pytest.mark.parametrize("method", METHODS)
async def test_usage_that_is_missing_is_estimated(method: Any) -> None:
    found, _ = await attribute(lambda r: server.Said(content=right(r), usage=None), method)
    assert found.step == 3
    assert found.usage.estimated
    assert found.usage.input_tokens > 0


@pytest.mark.parametrize("step", [99, -1, "ghost", 3.5, True, [3]])
@pytest.mark.parametrize("method", ["propose_verify", "all_at_once"])
async def test_a_step_that_does_not_exist_is_none(method: Any, step: Any) -> None:
    choice = {"step": step, "agent": "Pilot", "reason": "", "confidence": 1}
    said = {"proposals": {"candidates": [proposal(step)]}, "choice": choice}
    found, _ = await attribute(lambda r: said[kind_of(r)], method)
    assert found.step is None
    assert found.reason in ("no_such_step", "schema", "unparsable")


@pytest.mark.parametrize("step", ["3", 3.0, "#3"])
@pytest.mark.parametrize("method", ["propose_verify", "all_at_once"])
async def test_a_number_in_another_coat_is_a_step(method: Any, step: Any) -> None:
    choice = {"step": step, "agent": "Pilot", "reason": "", "confidence": 1}
    said = {
        "proposals": {"candidates": [proposal(step)]},
        "choice": choice,
        "check": check("yes"),
    }
    found, _ = await attribute(lambda r: said[kind_of(r)], method)
    assert found.step == 3
    assert found.named_agent in ("", "Pilot")


def kind_of(request: dict[str, Any]) -> str:
    return str(request["response_format"]["json_schema"]["name"])


async def test_an_invented_quote_leaves_the_step_unverified() -> None:
    lie = {"msg": 3, "quote": "the ship sank with all hands aboard"}
    said = {
        "proposals": {"candidates": [proposal(3, evidence=lie)]},
        "check": check("yes", 3, evidence=lie),
    }
    found, _ = await attribute(lambda r: said[kind_of(r)], "propose_verify")
    assert (found.result, found.step, found.evidence) == ("unverified", 3, ())


async def test_a_budget_used_up_in_mid_run_keeps_what_was_proposed() -> None:
    settings = replace(SETTINGS, per_trace=TraceLimits(calls=1))
    found, requests = await attribute(right, "propose_verify", settings)
    assert (found.result, found.step, len(requests)) == ("unverified", 3, 1)
    for method, calls in (("step_by_step", 2), ("binary_search", 2)):
        settings = replace(SETTINGS, per_trace=TraceLimits(calls=calls))
        found, requests = await attribute(right, method, settings)
        assert (found.reason, len(requests)) == ("budget", calls)


@pytest.mark.parametrize("method", METHODS)
async def test_an_unknown_price_under_a_limit_in_money_asks_nothing(method: Any) -> None:
    found, requests = await attribute(right, method, limits=Limits(usd=1.0))
    assert (found.result, requests) == ("not_evaluated", [])
    assert found.reason.startswith(("budget", "price"))


@pytest.mark.parametrize("method", METHODS)
async def test_answers_that_are_kept_are_not_asked_for_again(method: Any, tmp_path: Any) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    with ScriptedModelServer(right) as scripted:
        access = ModelAccess(OpenAIClient("m", scripted.url), SETTINGS, store)
        asked = Attributor(access, AttributionSettings(method=method))
        found = [checked(await asked.attribute(run())) for _ in range(2)]
        await access.close()
    store.close()
    assert [(each.step, each.agent) for each in found] == [(3, "Planner")] * 2
    assert len(scripted.requests) == CALLS[method]
    assert [each.usage.calls for each in found] == [CALLS[method], 0]
