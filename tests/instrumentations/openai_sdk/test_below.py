"""Below other libraries: one model call is one, whoever sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from apps.openai_models import Model
from mastwatch.testing.recording import Recording

REPLY = "The capital of France is Paris."


@pytest.fixture
def both(request: Any) -> Iterator[Recording]:
    """The SDK and the library above it, instrumented in both orders."""
    from mastwatch_instrumentations.autogen import AutoGenInstrumentor
    from mastwatch_instrumentations.langchain import LangChainInstrumentor
    from mastwatch_instrumentations.openai_sdk import OpenAIInstrumentor

    above = {"langchain": LangChainInstrumentor, "autogen": AutoGenInstrumentor}[request.param]
    pytest.importorskip(above.library)
    assert above.supersedes == ("openai",)
    recording, instrumentors = Recording(), [above(), OpenAIInstrumentor()]
    for instrumentor in instrumentors:
        instrumentor.install(recording.emitter)
    try:
        yield recording
    finally:
        for instrumentor in reversed(instrumentors):
            instrumentor.uninstall()
    recording.check()


def _chat_model(model: Model) -> Any:
    """A LangChain model over the SDK, as langchain-openai is one."""
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

    sync, asynchronous = model.client(), model.async_client()

    def wire(messages: Any) -> list[dict[str, Any]]:
        roles = {"human": "user", "ai": "assistant"}
        return [{"role": roles.get(m.type, m.type), "content": m.content} for m in messages]

    def result(raw: Any) -> ChatResult:
        text = raw.parse().choices[0].message.content
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    class OverTheSDK(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "over-the-sdk"

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            create = sync.chat.completions.with_raw_response.create
            return result(create(model="gpt", messages=wire(messages)))

        async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            create = asynchronous.chat.completions.with_raw_response.create
            return result(await create(model="gpt", messages=wire(messages)))

        def _stream(self, messages: Any, *_: Any, **__: Any) -> Any:
            chunks = sync.chat.completions.create(
                model="gpt",
                messages=wire(messages),
                stream=True,
                stream_options={"include_usage": True},
            )
            for chunk in chunks:
                text = chunk.choices[0].delta.content if chunk.choices else ""
                yield ChatGenerationChunk(message=AIMessageChunk(text or ""))

    return OverTheSDK()


@pytest.mark.parametrize("both", ["langchain"], indirect=True)
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "batch"])
@pytest.mark.parametrize("where", ["bare", "chain", "agent"])
def test_langchain(both, how, where):
    from langchain.agents import create_agent
    from langchain_core.output_parsers import StrOutputParser

    app: Any = _chat_model(Model([REPLY]))
    question: Any = "What is the capital of France?"
    if where == "chain":
        app = app | StrOutputParser()
    elif where == "agent":
        app, question = create_agent(app, [], name="guide"), {"messages": [("user", question)]}
    if how == "invoke":
        app.invoke(question)
    elif how == "ainvoke":
        asyncio.run(app.ainvoke(question))
    elif how == "stream":
        assert list(app.stream(question))
    else:
        app.batch([question])
    both.emitter.histories.close()
    (model,) = both.models
    assert model.model == "gpt"
    assert (model.input_tokens, model.output_tokens) == (11, 7)
    assert [text for _, text in both.said] == [REPLY]
    assert len([span for span in both.spans if span.name.split()[0] == "chat"]) == 1
    assert len({span.context.trace_id for span in both.spans}) == 1


@pytest.mark.parametrize("both", ["autogen"], indirect=True)
def test_ag2_classic(both):
    from autogen import ConversableAgent
    from autogen.oai import client as oai

    sdk = Model([{"weather": {"city": "Kiel"}}, f"{REPLY} TERMINATE"]).client()
    entry = {"model": "gpt", "api_key": "k", "base_url": "http://localhost/v1"}
    assistant = ConversableAgent("assistant", llm_config={"config_list": [entry]})
    user = ConversableAgent("user", llm_config=False, human_input_mode="NEVER")

    def weather(city: str) -> str:
        """The weather."""
        return f"Rain in {city}."

    assistant.register_for_llm(description="The weather.")(weather)
    user.register_for_execution()(weather)
    (wrapped,) = (c for c in assistant.client._clients if isinstance(c, oai.OpenAIClient))
    wrapped._oai_client = sdk
    user.initiate_chat(assistant, message="How is Kiel?", max_turns=2, silent=True)
    assert [m.agent for m in both.models] == ["assistant", "assistant"]
    assert [m.input_tokens for m in both.models] == [11, 11]
    assert len([span for span in both.spans if span.name.split()[0] == "chat"]) == 2
    assert [name for name, _ in both.said] == ["user", "assistant", "assistant"]
