# /// script
# requires-python = ">=3.10"
# dependencies = ["openlit==1.45.0", "openai==2.54.0", "langgraph==1.2.22", "langchain==1.4.7"]
# ///
"""LangChain and the OpenAI SDK, traced by OpenLIT. ``off``: without content."""

from __future__ import annotations

import os
import sys

import openlit
from langchain_story import story
from opentelemetry import trace
from otlp_file import OtlpFile

TIMINGS = (
    "gen_ai.client.operation.duration",
    "gen_ai.server.time_to_first_token",
    "gen_ai.server.time_per_output_token",
)


def main(off: bool) -> None:
    file = OtlpFile("openlit.off" if off else "openlit")
    trace.set_tracer_provider(file.provider())
    openlit.init(
        capture_message_content=not off,
        disable_metrics=True,
        disable_batch=True,
        application_name="shop",
        environment="test",
        pricing_json=os.devnull,
    )
    story()
    file.write(dict.fromkeys(TIMINGS, 0.001))


if __name__ == "__main__":
    main("off" in sys.argv[1:])
