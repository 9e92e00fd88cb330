"""The same run beside every producer; all of them are needed to compare."""

from importlib.util import find_spec

_NEEDED = (
    "autogen",
    "langchain",
    "langgraph",
    "openai",
    "httpx2",
    "openinference",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.util.genai",
)


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


collect_ignore_glob = [] if all(map(_there, _NEEDED)) else ["*"]
