# /// script
# requires-python = ">=3.11"
# dependencies = ["logfire==5.2.0", "pydantic-ai-slim==2.68.0"]
# ///
"""Pydantic AI, traced through Logfire."""

from __future__ import annotations

import logfire
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from otlp_file import OtlpFile
from record_pydantic_ai import story


def main() -> None:
    file = OtlpFile("logfire")
    logfire.configure(
        send_to_logfire=False,
        console=False,
        service_name="shop",
        additional_span_processors=[SimpleSpanProcessor(file)],
    )
    logfire.instrument_pydantic_ai()
    story()
    file.write({"code.filepath": None, "code.lineno": None, "code.function": None})


if __name__ == "__main__":
    main()
