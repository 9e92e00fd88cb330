# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "opentelemetry-instrumentation-openai-v2==2.4b0",
#   "opentelemetry-util-genai==0.4b0",
#   "opentelemetry-sdk==1.45.2",
#   "openai==2.54.0",
# ]
# ///
"""The OpenAI SDK, traced by OpenTelemetry's older ``openai-v2``. ``off``: its default."""

from __future__ import annotations

import contextlib
import json
import os
import sys

OFF = "off" in sys.argv[1:]
if not OFF:
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"

import httpx  # noqa: E402
import shop  # noqa: E402
from openai import NotFoundError, OpenAI  # noqa: E402
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor  # noqa: E402
from otlp_file import OtlpFile  # noqa: E402

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "lookup_order", "arguments": '{"number": "A-17"}'},
}


def answer(request: httpx.Request) -> httpx.Response:
    sent = json.loads(request.content)
    if sent["model"] == "missing":
        return httpx.Response(404, json={"error": {"message": "no such model"}})
    asks = sent["messages"][-1]["role"] == "user"
    said = {"content": None, "tool_calls": [CALL]} if asks else {"content": shop.ANSWER}
    return httpx.Response(
        200,
        json={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted-1",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", **said},
                    "finish_reason": "tool_calls" if asks else "stop",
                }
            ],
            "usage": {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
        },
    )


def main(file: OtlpFile) -> None:
    OpenAIInstrumentor().instrument(tracer_provider=file.provider())
    client = OpenAI(
        api_key="none",
        base_url="http://model.example/v1",
        max_retries=0,
        http_client=httpx.Client(transport=httpx.MockTransport(answer)),
    )
    messages: list[dict[str, object]] = [
        {"role": "system", "content": shop.CLERK_PROMPT},
        {"role": "user", "content": shop.ASKED},
    ]
    client.chat.completions.create(model="scripted-1", messages=messages)
    messages += [
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": shop.FOUND},
    ]
    client.chat.completions.create(model="scripted-1", messages=messages)
    with contextlib.suppress(NotFoundError):
        client.chat.completions.create(model="missing", messages=messages)
    file.write()


if __name__ == "__main__":
    main(OtlpFile("openai_v2.off" if OFF else "openai_v2"))
