"""A home-grown team over the bare OpenAI SDK: a researcher with a tool, and a writer.

The model is scripted, behind a transport in memory. With ``loop`` the researcher asks its tool the
same thing again and again.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openai
from openai import OpenAI

if int(openai.__version__.partition(".")[0]) >= 3:
    import httpx2 as httpx
else:
    import httpx

LOOP = "loop" in sys.argv[1:]
RESEARCHER = "You research the town archive. Use the tool `archive`."
WRITER = "You write short notes for the town's paper."
EDITOR = "You decide whether a note may be printed."
NOTE = "The harbour crane of 1863 was the first one driven by steam."
FACTS = "The crane was built in 1863, it ran on steam, and it stood at the north quay."
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "archive",
            "description": "Look something up.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
        },
    }
]


class ScriptedModel:
    """Plays all three agents; who speaks is told by the system prompt."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        messages = json.loads(request.content)["messages"]
        message = self._say(messages[0]["content"], messages)
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
        about = {"id": f"chatcmpl-{len(messages)}", "object": "chat.completion", "created": 1}
        return httpx.Response(
            200, json={**about, "model": "town-1", "choices": [choice], "usage": usage}
        )

    def _say(self, prompt: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        results = sum(message["role"] == "tool" for message in messages)
        if prompt == RESEARCHER and results < (6 if LOOP else 2):
            self.asked += 1
            query = "harbour crane" if LOOP else ("harbour crane", "north quay")[results]
            function = {"name": "archive", "arguments": json.dumps({"query": query})}
            call = {"id": f"call_{self.asked}", "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        said = {RESEARCHER: FACTS, WRITER: NOTE, EDITOR: "Printed."}[prompt]
        return {"role": "assistant", "content": said}


def archive(query: str) -> str:
    return f"One page on the {query}, of 1863."


class Agent:
    """A system prompt, a history and the usual loop."""

    def __init__(self, client: OpenAI, prompt: str, tools: list[Any] | None = None) -> None:
        self.client = client
        self.history: list[Any] = [{"role": "system", "content": prompt}]
        self.options: dict[str, Any] = {"tools": tools} if tools else {}

    def ask(self, text: str) -> str:
        self.history.append({"role": "user", "content": text})
        while True:
            answer = self.client.chat.completions.create(
                model="town-1", messages=self.history, **self.options
            )
            message = answer.choices[0].message
            self.history.append(message)
            if not message.tool_calls:
                return message.content or ""
            for call in message.tool_calls:
                result = archive(**json.loads(call.function.arguments))
                self.history.append({"role": "tool", "tool_call_id": call.id, "content": result})


def main() -> None:
    client = OpenAI(
        api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(ScriptedModel()))
    )
    researcher = Agent(client, RESEARCHER, TOOLS)
    writer, editor = Agent(client, WRITER), Agent(client, EDITOR)
    facts = researcher.ask("What is known of the old crane?")
    note = writer.ask(f"Write a note of one sentence from these facts: {facts}")
    verdict = editor.ask(f"May this be printed?\n\n{note}")
    print(note)
    print(verdict)


if __name__ == "__main__":
    main()
