"""OpenManus, MA-ToT, peer review, tau-bench and Who&When."""

from __future__ import annotations

import json

from formats.samples import runs
from mastwatch.events import MessageSent, RunFinished, RunStarted, ToolCalled, ToolReturned
from mastwatch.formats import openmanus


def of(run, kind):
    return [event for event in run.events if isinstance(event, kind)]


def test_openmanus_turns_tools_and_ending():
    run, stopped = runs("openmanus.log")
    assert [m.sender for m in of(run, MessageSent)] == [
        "PlanningFlow", "flow", "Manus", "flow", "Manus", "PlanningFlow",
    ]  # fmt: skip
    (call,), (result,) = of(run, ToolCalled), of(run, ToolReturned)
    assert (call.agent, call.name, call.arguments) == (
        "Manus", "web_search", {"query": "old tower height"},
    )  # fmt: skip
    assert (result.index, result.error) == (3, "ToolError")
    assert "telemetry" not in (result.result or "")
    assert of(run, MessageSent)[-1].text == "Plan completed:\n\nThe tower is 40 metres high."
    assert of(run, RunStarted)[0].task == "Find the height of the old tower."
    assert of(run, RunFinished)[0].outcome == "completed"
    assert of(stopped, RunFinished)[0].outcome == "cancelled"
    assert of(stopped, RunStarted)[0].task is None


def plan(*steps):
    at = "2025-04-01 09:00:00.000 | INFO     | app."
    begun = "flow.planning:create:10 - Plan creation result: Two steps."
    lines = [begun] if len(steps) > 1 else []
    for step in steps:
        tools = ["web_search", "terminate"]
        lines += [
            "agent.base:run:9 - Executing step 1/20",
            "agent.toolcall:think:81 - ✨ Manus's thoughts: Done.",
            f"agent.toolcall:think:86 - 🧰 Tools being prepared: {tools}",
            "agent.toolcall:think:90 - 🔧 Tool arguments: {}",
            *(
                f"agent.toolcall:act:9 - 🎯 Tool '{t}' completed its mission! Result: x"
                for t in tools
            ),
            f"flow.planning:mark:9 - Marked step {step} as completed in plan p",
        ]
    return "".join(f"{at}{line}\n" for line in lines).encode()


def test_openmanus_terminate_in_a_plan_ends_the_step_and_not_the_run(read):
    (run,) = read(plan(0, 1), name="manus.log").runs
    assert [call.name for call in of(run, ToolCalled)] == ["web_search"] * 2
    assert [e.index for e in of(run, ToolReturned)] == [3, 8]
    assert [e.index for e in of(run, MessageSent) if e.sender == "Manus"] == [2, 7]
    flow = [e.index for e in of(run, MessageSent) if e.sender == "flow"]
    assert flow == [1, 4, 5, 6, 9, 10]


def test_openmanus_terminate_without_a_plan_is_a_tool(read):
    (run,) = read(plan(0), name="manus.log").runs
    assert [call.name for call in of(run, ToolCalled)] == ["web_search", "terminate"]


def test_openmanus_tools_that_cannot_be_read(read):
    line = "2025-04-01 09:00:0{}.000 | INFO     | app.agent.toolcall:think:81 - {}\n"
    log = line.format(1, "✨ Manus's thoughts: Go.") + line.format(
        2, "🧰 Tools being prepared: [,]"
    )
    found = read(log.encode(), name="manus.log")
    assert found.problems == ["manus.log:2: the tools named here cannot be read; left out"]
    assert found.runs[0].messages == 1


def test_openmanus_lines_before_the_first_entry_are_told(read):
    place = "2025-04-01 09:00:00.000 | INFO     | app.agent.toolcall:think:81"
    entry = place + " - Manus's thoughts: Go.\n"
    found = read(("the end of something\nINFO     [root] x\n" + entry).encode(), name="manus.log")
    assert found.problems == ["manus.log:1: line 1 belongs to no message; left out"]
    assert found.runs[0].messages == 1


