"""The same run beside every producer, with our hooks in place and read from spans alone."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
LANGCHAIN = ("genai", "openinference", "openllmetry", "genai,openinference,openllmetry")
AUTOGEN = ("native", "openinference", "native,openinference")
WITH_TEXT = (
    *(("langchain", producers) for producers in LANGCHAIN[1:]),
    *(("autogen", producers) for producers in AUTOGEN),
)
WITHHELD = (
    ("genai", {"OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK": "of_the_host"}),
    ("openinference", {"OPENINFERENCE_HIDE_INPUTS": "true", "OPENINFERENCE_HIDE_OUTPUTS": "true"}),
)


@functools.cache
def witness(library: str) -> subprocess.Popen[str]:
    """Answers what mastwatch saw beside which producers; each answer is a process of its own."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "witness.py"), library],
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    WITNESSES.append(process)
    return process


WITNESSES: list[subprocess.Popen[str]] = []


@pytest.fixture(scope="module", autouse=True)
def dismissed() -> Iterator[None]:
    """Nobody asks the witnesses any more."""
    yield
    for process in WITNESSES:
        process.communicate(timeout=60)


@functools.cache
def seen(
    library: str, producers: str, mode: str, env: tuple[tuple[str, str], ...] = ()
) -> dict[str, Any]:
    """What mastwatch saw of each scenario."""
    process = witness(library)
    assert process.stdin is not None
    assert process.stdout is not None
    with tempfile.NamedTemporaryFile() as log:
        names = [name for name in producers.split(",") if name]
        asked = {"producers": names, "mode": mode, "env": dict(env), "log": log.name}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        printed = Path(log.name).read_text(errors="replace")
    result: dict[str, Any] | None = json.loads(answer)
    assert result is not None, printed[-2_000:]
    assert "mastwatch had an internal error" not in printed
    return result


def told_in_order(of: dict[str, Any]) -> dict[str, Any]:
    """The scenarios in which one thing comes after the other."""
    return {name: scenario for name, scenario in of.items() if name != "beside"}


