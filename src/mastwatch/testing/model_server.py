"""A model server on loopback that says what a test tells it to.

It speaks OpenAI's chat completions, so that a real client can be driven through everything a real
server may do, without a key and without a network:

>>> with ScriptedModelServer(["Paris."]) as server:
...     server.url.startswith("http://127.0.0.1:")
True
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Request = dict[str, Any]
"""A chat completion's request, as it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A reply with HTTP 200.

    Attributes:
        content: Text, a dict to be sent as JSON, a list of content parts, or None.
        finish_reason: Why it stopped.
        refusal: The refusal field.
        tool: Put the content into a call of this tool. A reply to a request that forces a tool
            goes into that one by itself.
        usage: Token counts; ``"counted"`` makes them from the texts, None leaves them out.
        model: The model's name; that of the request by default.
        delay: Seconds before it is sent.
        body: Sent in place of all of the above.
    """

    content: str | Mapping[str, Any] | list[Any] | None = ""
    finish_reason: str = "stop"
    refusal: str | None = None
    tool: str = ""
    usage: Mapping[str, int] | Literal["counted"] | None = "counted"
    model: str = ""
    delay: float = 0.0
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A reply that is an error, or none at all.

    Attributes:
        status: HTTP status; 0 closes the connection without a word, -1 never answers.
        error: The error object.
        headers: More headers, ``{"retry-after": "2"}``.
        delay: Seconds before it is sent.
    """

    status: int = 500
    error: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


Answer = Said | Failed | str | Mapping[str, Any] | None
"""A text or dict is a reply's content."""
Script = Callable[[Request], Answer] | Iterable[Answer]

DISCONNECT = Failed(status=0)
STALL = Failed(status=-1)


def rate_limited(retry_after: str | None = None) -> Failed:
    """A 429, with a ``retry-after`` header if you like: seconds or an HTTP date."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    error = {"message": "Rate limit reached", "code": "rate_limit_exceeded"}
    return Failed(status=429, error=error, headers=headers)


def overflow(limit: int | None = None, status: int = 400) -> Failed:
    """A prompt that is too long; the error names the limit if one is given."""
    told = f"This model's maximum context length is {limit} tokens." if limit else "Too long."
    error = {"message": told, "code": "context_length_exceeded", "param": "messages"}
    return Failed(status=status, error=error)


def unsupported(parameter: str) -> Failed:
    """A 400 about a parameter of the request."""
    error = {
        "message": f"Unsupported parameter: '{parameter}' is not supported with this model.",
        "code": "unsupported_parameter",
        "param": parameter,
    }
    return Failed(status=400, error=error)


class ScriptedModelServer:
    """Answers chat completions on 127.0.0.1 as scripted; use it in a ``with`` block.

    Args:
        script: Answers in their order, the last one for all further requests; or a function of the
            request, called from many threads at once.
        at_once: Requests answered at once; those beyond get a 429. None for no limit.
    """

    def __init__(self, script: Script, at_once: int | None = None) -> None:
        self._script = script if callable(script) else _in_order(script)
        self._at_once = at_once
        self._lock = threading.Lock()  # protects what follows
        self._now = 0
        self.most_at_once = 0
        """Highest number of requests that were under way together."""
        self.requests: list[Request] = []
        """All that came, in their order, refused ones among them."""
        self.headers: list[Mapping[str, str]] = []
        """Their headers, with lower-case names."""
        self._stopped = threading.Event()

    def __enter__(self) -> ScriptedModelServer:
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def answer(self, request: Request, headers: Mapping[str, str]) -> Said | Failed:
        """What to answer; for the handler."""
        with self._lock:
            self.requests.append(request)
            self.headers.append(headers)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            busy = self._at_once is not None and self._now > self._at_once
        try:
            said = rate_limited() if busy else self._script(request)
            made = said if isinstance(said, (Said, Failed)) else Said(content=said)
            if made.delay:
                self._stopped.wait(made.delay)
            if isinstance(made, Failed) and made.status < 0:
                self._stopped.wait()
            return made
        finally:
            with self._lock:
                self._now -= 1


def _in_order(answers: Iterable[Answer]) -> Callable[[Request], Answer]:
    left: Iterator[Answer] = iter(answers)
    lock = threading.Lock()
    last: list[Answer] = [Failed(status=500, error={"message": "the script is empty"})]

    def following(_: Request) -> Answer:
        with lock:
            last[0] = next(left, last[0])
            return last[0]

    return following


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a stalled request must not stall the test
    request_queue_size = 128

    def __init__(self, scripted: ScriptedModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripted = scripted

    def handle_error(self, *_: Any) -> None:
        """Clients hang up: that is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a completion."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {key.lower(): value for key, value in self.headers.items()}
        answer = self.server.scripted.answer(asked, headers)
        if isinstance(answer, Said):
            body = answer.body if answer.body is not None else _completion(asked, answer)
            self._send(200, body, {})
        elif answer.status > 0:
            self._send(answer.status, {"error": dict(answer.error)}, answer.headers)
        else:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        text = isinstance(body, str)
        data = (body if text else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Tests read ``requests`` instead."""


def _completion(asked: Request, said: Said) -> dict[str, Any]:
    content: Any = said.content
    if isinstance(content, Mapping):
        content = json.dumps(content)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if said.refusal is not None:
        message["refusal"] = said.refusal
    tool = said.tool or _forced_tool(asked)
    if tool and isinstance(content, str):
        call = {"name": tool, "arguments": content}
        message["content"] = None
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
    made: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": said.model or asked.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": said.finish_reason}],
    }
    usage = _counted(asked, content) if said.usage == "counted" else said.usage
    if usage is not None:
        made["usage"] = dict(usage)
    return made


def _forced_tool(asked: Request) -> str:
    choice = asked.get("tool_choice")
    return str(choice["function"]["name"]) if isinstance(choice, dict) else ""


def _counted(asked: Request, content: Any) -> dict[str, int]:
    """Four bytes to a token, as English has it."""
    came = len(json.dumps(asked.get("messages"), ensure_ascii=False).encode()) // 4
    went = len(str(content or "").encode("utf-8", "replace")) // 4 + 1
    return {"prompt_tokens": came, "completion_tokens": went, "total_tokens": came + went}