def test_openmanus_runs_have_an_end(read, monkeypatch):
    monkeypatch.setattr(openmanus, "MAX_MESSAGES", 3)
    place = "2025-04-01 09:00:00.000 | INFO     | app.agent.toolcall:think:81"
    line = place + " - ✨ Manus's thoughts: {}\n"
    found = read("".join(line.format(n) for n in range(9)).encode(), name="manus.log")
    assert found.runs[0].messages == 3
    assert found.problems == ["manus.log:4: more than 3 messages; the rest of the run is left out"]


def test_ma_tot_reasoners_and_verifier():
    (run,) = runs("ma-tot.json")
    senders = [m.sender for m in of(run, MessageSent)]
    assert senders == ["Reasoner 1", "Reasoner 2", "Verifier", "Verifier"]
    assert "multiplied" in (of(run, MessageSent)[-1].text or "")
    assert (run.id, run.extra["ground_truth"]) == ("tot-1", "12")
    assert run.extra["labels"]["fm"] == {"1.3": 0}


def test_peer_review_goes_round_by_round():
    (run,) = runs("peer-review.json")
    messages = of(run, MessageSent)
    assert [m.sender for m in messages[:4]] == ["user", "user", "agent_0", "agent_1"]
    assert [m.branch for m in messages[:4]] == ["agent_0", "agent_1", "agent_0", "agent_1"]
    assert [m.kind for m in messages[::2]] == ["opener", "reply", "system", "reply"]
    assert run.extra["labels"]["fm"] == {"3.3": 1}


def test_tau_bench_keeps_its_reward():
    (run,) = runs("openai.tau.json")
    assert run.extra["reward"] == 1.0
    assert [(e.name, e.result) for e in of(run, ToolReturned)] == [("renew", "renewed")]


def test_who_and_when_generated():
    (run,) = runs("who-and-when.generated.json")
    messages = of(run, MessageSent)
    assert [(m.index, m.kind) for m in messages] == [
        (0, "opener"), (1, "code"), (2, "reply"), (3, "auto_reply"), (4, "reply"),
    ]  # fmt: skip
    assert [len(m.tool_calls) for m in messages] == [1, 0, 0, 0, 0]
    started = of(run, RunStarted)[0]
    assert (started.task, started.prompts) == (
        "How many green lamps are in lamps.csv?", {"Data_Expert": "You know data."},
    )  # fmt: skip
    assert run.extra["labels"] == {
        "mistake_agent": "Data_Expert",
        "mistake_step": 0,
        "mistake_reason": "It counts all lamps.",
    }
    assert (run.extra["ground_truth"], run.extra["success"]) == ("5", False)


def test_who_and_when_hand_crafted_keeps_every_index():
    (run,) = runs("who-and-when.crafted.json")
    assert [(t.index, t.agent) for t in run.thoughts] == [(1, "Orchestrator"), (3, "Orchestrator")]
    assert [(m.index, m.sender, m.recipients, m.kind) for m in of(run, MessageSent)] == [
        (0, "user", (), "opener"),
        (2, "Orchestrator", ("WebSurfer",), "reply"),
        (4, "WebSurfer", (), "reply"),
        (5, "Orchestrator", (), "system"),
    ]


def test_a_conversation_without_labels():
    (run,) = runs("who-and-when.conversation.json")
    assert ("labels" in run.extra, "success" in run.extra, run.messages) == (False, False, 2)


def test_a_broken_entry_leaves_the_others_their_place(read):
    entries = [{"name": "a", "content": "x"}, 5, {"name": "b"}, {"name": "c", "content": ["y"]}]
    found = read(json.dumps({"history": entries}).encode(), name="w.json")
    messages = of(found.runs[0], MessageSent)
    assert [(m.index, m.sender, m.text) for m in messages] == [
        (0, "a", "x"), (2, "b", None), (3, "c", "y"),
    ]  # fmt: skip
    assert found.problems == ["w.json:1: message 1: is a number, not an object; skipped"]
