"""For home-grown agents: say what happens, in a few calls, and be watched like any framework.

All of it is inert until ``mastwatch.instrument()`` was called, and none of it raises into the host,
unless the host lets mastwatch halt runs: then ``message`` and ``tool`` raise ``RunHalted``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mastwatch import _instrument
from mastwatch.guard import guard

if TYPE_CHECKING:
    from mastwatch.events import MessageKind, Outcome, Role
    from mastwatch.spans.emit import Run, Scope, ToolCall

_log = logging.getLogger("mastwatch")
_FRAMEWORK = "custom"
_said: set[str] = set()


class RunHandle:
    """A run of your own, as ``with mastwatch.run(...) as run`` gives it.

    Attributes:
        id: The run's id, for ``mastwatch.outcome(run_id=...)`` later; empty when not instrumented.
    """

    def __init__(self, run: Run | None) -> None:
        self._run = run
        self.id = run.id if run is not None else ""

    def finish(self, outcome: Outcome, reason: str = "") -> None:
        """End the run before its ``with`` block does, with an outcome and reason of your own."""
        if self._run is not None:
            with guard("manual.finish"):
                self._run.finish(outcome, reason)


@contextmanager
def run(
    name: str,
    *,
    task: str | None = None,
    conversation_id: str | None = None,
    user_id: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> Iterator[RunHandle]:
    """A run boundary: what agents of any framework do inside belongs to one run and trace.

    Args:
        name: The workflow's name.
        task: What it was asked to do.
        conversation_id: Ties together the runs of one conversation.
        user_id: Your own id of the user.
        tags: Free labels, short texts.

    >>> with run("support") as r:
    ...     _ = message("Planner", "Let us look at the order first.", to="Clerk")
    """
    handle = _instrument.active()
    opened: Run | None = None
    stack = ExitStack()
    if handle is not None:
        with guard("manual.run"):
            opened = handle.emitter.start_run(
                name,
                framework=_FRAMEWORK,
                task=task,
                conversation_id=conversation_id,
                user_id=user_id,
                tags=tags,
            )
            stack.enter_context(opened.attached())
    try:
        yield RunHandle(opened)
    except BaseException as error:
        _close(opened, stack, _outcome(error), error)
        raise
    _close(opened, stack, "completed", None)


def _close(
    opened: Run | None, stack: ExitStack, outcome: Outcome, error: BaseException | None
) -> None:
    with guard("manual.run"):
        stack.close()
    if opened is not None:
        with guard("manual.run"):
            opened.finish(outcome, error=error)


def _outcome(error: BaseException) -> Outcome:
    if isinstance(error, GeneratorExit):
        return "abandoned"
    asyncio = sys.modules.get("asyncio")  # not imported by us: without it nothing is cancelled
    if isinstance(error, KeyboardInterrupt) or (
        asyncio is not None and isinstance(error, asyncio.CancelledError)
    ):
        return "cancelled"
    return "error"


def message(
    sender: str,
    text: str,
    *,
    to: str | Iterable[str] = (),
    role: Role = "assistant",
    kind: MessageKind = "reply",
) -> int | None:
    """Say that an agent uttered something.

    Args:
        sender: Who spoke.
        text: What was said.
        to: Whom it was said to.
        role: The sender's role.
        kind: ``human`` when a person spoke, ``opener`` for the first message, else ``reply``.

    Returns:
        Its row of the transcript, from 0; None outside a run.

    Raises:
        RunHalted: The host let mastwatch halt runs, and this one is to end.
    """
    scope: Scope | None = None
    index: int | None = None
    with guard("manual.message"):
        scope = _scope("message")
        if scope is not None:
            recipients = (to,) if isinstance(to, str) else tuple(to)
            index = scope.run.emitter.histories.by_hand(scope.run, sender, text)
            if index is None:
                index = scope.run.message(
                    sender, text, recipients=recipients, role=role, kind=kind, carriers=(scope,)
                )
    _end_if_halted(scope)
    return index


class ToolHandle:
    """A tool call of your own: set ``result`` inside the ``with`` block."""

    def __init__(self, call: ToolCall | None) -> None:
        self._call = call
        self._stack = ExitStack()
        self.result: object = None

    def __enter__(self) -> ToolHandle:
        if self._call is not None:
            with guard("manual.tool"):
                self._stack.enter_context(self._call.attached())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with guard("manual.tool"):
            self._stack.close()
        self._finish(error)
        if error is None and self._call is not None:
            _end_if_halted(self._call)

    def _finish(self, error: BaseException | str | None) -> None:
        if self._call is None:
            return
        with guard("manual.tool"):
            from mastwatch.spans.content import to_json

            text = None if self.result is None else to_json(self.result)
            self._call.returned(text if error is None else text or "", error=error)


def tool(
    name: str,
    arguments: object = None,
    *,
    agent: str = "",
    call_id: str | None = None,
    **result: Any,
) -> ToolHandle:
    """Say that an agent called a tool.

    Around the work, ``with mastwatch.tool("search", {"q": q}, agent="Scout") as call: call.result =
    search(q)``; or afterwards in one call, with ``result=`` or ``error=``.

    Args:
        name: The tool.
        arguments: What it was called with; anything JSON can hold.
        agent: Who called it.
        call_id: The provider's id of the call.
        **result: ``result=`` (anything JSON can hold) or ``error=`` (exception type or HTTP status)
            record a call that is already over.

    Raises:
        TypeError: A keyword other than ``result`` and ``error``.
        RunHalted: The host let mastwatch halt runs, and this one is to end.
    """
    if set(result) - {"result", "error"}:
        raise TypeError(f"tool() takes result= or error=, not {', '.join(sorted(result))}")
    scope: Scope | None = None
    call: ToolCall | None = None
    with guard("manual.tool"):
        scope = _scope("tool")
        if scope is not None:
            scope.run.emitter.histories.by_hand(scope.run)
            call = scope.run.tool_call(
                name, arguments, agent=agent or scope.agent, call_id=call_id, parent=scope
            )
    handle = ToolHandle(call)
    if result:
        handle.result = result.get("result")
        handle._finish(result.get("error"))
    _end_if_halted(scope, handle)
    return handle


def outcome(
    *,
    success: bool | None = None,
    score: float | None = None,
    expected: str | None = None,
    comment: str | None = None,
    run_id: str | None = None,
) -> None:
    """Say how a run turned out, inside it or later.

    Args:
        success: Whether it did what it was for.
        score: Any scale of yours.
        expected: The right answer. Kept with the run in the store, for the judge.
        comment: Free text. Kept with the run in the store.
        run_id: Which run; the current one by default.
    """
    handle = _instrument.active()
    if handle is None:
        return
    with guard("manual.outcome"):
        scope = handle.emitter.current()
        if scope is not None and run_id in (None, scope.run.id):
            scope.run.set_outcome(success, score)
            run_id = scope.run.id
        elif run_id is None:
            _say_once("outcome", "outside mastwatch.run() needs run_id=")
        handle.report_outcome(
            run_id, "host", success=success, score=score, expected=expected, comment=comment
        )


def _scope(what: str) -> Scope | None:
    handle = _instrument.active()
    if handle is None:
        return None
    scope = handle.emitter.current()
    if scope is None:
        _say_once(what, "outside `with mastwatch.run(...)` is not recorded")
    return scope


def _end_if_halted(scope: Scope | None, begun: ToolHandle | None = None) -> None:
    """Raise RunHalted where this run is to end; a tool that has not run yet does not run."""
    interventions = scope.run.emitter.interventions if scope is not None else None
    if scope is None or interventions is None or not interventions.halting(scope.run.id):
        return
    if begun is not None:
        begun._finish("RunHalted")  # nothing, where it is over already
    raise interventions.end(scope.run.id)


def _say_once(what: str, problem: str) -> None:
    if what not in _said:
        _said.add(what)
        _log.warning("mastwatch.%s() %s", what, problem)
