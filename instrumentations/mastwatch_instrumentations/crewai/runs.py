"""The frames of kickoffs: a crew's or a flow's is a run, or a branch of the run around it."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mastwatch import forks
from mastwatch.spans.emit import Emitter, Run
from mastwatch_instrumentations._patch import Frame, argument
from mastwatch_instrumentations.crewai import library, reading
from mastwatch_instrumentations.crewai.place import Place, here, outcome_of

FRAMEWORK = "crewai"
MAX_STREAMS = 256
"""Streams of which the run has not begun yet."""


class RunFrame:
    """A run under way.

    Args:
        place: Where its code finds it.
        reason: CrewAI's own word for its end.
        left: Whether its caller stopped listening to it.
    """

    def __init__(self, place: Place, reason: str, left: Callable[[], bool] = bool) -> None:
        self._place = place
        self._reason = reason
        self._left = left

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make it the current scope."""
        token = here.set(self._place)
        try:
            with self._place.run.attached():
                yield
        finally:
            here.reset(token)

    def done(self, result: Any) -> None:
        """End the run."""
        if self._left():
            self._place.run.finish("abandoned", "the stream was left")
        elif type(result).__name__ == "HumanFeedbackPending":
            self._place.run.finish("paused", "human_feedback_pending")
        else:
            outcome, reason = self._place.ending()
            self._place.run.finish(outcome, reason or self._reason)

    def failed(self, error: BaseException) -> None:
        """End the run by an exception."""
        if outcome_of(error) == "cancelled" and self._left():
            self._place.run.finish("abandoned", "the stream was left")
            return
        self._place.run.finish(outcome_of(error), type(error).__name__, error)


class StreamNote:
    """The frame of a kickoff that only hands out a stream: its run begins with the first chunk."""

    def __init__(self, streams: Streams, crew: Any) -> None:
        self._streams = streams
        self._crew = crew

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Change nothing."""
        yield

    def done(self, result: Any) -> None:
        """Remember the stream, to see later whether its caller left it."""
        self._streams.note(self._crew, result)

    def failed(self, error: BaseException) -> None:
        """Nothing began."""


class Streams:
    """Streams by the crew that they belong to."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, weakref.ref[Any]] = OrderedDict()
        self._lock = forks.lock()  # protects _known

    def note(self, crew: Any, stream: Any) -> None:
        """Remember a crew's stream."""
        with self._lock:
            self._known[id(crew)] = weakref.ref(stream)
            while len(self._known) > MAX_STREAMS:
                self._known.popitem(last=False)

    def leaver(self, crew: Any) -> Callable[[], bool]:
        """Return what says whether the caller of this crew's stream has left it by then."""
        with self._lock:
            stream = self._known.pop(id(crew), None)
        return (lambda: _was_left(stream())) if stream is not None else bool


def _was_left(stream: Any) -> bool:
    if stream is None:
        return True
    over = getattr(stream, "_completed", False) and not getattr(stream, "_exhausted", True)
    return bool(over) and getattr(stream, "_error", None) is None


class Kickoffs:
    """Opens the frames of kickoffs.

    Args:
        emitter: Opens runs.
        traced_by: Who else makes spans of CrewAI at the moment.
        watch_models: Called at each start: the app may have new classes of models.
    """

    def __init__(
        self,
        emitter: Emitter,
        traced_by: Callable[[], tuple[str, ...]],
        watch_models: Callable[[], None],
    ) -> None:
        self._emitter = emitter
        self._traced_by = traced_by
        self._watch_models = watch_models
        self._streams = Streams()

    def crew(self, crew: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of ``Crew.kickoff(inputs, ...)`` and its asynchronous sisters."""
        if not self._begins(crew, kwargs):
            return None
        if getattr(crew, "stream", False):
            return StreamNote(self._streams, crew)
        inputs = argument(args, kwargs, 0, "inputs")
        run = self.start(str(crew.name or "crew"), reading.task_of(crew.tasks, inputs), crew.agents)
        return RunFrame(Place(run, id(crew)), "crew_kickoff_completed", self._streams.leaver(crew))

    def replay(self, crew: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of ``Crew.replay(task_id, inputs)``."""
        return self.crew(crew, args[1:], kwargs)

    def flow(self, flow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of ``Flow.kickoff_async(inputs, ...)``; ``kickoff`` leads there."""
        return self._flow(flow, kwargs, resume=False)

    def resumed(self, flow: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Frame | None:
        """Open the frame of ``Flow.resume_async(feedback)``: the paused run goes on."""
        frame = self._flow(flow, kwargs, resume=True)
        if frame is not None:
            frame._place.run.human_replied("", str(argument(args, kwargs, 0, "feedback") or ""))
        return frame

    def _flow(self, flow: Any, kwargs: dict[str, Any], resume: bool) -> RunFrame | None:
        if library.is_internal(flow) or getattr(flow, "stream", False):
            return None
        if not self._begins(flow, kwargs):
            return None
        run = self._emitter.start_run(
            str(getattr(flow, "name", None) or type(flow).__name__),
            framework=FRAMEWORK,
            conversation_id=str(getattr(flow, "flow_id", "") or "") or None,
            resume=resume,
            spans=not self._traced_by(),
        )
        return RunFrame(Place(run, id(flow)), "flow_finished")

    def _begins(self, owner: Any, kwargs: dict[str, Any]) -> bool:
        """Whether this call is the beginning of a run, not one on the way into it."""
        if self._emitter.suppressed():
            return False
        if getattr(kwargs.get("from_checkpoint"), "restore_from", None):
            return False  # a copy of the crew or flow is kicked off instead
        place = here.get()
        if place is not None and (place.owner == id(owner) or place.run.finished):
            return False
        self._watch_models()
        return True

    def start(self, name: str, task: str, agents: list[Any]) -> Run:
        """Open a run, or a branch of the one around it."""
        return self._emitter.start_run(
            name,
            framework=FRAMEWORK,
            task=task,
            prompts=reading.prompts_of(agents),
            spans=not self._traced_by(),
        )
