"""Findings to a webhook: a real HTTP receiver on loopback, the standard library's client."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import mastwatch
from mastwatch import Finding, Severity
from mastwatch.sinks.actions import WebhookSink, read_actions
from mastwatch.sinks.actions.gate import Gate
from mastwatch.sinks.actions.post import SIGNATURE_HEADER, Answer

SECRET = "not so secret"


def finding(
    mode: str = "FM-1.3", severity: Severity = Severity.ALERT, key: str = "f", **more: Any
) -> Finding:
    about: dict[str, Any] = {
        "detector": "step_repetition",
        "run_id": "r1",
        "agent": "Scout <b>",
        "message_index": 4,
        "evidence": (2, 4),
        "explanation": 'Scout <b> called "search" twice & more',
        "framework": "custom",
    }
    return Finding(mode=mode, severity=severity, fingerprint=key, **{**about, **more})


class Receiver:
    """An HTTP server that remembers; it answers with ``answers``, then always 200."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.times: list[float] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                receiver.times.append(time.monotonic())
                status, headers = receiver.answers.pop(0) if receiver.answers else (200, {})
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook/s3cr3t"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


class Hook:
    """A webhook, and what it reports."""

    def __init__(self, send: Callable[..., Answer] | None = None, **table: Any) -> None:
        self.done: list[tuple[str, str]] = []
        read = read_actions({"webhook": {"url": "http://127.0.0.1:9/hook", **table}})
        assert read.problems == ()
        more: dict[str, Any] = {} if send is None else {"send": send}
        self.sink = WebhookSink(
            read.webhooks[0],
            lambda action, mode, result: self.done.append((mode, result)),
            {"release": "1.2", "environment": ""},
            **more,
        )


def ok(*args: Any) -> Answer:
    return Answer()


def test_a_finding_arrives_signed_and_whole(receiver: Receiver) -> None:
    hook = Hook(url=receiver.url, secret=SECRET)
    hook.sink.on_finding(finding())
    assert hook.sink.flush(5)
    ((headers, body),) = receiver.got
    stamp, signature = (part.split("=", 1)[1] for part in headers[SIGNATURE_HEADER].split(","))
    expected = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert signature == expected
    assert abs(time.time() - int(stamp)) < 60
    told = json.loads(body)
    assert told["type"] == "finding"
    assert (told["mode"], told["severity"], told["evidence"]) == ("FM-1.3", "alert", [2, 4])
    assert (told["name"], told["release"]) == ("Step repetition", "1.2")
    assert "environment" not in told
    assert hook.done == [("FM-1.3", "done")]
    hook.sink.close(1)


def test_only_what_is_asked_for_is_told() -> None:
    hook = Hook(ok, min_severity="warn", modes=["FM-1.*", "task_derailment"])
    for mode in ("FM-1.3", "FM-1.5", "FM-2.3", "FM-2.1"):
        hook.sink.on_finding(finding(mode, Severity.SUSPECT, key=f"low {mode}"))
        hook.sink.on_finding(finding(mode, Severity.WARN, key=mode))
    assert hook.sink.flush(5)
    assert hook.done == [("FM-1.3", "done"), ("FM-1.5", "done"), ("FM-2.3", "done")]
    hook.sink.close(1)


def test_it_tries_again_and_waits_as_long_as_it_is_asked_to(receiver: Receiver) -> None:
    receiver.answers = [(503, {"Retry-After": "0.3"}), (429, {"Retry-After": "0"})]
    hook = Hook(url=receiver.url)
    hook.sink.on_finding(finding())
    assert hook.sink.flush(5)
    assert len(receiver.got) == 3
    assert receiver.times[1] - receiver.times[0] >= 0.29
    assert hook.done == [("FM-1.3", "done")]
    hook.sink.close(1)


def test_pauses_grow_and_tries_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mastwatch.sinks.actions.webhook.FIRST_PAUSE", 0.02)
    times: list[float] = []

    def down(*args: Any) -> Answer:
        times.append(time.monotonic())
        return Answer("HTTP 503", again=True)

    hook = Hook(down, url="https://chat.example/services/s3cr3t", tries=4)
    for key in ("one", "two"):
        hook.sink.on_finding(finding(key=key))
    assert hook.sink.flush(5)
    assert hook.done == [("FM-1.3", "failed")] * 2
    assert len(times) == 8
    assert times[3] - times[2] >= 0.04  # 0.02 * 2**2, halved at most
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert "chat.example" in warnings[0]
    assert "s3cr3t" not in warnings[0]
    hook.sink.close(1)


