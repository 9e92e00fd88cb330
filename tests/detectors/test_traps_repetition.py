"""The false-alarm traps of step repetition (numbers of the trap catalogue: 1 to 23 and 38)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mastwatch.events import MessageSent, ToolCalled, ToolRequest
from mastwatch.signals.identity import error_class
from mastwatch.testing import Script, watched

MODE = "FM-1.3"


def poll(times: int, *, spacer: bool = False, declared: bool = False) -> Script:
    run = Script()
    for n in range(times):
        run.call("get_job_status", {"job": "build-7"}, f"{n} of 40 steps done", poll=declared)
        if spacer:
            run.call("sleep", {"seconds": 5}, "")
    return run


def same(results: list[str], arguments: object = None) -> Script:
    run = Script()
    for result in results:
        run.call("read_page", arguments or {"page": 4}, result)
    return run


def clock() -> Script:
    run = Script()
    for n in range(25):
        run.call("shell", {"command": "date +%S"}, f"{(n * 7) % 60:02d}")
    return run


def nonces() -> Script:
    notes = "the third chapter is about tides and currents"
    return same(
        [
            f"msg_{n}a8fzz81 at 2026-03-0{n + 1}T10:00:0{n}Z "
            f"3f2b8c1e-0000-4000-8000-00000000000{n}: {notes}"
            for n in range(3)
        ]
    )


def stubs(full: list[str]) -> Script:
    return same(
        [f"{text}\n[shortened, see /tmp/out-{n}x9/full.txt]" for n, text in enumerate(full)]
    )


def pages() -> Script:
    run = Script()
    for n in range(5):
        run.call("list_orders", {"offset": 50 * n}, f"orders {50 * n} to {50 * n + 49}")
    return run


LINES = [
    f"line {n}: the {w} of harbour {n * 7} opens at {n % 24}" for n in range(400) for w in ("gate",)
]


def windows(*, overlap: bool) -> Script:
    run = Script()
    if overlap:
        run.call("read_file", {"from": 0, "to": 200}, "\n".join(LINES[:40]))
    for n in range(5):
        start = 3 * n if overlap else 60 * n
        run.call("read_file", {"from": start}, "\n".join(LINES[start : start + 30]))
    return run


def retries(error: str) -> Script:
    run = Script()
    for _ in range(4):
        run.call("fetch", {"url": "a"}, None, error=error)
    return run.call("fetch", {"url": "a"}, "the page at last")


def edits_and_tests() -> Script:
    run = Script()
    for n in range(3):
        run.call("edit_file", {"path": "a.py", "line": n}, "ok")
        run.call("run_tests", {}, "1 failed: test_total expects 12")
    return run


def failing_write() -> Script:
    run = Script()
    for _ in range(2):
        run.call("book_room", {"room": 12}, "Error: no such guest", error="ValueError")
    return run


def batch() -> Script:
    run = Script()
    for n in range(12):
        run.call("edit_file", {"path": f"pages/{n}.md", "old": "Jan", "new": "Feb"}, "replaced 1")
    for n in range(20):
        run.call("move_file", {"from": f"in/{n}", "to": f"out/{n}"}, "moved")
    return run


def replayed_stream(*, same_ids: bool) -> list[object]:
    run = Script()
    run.call("look_up", {"term": "tide"}, "high at six")
    run.call("look_up", {"term": "wind"}, "west, four")
    if same_ids:
        return [*run.events, *run.events]
    # New ids after an aborted attempt: its calls never came back.
    aborted = [
        replace(e, id=f"aborted-{n}")
        for n, e in enumerate(run.events * 3)
        if isinstance(e, ToolCalled)
    ]
    return [*aborted, *run.events]


def key_order() -> Script:
    run = Script()
    orders = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2}]
    for n, arguments in enumerate(orders):
        run.call("search", arguments, "three ports found", call_id=f"call-{n}")
    return run


def interleaved() -> Script:
    run = Script()
    for n in range(3):
        run.call("search", {"q": "harbour fees"}, "two lists found")
        run.call("read", {"file": f"{n}.txt"}, f"file number {n} holds {n * 31} entries")
        run.call("count", {"of": n}, f"{n + 5} entries")
    return run


def circle(rounds: int, *, enter: int = 0) -> Script:
    agents = ["planner", "coder", "critic"]
    said = {
        "planner": "Please bring the tide table into the agreed form again.",
        "coder": "Here is the tide table in the agreed form, as you asked me.",
        "critic": "The form of the tide table is not yet what we had agreed on.",
    }
    run = Script()
    for n in range(enter, 3 * rounds):
        agent = agents[n % 3]
        run.say(agent, said[agent])
    return run


def circle_with_pause() -> Script:
    run = circle(15)
    run.say("planner", "One moment, there is a storm warning for the northern coast tonight.")
    again = circle(15, enter=1)
    for event in again.events:
        assert isinstance(event, MessageSent)
        run.say(event.sender, event.text)
    return run


def plumbing() -> Script:
    run = Script()
    for n in range(30):
        run.say("orchestrator", "Next speaker Surfer")
        run.say("surfer", f"Port {n} lies {n * 17} miles off and its harbour master is person {n}.")
    return run


TOWNS = ["Brest", "Cork", "Dover", "Emden", "Faro", "Genoa", "Hull", "Izmir"]


def narration() -> Script:
    run = Script()
    for town in TOWNS:
        facts = " ".join(
            f"{town.lower()}{w}" for w in ["quay", "mole", "dock", "fee", "crane", "pier", "lock"]
        )
        run.say(
            "surfer",
            "I scrolled down one page in the browser. The page shows the following: "
            f"{facts} and {town} closes on another day than all the others, {facts[::-1]}",
        )
    return run


def waiting() -> Script:
    run = Script()
    for n in range(6):
        run.call("terminal", {"command": ""}, "")
        if n % 2:
            run.call("search", {"query": f"{TOWNS[n]} pilots {n}"}, "[]")
    return run


def alternation() -> Script:
    run = Script()
    for n in range(6):
        run.say("a", f"Port {n} has {n * 3} berths and a depth of {n + 4} metres at low water.")
        run.say("b", f"Then ship {n} of length {n * 20} can moor there from hour {n + 8} on.")
    for n in range(3):
        run.say("a", f"My remark number {n} concerns the buoy at position {n * 11} north.")
    return run


def next_song() -> Script:
    run = Script()
    for n in range(5):
        request = ToolRequest(name="skip_song", arguments={"song_id": 100 + n})
        run.say("player", "Skip to the next song in the queue now.", calls=[request])
        run.call("skip_song", {"song_id": 100 + n}, f"now playing {100 + n}", agent="player")
    return run


def sub_agents() -> list[object]:
    events: list[object] = []
    for n in range(4):
        part = Script(branch=f"helper-{n}")
        part.task("Find the harbour fees of the town you are given and report them.")
        part.say("helper", "I look for the harbour fees of the town I was given.")
        events += part.events
    return events


def hand_off() -> Script:
    run = Script()
    for _ in range(4):
        run.call("transfer_to_pilot", {}, None, error="langgraph.errors.ParentCommand")
        run.say("pilot", f"I take over at row {run.row} and plot leg {run.row * 3}.")
    return run


Build = Callable[[], "Script | list[object]"]
CASES: list[tuple[str, Build, str]] = [
    ("1a poll of 8", lambda: poll(8), "silent"),
    ("1b poll of 12", lambda: poll(12), "info"),
    ("1c poll of 25", lambda: poll(25), "warn"),
    ("1d declared poll of 25", lambda: poll(25, declared=True), "silent"),
    ("2 poll with sleep", lambda: poll(8, spacer=True), "silent"),
    ("2b sleep breaks no count", lambda: poll(12, spacer=True), "info"),
    ("3 clock", clock, "warn"),
    ("4 nonce in the result", nonces, "warn"),
    ("5a stub, equal output", lambda: stubs(["tide table of May"] * 3), "warn"),
    ("5b stub, other output", lambda: stubs(["May", "June", "July"]), "silent"),
    ("6 pagination", pages, "silent"),
    ("7a windows of new text", lambda: windows(overlap=False), "silent"),
    ("7b windows of read text", lambda: windows(overlap=True), "suspect"),
    ("8a retries after 429", lambda: retries("429"), "silent"),
    ("8b retries after 503", lambda: retries("HTTP 503"), "silent"),
    ("8c retries after timeout", lambda: retries("httpx.ReadTimeout"), "silent"),
    ("9 tests after edits", edits_and_tests, "silent"),
    ("10 failing write", failing_write, "warn"),
    ("11 batch", batch, "silent"),
    ("13a replay, same ids", lambda: replayed_stream(same_ids=True), "silent"),
    ("13b replay, new ids", lambda: replayed_stream(same_ids=False), "silent"),
    ("16 key order and call ids", key_order, "warn"),
    ("17 interleaved", interleaved, "warn"),
    ("18 circle", lambda: circle(30), "alert"),
    ("19 plumbing", plumbing, "silent"),
    ("20 narration", narration, "silent"),
    ("21 waiting", waiting, "silent"),
    ("22a alternation", alternation, "silent"),
    ("22b next song", next_song, "silent"),
    ("23 sub-agents", sub_agents, "silent"),
    ("38 hand-off", hand_off, "silent"),
]


@pytest.mark.parametrize(("build", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_trap(build: Build, expected: str) -> None:
    run = build()
    seen = watched(run.events if isinstance(run, Script) else run)
    assert seen.worst(MODE) == expected, seen.findings
    assert seen.worst("FM-2.1") == "silent", seen.findings
    if expected != "silent":
        assert seen.episodes(MODE) == 1, seen.findings


@pytest.mark.parametrize(
    "error", ["429", "HTTP 503", "httpx.ReadTimeout", "请求超时", "接続がタイムアウトしました"]
)
def test_weather_is_a_notice_below_warn(error: str) -> None:
    seen = watched(retries(error).events)
    assert [(n.name, n.severity.label) for n in seen.notices] == [("retry_storm", "suspect")]


@pytest.mark.parametrize(
    "result",
    [
        "Error: 503 from the harbour office",
        "Request timed out after 30 s",
        '{"error": "rate limit exceeded"}',
        '{"success": false, "error": "connect ECONNREFUSED 127.0.0.1:80"}',
        '{"code": 429, "message": "请求过于频繁"}',
        '{"statusCode": 503}',
        "请求超时，请稍后重试",
        '{"错误": "连接失败"}',
        "错误：服务不可用",
        "エラー: サービスが混み合っています",
        "タイムアウトしました",
        "오류: 연결 시간이 초과되었습니다",
        "Fehler: Verbindung abgelehnt",
        "Erreur : service indisponible",
        "Error: tiempo de espera agotado",
        "Ошибка: превышено время ожидания",
    ],
)
def test_weather_is_known_by_a_result_alone(result: str) -> None:
    """Trap 8, in logs that give no error."""
    run = Script()
    for _ in range(4):
        run.call("fetch", {"url": "a"}, result)
    seen = watched(run.call("fetch", {"url": "a"}, "the page at last").events)
    assert seen.worst(MODE) == "silent", seen.findings
    assert [n.name for n in seen.notices] == ["retry_storm"]


@pytest.mark.parametrize(
    "result",
    [
        '{"error": null, "room": 12}',
        '{"code": 412, "name": "berth"}',
        '{"success": true, "room": 503}',
        '{"failed": 0, "passed": 9}',
        "error_rate: 0.1",
        "超时设置为三十秒",
        "异常检测的结果：没有",
        "错误码一览",
        "Fehlerfrei bestanden",
        "Timeouts are set to 30 s",
    ],
)
def test_result_that_speaks_of_errors_is_none(result: str) -> None:
    assert error_class(None, result) == ""


@pytest.mark.parametrize(
    "result", ["错误：没有这位客人", "エラー: その客はいません", "exitcode: 127"]
)
def test_failure_that_no_retry_mends_is_no_weather(result: str) -> None:
    assert error_class(None, result) == "error"


def test_circle_entered_at_another_phase_is_the_same_episode() -> None:
    """Trap 18: thirty rounds with a pause are one finding that only rises."""
    seen = watched(circle_with_pause().events)
    assert seen.episodes(MODE) == 1
    levels = [f.severity for f in seen.findings if f.mode == MODE]
    assert levels == sorted(set(levels))
    assert levels[-1].label == "alert"


def test_doubled_log_gives_the_findings_of_the_single_one() -> None:
    """Trap 14: a log handler writes each record two to four times, without ids."""
    single = Script(ids=False)
    for agent in ("planner", "coder", "critic") * 5:
        single.say(agent, f"The {agent} says what it always says about the tides.")
    doubled = [event for n, event in enumerate(single.events) for _ in range(2 + n % 3)]
    once, twice = watched(single.events), watched(doubled)
    assert once.findings
    assert once.findings == twice.findings


def test_doubled_instrumentation_gives_the_findings_of_the_single_one() -> None:
    """Trap 14: the same ids twice, nested."""
    single = interleaved().events
    doubled = [event for event in single for _ in range(2)]
    assert watched(single).findings
    assert watched(single).findings == watched(doubled).findings


def test_one_utterance_under_three_names_is_one_event() -> None:
    """Trap 15: sender, wrapper and receiver report the same message id."""
    run = Script()
    for n in range(2):
        run.say("sender", f"Leg {n} goes from buoy {n * 3} to buoy {n * 5} by the channel.")
    tripled = [
        replace(event, sender=name) if isinstance(event, MessageSent) else event
        for event in run.events
        for name in ("sender", "wrapper", "receiver")
    ]
    assert watched(tripled).findings == ()
