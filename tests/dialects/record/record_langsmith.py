# /// script
# requires-python = ">=3.10"
# dependencies = ["langsmith[otel]==0.14.17", "langgraph==1.2.22", "langchain==1.4.7"]
# ///
"""LangChain, traced by LangSmith's OpenTelemetry exporter. ``off``: inputs and outputs hidden."""

from __future__ import annotations

import os
import sys

OFF = "off" in sys.argv[1:]
os.environ |= {"LANGSMITH_TRACING": "true", "LANGSMITH_OTEL_ENABLED": "true"}
os.environ |= {"LANGSMITH_OTEL_ONLY": "true", "LANGSMITH_API_KEY": "none"}
os.environ |= {"LANGSMITH_PROJECT": "shop"}
if OFF:
    os.environ |= {"LANGSMITH_HIDE_INPUTS": "true", "LANGSMITH_HIDE_OUTPUTS": "true"}

from langchain_core.tracers.langchain import get_client, wait_for_all_tracers  # noqa: E402
from langchain_story import story  # noqa: E402
from opentelemetry import trace  # noqa: E402
from otlp_file import OtlpFile  # noqa: E402


def main() -> None:
    file = OtlpFile("langsmith.off" if OFF else "langsmith")
    trace.set_tracer_provider(file.provider())
    story()
    wait_for_all_tracers()
    get_client().flush()
    file.write({f"langsmith.metadata.{name}": None for name in os.environ})


if __name__ == "__main__":
    main()
