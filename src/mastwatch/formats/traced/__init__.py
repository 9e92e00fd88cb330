"""Exports of tracing tools: their spans, told by the bridge as if they happened now."""

from mastwatch.formats.traced.langfuse import LangfuseFormat
from mastwatch.formats.traced.langsmith import LangSmithFormat
from mastwatch.formats.traced.otlp import OtlpFormat

__all__ = ["LangSmithFormat", "LangfuseFormat", "OtlpFormat"]