@pytest.mark.parametrize("status", [400, 404, 302])
def test_what_cannot_be_mended_by_waiting_is_not_tried_again(
    receiver: Receiver, status: int
) -> None:
    receiver.answers = [(status, {"Location": receiver.url})]
    hook = Hook(url=receiver.url)
    hook.sink.on_finding(finding())
    assert hook.sink.flush(5)
    assert (len(receiver.got), hook.done) == (1, [("FM-1.3", "failed")])
    hook.sink.close(1)


def test_an_address_nobody_listens_on_costs_the_agent_nothing() -> None:
    hook = Hook(url="http://127.0.0.1:9/hook", tries=1)
    started = time.monotonic()
    hook.sink.on_finding(finding())
    assert time.monotonic() - started < 0.1
    assert hook.sink.flush(5)
    assert hook.done == [("FM-1.3", "failed")]
    hook.sink.close(1)


def test_the_same_finding_is_told_once_unless_it_got_worse() -> None:
    now = [0.0]
    gate = Gate(window=60, per_minute=1000, clock=lambda: now[0])
    assert gate.admit(finding(severity=Severity.WARN)) == ""
    assert gate.admit(finding(severity=Severity.WARN, run_id="another")) == "duplicate"
    assert gate.admit(finding(severity=Severity.ALERT)) == ""
    assert gate.admit(finding(severity=Severity.WARN)) == "duplicate"
    assert gate.admit(finding(key="else")) == ""
    now[0] = 61.0
    assert gate.admit(finding(severity=Severity.WARN)) == ""


def test_too_many_a_minute_are_summed_up() -> None:
    now = [0.0]
    gate = Gate(window=60, per_minute=2, clock=lambda: now[0])
    results = [gate.admit(finding(key=str(n))) for n in range(5)]
    assert results == ["", "", "held_back", "held_back", "held_back"]
    assert gate.summary_due() == 60.0
    now[0] = 60.5
    assert gate.summary_due() == 0.0
    assert gate.admit(finding("FM-1.5", key="in order")) == "held_back"
    assert gate.take_held() == {("FM-1.3", "alert"): 3, ("FM-1.5", "alert"): 1}
    assert gate.summary_due() is None
    assert gate.admit(finding(key="next")) == ""


def test_what_was_held_back_is_told_at_the_end(receiver: Receiver) -> None:
    hook = Hook(url=receiver.url, per_minute=2, template="slack")
    for n in range(6):
        hook.sink.on_finding(finding(key=str(n)))
    assert hook.sink.flush(5)
    assert len(receiver.got) == 3
    assert receiver.told()[-1] == {"text": "*4 more findings were held back: FM-1.3 alert (4)*"}
    assert hook.done.count(("FM-1.3", "held_back")) == 4
    hook.sink.close(1)


def test_a_full_queue_drops_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mastwatch.sinks.actions.webhook.MAX_QUEUE", 2)
    go = threading.Event()
    begun = threading.Event()

    def slow(*args: Any) -> Answer:
        begun.set()
        go.wait(5)
        return Answer()

    hook = Hook(slow, per_minute=100)
    hook.sink.on_finding(finding(key="first"))
    assert begun.wait(5)
    for n in range(4):
        hook.sink.on_finding(finding(key=str(n)))
    assert hook.done == [("FM-1.3", "dropped")] * 2
    assert not hook.sink.flush(0.02)
    go.set()
    assert hook.sink.flush(5)
    assert hook.done.count(("FM-1.3", "done")) == 3
    hook.sink.close(1)


def test_what_is_left_at_the_end_is_counted() -> None:
    go = threading.Event()
    begun = threading.Event()

    def stuck(*args: Any) -> Answer:
        begun.set()
        go.wait(5)
        return Answer()

    hook = Hook(stuck)
    hook.sink.on_finding(finding(key="one"))
    assert begun.wait(5)
    hook.sink.on_finding(finding(key="two"))
    assert not hook.sink.close(0.02)
    assert hook.done == [("FM-1.3", "dropped")]
    go.set()


