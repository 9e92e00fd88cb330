"""Tools for instrumentors that wrap methods: yours may use them as ours do.

``PatchingInstrumentor`` is the base class: it installs once, reports and lets go.
``Patches`` wraps methods on their classes and lets go of them in the right order; ``around`` and
its kin build the hooks, so that the host's call stays outside our guard.
"""

from mastwatch_instrumentations._base import PatchingInstrumentor
from mastwatch_instrumentations._patch import (
    Frame,
    Hook,
    Patches,
    after,
    after_async,
    argument,
    around,
    around_async,
)
from mastwatch_instrumentations._streams import StreamFrame, around_generator, around_stream

__all__ = [
    "Frame",
    "Hook",
    "Patches",
    "PatchingInstrumentor",
    "StreamFrame",
    "after",
    "after_async",
    "argument",
    "around",
    "around_async",
    "around_generator",
    "around_stream",
]
