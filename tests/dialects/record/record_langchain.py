# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "langchain==1.4.7",
#   "langgraph==1.2.22",
#   "opentelemetry-instrumentation-genai-langchain==1.3b0",
#   "openinference-instrumentation-langchain==0.1.80",
#   "opentelemetry-instrumentation-langchain==0.62.4",
#   "opentelemetry-sdk==1.45.1",
# ]
# ///
"""LangChain, traced by others: ``genai``, ``openinference`` or ``openllmetry``, and ``off``."""

from __future__ import annotations

import importlib
import os
import sys

PRODUCER, OFF = sys.argv[1], "off" in sys.argv[2:]
MODULE, CLASS = {
    "genai": ("opentelemetry.instrumentation.genai.langchain", "LangChainInstrumentor"),
    "openinference": ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
    "openllmetry": ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
}[PRODUCER]
BULK = ("gen_ai.task.input", "gen_ai.task.output")  # of OpenLLMetry: a graph's whole state
BULK += tuple(f"traceloop.association.properties.langgraph_{x}" for x in ("path", "triggers"))
if OFF:
    os.environ |= {"OPENINFERENCE_HIDE_INPUTS": "true", "OPENINFERENCE_HIDE_OUTPUTS": "true"}
    os.environ |= {"TRACELOOP_TRACE_CONTENT": "false"}
else:
    os.environ |= {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}

from langchain_story import story  # noqa: E402
from otlp_file import OtlpFile  # noqa: E402


def main() -> None:
    file = OtlpFile(f"{PRODUCER}.off" if OFF else PRODUCER)
    getattr(importlib.import_module(MODULE), CLASS)().instrument(tracer_provider=file.provider())
    story()
    file.write(dict.fromkeys(BULK))


if __name__ == "__main__":
    main()