def told(of: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A part of what was seen, by scenario."""
    return {n: [scenario[key] for key in keys] for n, scenario in told_in_order(of).items()}


@pytest.mark.parametrize(
    ("library", "producers"),
    [*(("langchain", name) for name in LANGCHAIN), *(("autogen", name) for name in AUTOGEN)],
)
def test_with_our_hooks_in_place_others_change_nothing(library: str, producers: str) -> None:
    alone, beside = seen(library, "", "hooks"), seen(library, producers, "hooks")
    everything = ("messages", "calls", "tools", "findings", "runs", "models")
    assert told(beside, *everything) == told(alone, *everything)
    for scenario in beside.values():
        assert set(scenario["ours"]) <= {"agent_message"}, "the spans are theirs"
    assert alone["loop"]["marked"] == beside["loop"]["marked"] == 2, "findings stand on some span"


@pytest.mark.parametrize(("library", "producers"), WITH_TEXT)
def test_spans_that_carry_the_text_say_what_our_hooks_say(library: str, producers: str) -> None:
    hooked, read = seen(library, "", "hooks"), seen(library, producers, "spans")
    said = ("messages", "tools", "findings")
    assert told(read, *said) == told(hooked, *said)
    for name, scenario in told_in_order(read).items():  # told as they end, not as they begin
        assert sorted(map(str, scenario["calls"])) == sorted(map(str, hooked[name]["calls"]))
    for scenario in read.values():
        assert scenario["ours"] == {}, "the bridge opens no spans"
        assert scenario["textless"] == 0
        assert scenario["told_runs"] == 1, "the root span bears the run's id"
    assert read["loop"]["marked"] == 2, "findings stand on an open span of theirs"


@pytest.mark.parametrize("producers", LANGCHAIN[1:])
def test_model_calls_are_counted_once(producers: str) -> None:
    hooked, read = seen("langchain", "", "hooks"), seen("langchain", producers, "spans")
    assert told(read, "models") == told(hooked, "models")


BESIDE = [("", "hooks"), *((p, mode) for p in LANGCHAIN[1:] for mode in ("hooks", "spans"))]


@pytest.mark.parametrize(("producers", "mode"), BESIDE)
def test_agents_side_by_side_are_branches_whoever_tells(producers: str, mode: str) -> None:
    scenario = seen("langchain", producers, mode)["beside"]
    talks = {message[2]: message[1] for message in scenario["messages"]}
    assert set(talks) == {"ann", "ben", "cleo"}
    assert sorted(talks.values()) == ["", "1", "2"]
    assert all(talks[message[2]] == message[1] for message in scenario["messages"])
    assert {tool[2]: tool[1] for tool in scenario["tools"]} == talks
    assert [scenario["findings"], len(scenario["messages"])] == [[], 6]


def test_the_loop_is_found_where_tool_calls_alone_are_told() -> None:
    """The official instrumentation makes no chat span: agents speak once, at their end."""
    hooked, read = seen("langchain", "", "hooks"), seen("langchain", "genai", "spans")
    for name, scenario in told_in_order(read).items():
        assert [tool[2:] for tool in scenario["tools"]] == [t[2:] for t in hooked[name]["tools"]]
        kinds = [[finding[:3] for finding in of[name]["findings"]] for of in (read, hooked)]
        assert kinds[0] == kinds[1]
    last = [message[2:4] for message in read["team"]["messages"]]
    assert last == [
        ["clerk", "Seven from Olhao."],
        ["poet", "Seven ferries glide in the morning."],
    ]


@pytest.mark.parametrize(("producers", "env"), WITHHELD)
def test_where_text_is_withheld_tools_are_counted_and_a_gauge_says_so(
    producers: str, env: dict[str, str]
) -> None:
    hooked = seen("langchain", "", "hooks")
    read = seen("langchain", producers, "spans", tuple(env.items()))
    for name, scenario in read.items():
        counted = [sorted(tool[2:4] for tool in of[name]["tools"]) for of in (read, hooked)]
        assert counted[0] == counted[1]
        assert scenario["findings"] == [], "equal for want of text is no repetition"
        assert scenario["textless"] == 1
        assert {message[3] for message in scenario["messages"]} <= {None, ""}


STACKS = [
    "openinference-langchain,openinference",
    "openinference-langchain,genai",
    "openllmetry-langchain,openllmetry",
    "genai-langchain,genai",
    "genai-langchain,openinference-langchain,openllmetry-langchain,openllmetry,genai,openinference",
]


@pytest.mark.parametrize("producers", STACKS)
@pytest.mark.parametrize("mode", ["hooks", "spans"])
def test_a_model_call_is_one_whoever_tells_of_it_above_and_below(producers: str, mode: str) -> None:
    """Nested, or in traces of their own where callbacks leave no span current."""
    both = seen("openai", producers, mode)
    first = "This is answer number 1 about ferries."
    assert [message[2:4] for message in both["below"]["messages"]] == [["clerk", first]]
    assert (both["below"]["models"], len(both["below"]["runs"])) == (1, 1)
    said = [message[3] for message in both["bare"]["messages"]]
    assert said == [first, "And how many tomorrow?", "This is answer number 2 about ferries."]
    assert (both["bare"]["models"], len(both["bare"]["runs"])) == (2, 1)
    looped = seen("openai", "", "hooks")["looped"]
    assert [tool[3:] for tool in looped["tools"]] == [["look", "not found"]] * 4
    assert len(looped["findings"]) == 1
    same = ("messages", "tools", "calls", "findings", "runs", "models")
    assert [both["looped"][key] for key in same] == [looped[key] for key in same]


def test_without_any_producer_nothing_is_read() -> None:
    assert all(not scenario["runs"] for scenario in seen("langchain", "", "spans").values())