def test_chat_tools_get_words_with_their_marks_made_harmless() -> None:
    sent: list[Any] = []

    def keep(url: str, body: bytes, secret: str, timeout: float) -> Answer:
        sent.append(json.loads(body))
        return Answer()

    for template in ("slack", "teams"):
        hook = Hook(keep, template=template)
        hook.sink.on_finding(finding())
        assert hook.sink.flush(5)
        hook.sink.close(1)
    slack, teams = sent
    assert slack["text"].splitlines() == [
        "*ALERT FM-1.3 Step repetition, agent Scout &lt;b&gt;*",
        'Scout &lt;b&gt; called "search" twice &amp; more',
        "run r1, message 4, evidence 2, 4",
    ]
    card = teams["attachments"][0]["content"]
    assert card["body"][0]["text"] == "ALERT FM-1.3 Step repetition, agent Scout <b>"
    assert card["body"][0]["color"] == "Attention"


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    sent: list[Any] = []

    def keep(url: str, body: bytes, secret: str, timeout: float) -> Answer:
        sent.append(json.loads(body))
        return Answer()

    path = tmp_path / "body.json"
    path.write_text('{"t": "$headline", "why": "$explanation", "at": "$message_index"}')
    hook = Hook(keep, template=str(path))
    hook.sink.on_finding(finding())
    assert hook.sink.flush(5)
    assert sent == [
        {
            "t": "ALERT FM-1.3 Step repetition, agent Scout <b>",
            "why": 'Scout <b> called "search" twice & more',
            "at": "4",
        }
    ]
    hook.sink.close(1)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({}, "url is missing"),
        ({"url": "file:///etc/passwd"}, "url: expected an http or https address"),
        ({"url_env": "NOT_SET"}, "url_env: the variable NOT_SET is not set"),
        ({"url": "http://x", "template": "nowhere.json"}, "template: template 'nowhere.json'"),
        ({"url": "http://x", "min_severity": "loud"}, "min_severity: 'loud' is no severity"),
        ({"url": "http://x", "per_minute": 0}, "per_minute: expected a number from 1 to"),
        ({"url": "http://x", "color": "red"}, "unknown key color"),
    ],
)
def test_a_mistake_says_where_and_tells_no_secret(table: dict[str, Any], problem: str) -> None:
    read = read_actions({"webhook": [table]}, "mastwatch.toml: actions", environ={})
    assert read.webhooks == ()
    assert read.problems[0].startswith(f"mastwatch.toml: actions.webhook #1: {problem}")


def test_secrets_can_stand_in_variables() -> None:
    environ = {"HOOK": "https://chat.example/s3cr3t", "KEY": SECRET}
    table = {"url_env": "HOOK", "secret_env": "KEY"}
    (webhook,) = read_actions({"webhook": table}, environ=environ).webhooks
    assert (webhook.url, webhook.secret, webhook.host) == (environ["HOOK"], SECRET, "chat.example")


def test_no_message_text_leaves_and_the_process_tells_before_it_ends(receiver: Receiver) -> None:
    text = "The zanzibar marmalade velocipede is in the register of the town."
    table = {"webhook": {"url": receiver.url}}
    watched = mastwatch.instrument(frameworks=[], metrics="none", actions=table)
    with watched, mastwatch.run("town"):
        for _ in range(6):
            mastwatch.message("Scout", text)
    told = receiver.told()
    assert {one["severity"] for one in told} == {"warn", "alert"}
    assert not any(text[at : at + 12] in str(told) for at in range(len(text) - 12))
    assert all(one["trace_id"] and one["span_id"] for one in told)


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork_the_child_tells_what_is_its_own(receiver: Receiver) -> None:
    hook = Hook(url=receiver.url)
    hook.sink.on_finding(finding(agent="parent"))
    assert hook.sink.flush(5)
    child = os.fork()
    if child == 0:
        hook.sink.on_finding(finding(agent="child"))
        os._exit(0 if hook.sink.flush(5) else 1)
    deadline = time.monotonic() + 10
    while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert status == (child, 0)
    assert [one["agent"] for one in receiver.told()] == ["parent", "child"]
    hook.sink.close(1)
