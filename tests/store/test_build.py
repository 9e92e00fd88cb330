"""From events to a trace."""

from __future__ import annotations

from mastwatch.events import (
    MessageSent,
    ModelCalled,
    RequestMessage,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolRequest,
    ToolReturned,
)
from mastwatch.findings import Notice
from mastwatch.store import build as module
from mastwatch.store.build import TraceBuilder, build


def said(index: int, text: str, **more) -> MessageSent:
    return MessageSent(run_id="r", index=index, sender="A", text=text, **more)


def asked(index: int, *texts: str) -> ModelCalled:
    request = tuple(RequestMessage(role="user", content=text) for text in texts)
    return ModelCalled(run_id="r", index=index, agent="A", request=request)


def test_a_run_is_told_whole() -> None:
    trace = build(
        "r",
        [
            RunStarted(run_id="r", at=1.0, name="n", framework="f", task="t", prompts={"A": "p"}),
            said(0, "hello", at=2.0),
            RunFinished(run_id="r", at=3.0, outcome="completed", reason="done"),
        ],
        {"label": 1},
    )
    assert (trace.name, trace.framework, trace.task, trace.prompts) == ("n", "f", "t", {"A": "p"})
    assert (trace.started, trace.ended, trace.outcome, trace.reason) == (1, 3, "completed", "done")
    assert [row.text for row in trace.rows] == ["hello"]
    assert trace.extra == {"label": 1}


def test_a_model_input_is_kept_once_and_rows_prompts_and_task_are_none() -> None:
    events = [RunStarted(run_id="r", task="the task", prompts={"A": "the prompt"})]
    for index in range(3):
        events.append(asked(index - 1, " the prompt ", "the task", "a hint", "said 0", "late"))
        events.append(said(index, f"said {index}"))
    events.append(said(3, "late"))  # a row that a request had before its event came by
    trace = build("r", events)
    assert [(item.text, item.times, item.before) for item in trace.inputs] == [("a hint", 3, 0)]


def test_a_system_message_is_the_prompt_of_an_agent_that_has_none() -> None:
    system = RequestMessage(role="system", content="You plan.")
    event = ModelCalled(run_id="r", index=-1, agent="A", request=(system,))
    trace = build("r", [event, event])
    assert trace.prompts == {"A": "You plan."}
    assert trace.inputs == ()


def test_a_call_stands_in_its_message_else_in_its_result() -> None:
    call = ToolRequest(name="search", arguments={"q": 1}, call_id="1")
    trace = build(
        "r",
        [
            said(0, "", tool_calls=(call,)),
            ToolCalled(run_id="r", index=0, agent="A", name="search", arguments={"q": 1},
                       call_id="1"),
            ToolReturned(run_id="r", index=1, agent="A", name="search", call_id="1", result="x"),
            ToolCalled(run_id="r", index=1, agent="A", name="fetch", arguments="u", call_id="2"),
            ToolReturned(run_id="r", index=2, agent="A", name="fetch", call_id="2", result="y"),
        ],
    )  # fmt: skip
    assert [row.tool_calls for row in trace.rows] == [
        (call,),
        (),
        (ToolRequest(name="fetch", arguments="u", call_id="2"),),
    ]
    assert trace.tools == {"A": ("search", "fetch")}


def test_rows_are_in_order_whatever_order_they_came_in() -> None:
    assert [row.index for row in build("r", [said(1, "b"), said(0, "a")]).rows] == [0, 1]


def test_a_branch_ends_without_the_run() -> None:
    trace = build("r", [RunFinished(run_id="r", branch="1", outcome="error")])
    assert trace.outcome == "unknown"


def test_a_resumed_run_keeps_its_start_and_is_open_again() -> None:
    builder = TraceBuilder("r")
    builder.add(RunStarted(run_id="r", at=1.0, name="n", framework="f"))
    builder.add(RunFinished(run_id="r", at=2.0, outcome="paused", reason="asks"))
    builder.add(RunStarted(run_id="r", at=3.0, name="n", framework="f", resumed=True))
    trace = builder.trace()
    assert (trace.started, trace.ended, trace.outcome, trace.reason) == (1.0, None, "unknown", "")


def test_what_is_beyond_the_bounds_is_counted(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARS", 100)
    monkeypatch.setattr(module, "MAX_ROWS", 3)
    call = ToolRequest(name="write", arguments={"text": ["x" * 90]})
    trace = build("r", [said(0, "a" * 20), said(1, "", tool_calls=(call,)), said(2, "b" * 70),
                        said(3, "c"), said(4, "d")])  # fmt: skip
    assert [row.index for row in trace.rows] == [0, 2, 3]
    assert trace.left_out == 2


def test_names_prompts_and_verdicts_are_bounded() -> None:
    builder = TraceBuilder("r")
    for number in range(1_200):
        name = f"n{number}"
        builder.add(ToolCalled(run_id="r", index=0, agent=name, name=name))
        builder.add(RunStarted(run_id="r", branch="1", prompts={name: "p"}))
        builder.note(Notice(name=name, run_id="r", message_index=0, explanation="x"))
    trace = builder.trace()
    assert (len(trace.tools), len(trace.prompts), len(trace.notices)) == (1_000, 1_000, 1_000)


def test_size_grows_with_the_text() -> None:
    builder = TraceBuilder("r")
    builder.add(said(0, "x" * 5_000))
    assert 5_000 < builder.size < 7_000


def test_models_are_named_once_in_the_order_of_their_calls() -> None:
    names = ["small", "large", "small", ""]
    events = [ModelCalled(run_id="r", index=-1, model=name) for name in names]
    assert build("r", events).models == ("small", "large")
