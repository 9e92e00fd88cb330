"""What the author of an instrumentor writes: how to use the library, offline."""

from __future__ import annotations

from typing import Protocol


class Exercise(Protocol):
    """Uses of one library, each with models and tools of its own, so that it can be repeated.

    Besides these three, where the library has it:

    - ``async def cancel(self)``: starts a run that hangs in a model or tool and cancels it;
      CancelledError comes out.
    - ``def stream(self)``: a lazy stream of a run that has not begun: an iterator or asynchronous
      iterator.
    - ``def patched(self)``: pairs ``(owner, attribute)`` that ``install()`` wraps.
    - ``def agents(self)``: agents, new ones each time, to be copied and pickled.
    - ``def made(self)``: weak references to what the latest ``run()`` created.

    Attributes:
        texts: What is said in ``run()``, by agents, tools and the task, word by word; each has 12
            characters or more, and none of them is the name of anything.
    """

    texts: tuple[str, ...]

    def run(self) -> object:
        """One healthy run with a tool call; returns what can be compared (texts, no objects)."""

    def fail(self, error: Exception) -> None:
        """A run whose model or tool raises exactly ``error``; what the library raises comes out."""
