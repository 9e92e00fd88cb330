"""What the dialects of libraries that trace themselves share: the scope tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from mastwatch.spans.dialects.genai import OPS, op_of, read_step
from mastwatch.spans.foreign.span import ForeignSpan
from mastwatch.spans.foreign.step import Answer, Op, Step

SILENT = Answer(text="")
"""Nothing was said, which is not the same as withheld."""


class Native:
    """A library that writes GenAI attributes in its own way, on scopes of its own.

    Attributes:
        scopes: Its instrumentation scopes.
        of: The library, where it goes by another name than the dialect.
        operations: What its operations are, besides those of the conventions.
    """

    name: ClassVar[str]
    priority: ClassVar[int] = 35
    scopes: ClassVar[tuple[str, ...]]
    of: ClassVar[str] = ""
    operations: ClassVar[Mapping[str, Op]] = OPS

    def claims(self, scope: str, version: str, attributes: Mapping[str, Any]) -> bool:
        """Whether the scope is one of its own."""
        return scope in self.scopes

    def library(self, scope: str) -> str:
        """The library that traces itself."""
        return self.of or self.name

    def opening(self, name: str, attributes: Mapping[str, Any]) -> Op | Literal["other"] | None:
        """Told by the operation, else by the first word of the span's name, which is the same."""
        return op_of(attributes) or self.operations.get(name.partition(" ")[0], "other")

    def read(self, span: ForeignSpan) -> Step | None:
        """Read a finished span."""
        op = self.opening(span.name, span.attributes)
        return None if op is None or op == "other" else self.step(span, op)

    def step(self, span: ForeignSpan, op: Op) -> Step | None:
        """Read a span that is a step: its GenAI attributes."""
        return read_step(span, op)


def with_attributes(span: ForeignSpan, more: Mapping[str, Any]) -> ForeignSpan:
    """The span as if these attributes were on it, too."""
    return replace(span, attributes={**span.attributes, **more})
