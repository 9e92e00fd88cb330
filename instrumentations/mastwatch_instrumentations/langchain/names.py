"""Who, where, in which conversation: read from the metadata that LangChain gives callbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

GENERIC_NODES = frozenset({"model", "agent", "tools", "__start__", "__end__"})
"""Node names the prebuilt agents use; they say what a node does, not who does it."""

GENERIC_GRAPHS = frozenset({"", "LangGraph", "Pregel", "CompiledStateGraph", "CompiledGraph"})
NODE_TAG = "graph:step:"
MIDDLEWARE = (".before_model", ".after_model", ".before_agent", ".after_agent")
CONVERSATION_KEYS = ("thread_id", "session_id", "conversation_id")
CREATE_AGENT = "langchain_create_agent"
"""What ``create_agent`` writes into the metadata of its graph."""
SOMEBODY = "assistant"
"""The speaker where nothing has a name: a bare model call, an LCEL chain."""

_PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistralai": "mistral_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}


def is_node(tags: Sequence[str] | None) -> bool:
    """Whether a chain is a node of a graph (its children carry other tags)."""
    return any(tag.startswith(NODE_TAG) for tag in tags or ())


def is_middleware(node: str) -> bool:
    """Whether a node is a middleware hook of ``create_agent``.

    >>> is_middleware("SummarizationMiddleware.before_model"), is_middleware("model")
    (True, False)
    """
    return node.endswith(MIDDLEWARE)


def parent_segment(namespace: str) -> str:
    """Name of the node around this one, from a checkpoint namespace.

    >>> parent_segment("researcher:41d2|model:06e6")
    'researcher'
    >>> parent_segment("model:06e6")
    ''
    """
    segments = [segment.split(":", 1)[0] for segment in namespace.split("|")]
    above = [name for name in segments[:-1] if name and name not in GENERIC_NODES]
    return above[-1] if above else ""


def agent_of(metadata: Mapping[str, Any], graph: str = "", inherited: str = "") -> str:
    """Name of the agent a callback belongs to; empty outside agents.

    Args:
        metadata: As the callback got it.
        graph: Name of the graph the node is in.
        inherited: ``lc_agent_name`` of the caller of a nested graph. Metadata is handed down, so
            the same value in the nested graph says nothing about who speaks there.
    """
    name = str(metadata.get("lc_agent_name") or "")
    if name and name != inherited:
        return name
    node = str(metadata.get("langgraph_node") or "")
    if node and node not in GENERIC_NODES and not is_middleware(node):
        return node
    if not node:
        return ""
    above = parent_segment(str(metadata.get("langgraph_checkpoint_ns") or ""))
    return above or name_of_graph(graph) or "agent"


def name_of_graph(name: str) -> str:
    """Return a graph's name, or nothing where nobody gave it one."""
    return "" if name in GENERIC_GRAPHS else name


def speaker_of_chain(name: str) -> str:
    """Name the speaker in a plain chain: the chain, if somebody named it.

    >>> speaker_of_chain("RunnableSequence"), speaker_of_chain("translator")
    ('assistant', 'translator')
    """
    return SOMEBODY if not name or name.startswith("Runnable") else name


def is_create_agent_model(node: str, metadata: Mapping[str, Any]) -> bool:
    """Whether a node is the one of ``create_agent`` that asks the model."""
    return node == "model" and metadata.get("ls_integration") == CREATE_AGENT


def is_internal_call(metadata: Mapping[str, Any]) -> bool:
    """Whether a middleware of LangChain's asks a model for itself (to choose tools, to sum up)."""
    return "lc_internal_call" in metadata


def conversation_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the thread or session id, if there is one."""
    for key in CONVERSATION_KEYS:
        value = metadata.get(key)
        if value:
            return str(value)
    return None


def framework_of(metadata: Mapping[str, Any]) -> str:
    """``langgraph`` for the root of a graph, else ``langchain``."""
    return "langgraph" if metadata.get("ls_integration") == "langgraph" else "langchain"


def is_graph_root(metadata: Mapping[str, Any]) -> bool:
    """Whether the root of a run is a graph or an agent, going by what they write into metadata."""
    kind = str(metadata.get("ls_integration") or "")
    return bool(metadata.get("lc_agent_name")) or (
        kind.startswith(("langgraph", "langchain_create", "deepagents"))
    )


def model_of(metadata: Mapping[str, Any], parameters: Mapping[str, Any]) -> tuple[str, str]:
    """Return model and provider of a model call."""
    model = metadata.get("ls_model_name") or parameters.get("model")
    model = model or parameters.get("model_name") or ""
    provider = str(metadata.get("ls_provider") or "")
    return str(model), _PROVIDERS.get(provider, provider)
