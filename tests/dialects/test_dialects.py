"""What each dialect reads of spans that the real libraries made (see record/)."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import asdict

import pytest

from dialects.fixtures import DATA, dialect_of, recorded, steps
from mastwatch.spans.dialects import NAMES, by_scope, dialects
from mastwatch.spans.foreign.span import ForeignSpan, SpanEvent
from mastwatch.spans.foreign.step import Answer, Op, Step

TASK = "Where is my order A-17, please?"
ASKED = "Clerk, please look up order A-17."
FOUND = "Order A-17 left the warehouse on Monday."
ANSWER = "Your order left the warehouse on Monday."
DONE = "The customer has been told. TERMINATE"

LOOKUP = ("lookup_order", {"number": "A-17"}, FOUND)
STOCK = ("check_stock", {"item": "mug"}, None)
RECORDINGS = sorted(path.stem for path in DATA.glob("*.jsonl"))
OFF = [name for name in RECORDINGS if name.endswith(".off")]


def tools(name: str) -> list[tuple[object, ...]]:
    """Tool, arguments, result, call id, error, agent."""
    return [
        (s.name, s.arguments, s.result, s.call_id, s.error, s.agent) for s in steps(name, "tool")
    ]


def said(name: str, op: Op) -> list[tuple[object, ...]]:
    """Agent, text and the tools that were asked for; None where nothing is told."""
    return [
        (step.agent, answer.text, [call.name for call in answer.tool_calls])
        for step in steps(name, op)
        for answer in (step.answer or Answer(),)
    ]


def delegated(
    tool: str, argument: str, clerk: str | None, planner: str | None
) -> list[tuple[object, ...]]:
    """The tool calls of a planner that has the clerk as a tool."""
    return [
        (*LOOKUP, "call_2", None, clerk),
        (*STOCK, "call_3", "ValueError", clerk),
        (tool, {argument: ASKED}, FOUND, "call_1", None, planner),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ag2", delegated("task_clerk", "objective", None, None)),
        ("pydantic_ai", delegated("ask_clerk", "request", "clerk", "planner")),
        ("pydantic_ai.v2", delegated("ask_clerk", "request", "clerk", "planner")),
        ("logfire", delegated("ask_clerk", "request", "clerk", "planner")),
        ("strands.latest", delegated("ask_clerk", "request", None, None)),
        (
            "strands",
            [
                (*LOOKUP, "call_2", None, None),
                ("check_stock", {"item": "mug"}, "Error: The stock list is closed.", "call_3",
                 "ValueError", None),
                ("ask_clerk", {"request": ASKED}, FOUND, "call_1", None, None),
            ],
        ),
        (
            "google_adk",
            [
                (*LOOKUP, "call_2", None, "clerk"),
                ("check_stock", {"item": "mug"}, '{"error": "The stock list is closed."}', "call_3",
                 "TOOL_ERROR", "clerk"),
                ("clerk", {"request": ASKED}, FOUND, "call_1", None, "planner"),
            ],
        ),
        (
            "langsmith",  # a run is written when its parent is
            [
                ("ask_clerk", {"request": ASKED}, FOUND, "call_1", None, "planner"),
                (*LOOKUP, "call_2", None, "clerk"),
                (*STOCK, "call_3", "ValueError", "clerk"),
            ],
        ),
        (
            "openlit",  # a failed call bears an id of LangChain's
            [
                (*LOOKUP, "call_2", None, None),
                (*STOCK, None, "ValueError", None),
                ("ask_clerk", {"request": ASKED}, FOUND, "call_1", None, None),
            ],
        ),
        (
            "ag2_classic",
            [(*LOOKUP, "call_1", None, None), (*STOCK, "call_2", "ExecutionError", None)],
        ),
        (
            "agent_framework",
            [(*LOOKUP, "call_1", None, None), (*STOCK, "call_2", "ValueError", None)],
        ),
        (
            "autogen_core",
            [
                ("lookup_order", None, None, "call_1", None, None),
                ("check_stock", None, None, "call_2", "ValueError", None),
            ],
        ),
        (
            "mcp",
            [
                ("lookup_order", None, None, None, None, None),
                ("check_stock", None, None, None, "tool_error", None),
            ],
        ),
    ],
)  # fmt: skip
def test_tool_calls(name: str, expected: list[tuple[object, ...]]) -> None:
    assert tools(name) == expected


def test_the_older_form_of_adk_tells_the_same_of_tools() -> None:
    assert tools("google_adk.legacy") == tools("google_adk")


CLERK_AND_PLANNER = [
    ("planner", "", ["ask_clerk"]),
    ("clerk", "", ["lookup_order"]),
    ("clerk", "", ["check_stock"]),
    ("planner", ANSWER, []),
]


def by_nobody(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [(None, *rest) for _, *rest in rows]


WITH_REPLY = [*CLERK_AND_PLANNER[:3], ("clerk", FOUND, []), CLERK_AND_PLANNER[3]]
DESK = [(None, "", ["lookup_order"]), (None, "", ["check_stock"]), (None, ANSWER, [])]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pydantic_ai", CLERK_AND_PLANNER),
        ("pydantic_ai.v2", CLERK_AND_PLANNER),
        ("logfire", CLERK_AND_PLANNER),
        ("langsmith", CLERK_AND_PLANNER),
        ("openlit", by_nobody(CLERK_AND_PLANNER)),
        ("strands", by_nobody(WITH_REPLY)),
        ("strands.latest", by_nobody(WITH_REPLY)),
        ("google_adk", [("planner", "", ["clerk"]), *WITH_REPLY[1:]]),
        ("ag2", [(None, "", ["task_clerk"]), *by_nobody(WITH_REPLY[1:])]),
        ("agent_framework", [(None, ASKED, []), *DESK]),
        ("ag2_classic", [("clerk", *rest) for _, *rest in DESK]),
        ("openai_v2", [DESK[0], DESK[2], (None, None, [])]),
        ("mcp", []),
        ("autogen_core", []),
    ],
)
def test_model_calls(name: str, expected: list[tuple[object, ...]]) -> None:
    assert said(name, "chat") == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pydantic_ai", [("clerk", None, []), ("planner", ANSWER, [])]),
        ("strands", [("clerk", FOUND, []), ("planner", ANSWER, [])]),
        ("langsmith", [("planner", ANSWER, []), ("clerk", None, [])]),
        ("ag2", [("clerk", None, []), ("planner", None, [])]),
        ("google_adk", [("clerk", None, []), ("planner", None, [])]),
        ("agent_framework", [("planner", ASKED, []), ("clerk", ANSWER, [])]),
        ("openlit", []),  # nodes of a graph are no agents
        (
            "ag2_classic",  # what hands on a tool's result says nothing, nor does the last turn
            [
                ("clerk", "", ["lookup_order"]),
                ("planner", "", []),
                ("clerk", "", ["check_stock"]),
                ("planner", "", []),
                ("clerk", ANSWER, []),
                ("planner", DONE, []),
                ("clerk", "", []),
            ],
        ),
        ("autogen_core", [("planner", None, []), ("clerk", None, []), ("planner", None, [])]),
    ],
)
def test_turns(name: str, expected: list[tuple[object, ...]]) -> None:
    assert said(name, "agent") == expected


def test_autogens_turns_bear_their_teams_id() -> None:
    teams = {step.conversation_id for step in steps("autogen_core", "agent")}
    assert len(teams - {None}) == len(teams) == 1


def test_classic_ag2s_chat_is_opened_by_its_agent() -> None:
    (chat,) = steps("ag2_classic", "workflow")
    assert (chat.agent, chat.task, chat.conversation_id) == ("planner", ASKED, "271828")
    assert chat.answer is None


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("google_adk", ["clerk", "planner"]),
        ("google_adk.legacy", [None, None]),
        ("agent_framework", ["desk"]),
        ("openlit", ["planner"]),
    ],
)
def test_workflows(name: str, names: list[str | None]) -> None:
    assert [step.name for step in steps(name, "workflow")] == names


@pytest.mark.parametrize(
    "name", ["pydantic_ai", "google_adk", "strands", "langsmith", "openlit", "logfire"]
)
def test_conversation(name: str) -> None:
    assert steps(name)[-1].conversation_id == "order-a17"


@pytest.mark.parametrize("name", ["pydantic_ai", "strands", "langsmith"])
def test_task(name: str) -> None:
    assert {step.task for step in steps(name, "agent")} == {TASK, ASKED}


NO_TOKENS = ("mcp", "autogen_core", "genai", "genai.off", "ag2_classic.group")
NO_TOKENS += ("langsmith.off", "openinference.off")  # read from what is withheld


@pytest.mark.parametrize("name", [n for n in RECORDINGS if n not in NO_TOKENS])
def test_tokens_are_those_of_model_calls_alone(name: str) -> None:
    chats = [step for step in steps(name, "chat") if step.error is None]
    assert chats
    assert {(step.input_tokens, step.output_tokens) for step in chats} == {(20, 8)}
    others = [step for step in steps(name) if step.op != "chat"]
    assert {(step.input_tokens, step.output_tokens) for step in others} <= {(None, None)}


@pytest.mark.parametrize(
    "name", ["pydantic_ai", "google_adk", "strands", "strands.latest", "langsmith", "openai_v2"]
)
def test_request_has_instructions_and_history(name: str) -> None:
    last = steps(name, "chat")[-1].request
    assert last is not None
    assert [message.role for message in last] == ["system", "user", "assistant", "tool"]
    assert FOUND in (last[-1].content or "")


@pytest.mark.parametrize("name", OFF)
def test_what_is_withheld_is_missing_and_the_rest_is_there(name: str) -> None:
    on = name.removesuffix(".off")
    kept, whole = steps(name), steps(on)
    assert [(s.op, s.agent, s.name, s.error) for s in kept] == [
        (s.op, s.agent, s.name, s.error) for s in whole
    ]
    if on == "ag2_classic":  # has a switch for model calls only
        kept = [step for step in kept if step.op == "chat"]
    if on == "openlit":  # leaves it on the workflow
        kept = [step for step in kept if step.op != "workflow"]
    for step in kept:
        assert (step.arguments, step.result, step.task) == (None, None, None)
        assert not (step.answer and step.answer.text)  # empty where tools were called
        assert not any(message.content for message in step.request or ())


def test_every_dialect_here_is_registered_and_told_by_its_scope() -> None:
    names = {dialect.name for dialect in dialects()}
    assert len(names) == len(NAMES)
    for name in RECORDINGS:
        wanted = {"logfire": "pydantic_ai", "openai_v2": "genai"}.get(name.partition(".")[0])
        span = recorded(name)[-1]
        found = by_scope(span.scope, span.version)
        assert getattr(found, "name", "") == (wanted or name.partition(".")[0])


def test_the_two_ag2s_are_told_apart_by_the_scopes_version() -> None:
    scope = "opentelemetry.instrumentation.ag2"
    for version, name in (("0.14.1", "ag2_classic"), ("", "ag2")):
        assert getattr(by_scope(scope, version), "name", "") == name


def test_what_a_span_is_about_is_known_before_it_ends_or_told_later() -> None:
    for name in RECORDINGS:
        for span in recorded(name):
            dialect = dialect_of(span)
            assert dialect is not None
            step = dialect.read(span)
            early = dialect.opening(span.name, span.attributes)
            assert step is None or early in (None, step.op)


def test_recordings_are_small_and_tell_nothing_of_the_machine() -> None:
    for path in DATA.glob("*.jsonl"):
        text = path.read_text()
        assert len(text) < 62_000, path.name
        for trace in ("/tmp", "/home", "/root", "/usr", "site-packages", "process.pid", "host."):
            assert trace not in text, (path.name, trace)


JUNK: tuple[object, ...] = (None, "", "unknown", "{", "[]", "{}", "null", "[[[]]]", 0, -1, 2**70)
JUNK += (True, '{"messages": 3}', '{"messages": [["a"], 3]}', b"\xff", object(), "x" * 50, "[1]")
JUNK += (float("nan"), float("inf"), [], [None], [1, "a"], {}, {"a": {}}, "__REDACTED__")
JUNK += ('[{"role": null}]', '[{"role": "user", "parts": "x"}]', '{"output": {"content": []}}')
JUNK += ('[{"role": "assistant", "parts": [{"type": "tool_call"}], "content": 7}]',)


@pytest.mark.parametrize("name", RECORDINGS)
def test_odd_values_never_raise(name: str) -> None:
    chance = random.Random(name)
    spans = recorded(name)
    for _ in range(300):
        span = chance.choice(spans)
        dialect = dialect_of(span)
        assert dialect is not None
        fields = {slot: getattr(span, slot) for slot in ForeignSpan.__slots__}
        fields["attributes"] = {
            key: chance.choice(JUNK) if chance.random() < 0.4 else value
            for key, value in span.attributes.items()
        }
        fields["events"] = [
            SpanEvent(event.name, {key: chance.choice(JUNK) for key in event.attributes})
            for event in span.events
        ]
        odd = ForeignSpan(**fields)
        dialect.opening(chance.choice(("", " ", odd.name, "\n")), odd.attributes)
        check(dialect.read(odd))


def check(step: Step | None) -> None:
    """Whatever was read has the types that were promised."""
    if step is None:
        return
    for key, value in asdict(step).items():
        if key in ("agent", "name", "task", "conversation_id", "model", "call_id"):
            assert value is None or (isinstance(value, str) and value), key
        if key.endswith("tokens"):
            assert value is None or isinstance(value, int), key
