"""One request to a model and its answer, in the run it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mastwatch.events import Outcome, ToolRequest
from mastwatch.spans.histories.messages import HistoryMessage
from mastwatch.spans.histories.talk import Row, Thread
from mastwatch.spans.run import Run
from mastwatch.spans.scope import ModelCall, error_type

if TYPE_CHECKING:
    from mastwatch.spans.histories import Histories


class Exchange:
    """One request to a model and its answer; made by ``Histories.begin``.

    Exactly one of ``answered``, ``failed`` and ``abandoned`` counts, the first.

    Attributes:
        run: The run it belongs to, or the branch of it.
        call: The open model call.
        agent: Who asks.
    """

    def __init__(
        self, histories: Histories, run: Run, call: ModelCall, thread: Thread | None
    ) -> None:
        self.run = run
        self.call = call
        self.agent = call.agent
        self._histories = histories
        self._thread = thread
        self._over = False

    def answered(
        self,
        text: str | None,
        *,
        tool_calls: Sequence[ToolRequest] = (),
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        id: str = "",
    ) -> int | None:
        """Say what came back: the model call is over, and what it said is an utterance.

        Args:
            text: What the model said; None when withheld.
            tool_calls: The tools it asks for.
            input_tokens: As reported.
            output_tokens: As reported.
            id: The provider's id of the answer, which a later request may name in ``follows``.

        Returns:
            The utterance's row; None where the answer is nobody's utterance.
        """
        if self._over:
            return None
        self._over = True
        index = None
        try:
            self.call.answered(text, input_tokens=input_tokens, output_tokens=output_tokens)
            if self._thread is not None and not self._thread.talk.by_hand:
                index = self.run.message(
                    self.agent, text, tool_calls=tool_calls, carriers=(self.call,)
                )
            if self._thread is not None:
                said = HistoryMessage(role="assistant", content=text, tool_calls=tuple(tool_calls))
                row = None if index is None else Row(index, self.run.branch, self.agent)
                self._histories.came_back(self._thread, said, id, row)
        finally:
            self.call.end()
        return index

    def failed(self, error: BaseException | str) -> None:
        """Say that the call failed; whoever asks the same again goes on in the same run."""
        if self._over:
            return
        self._over = True
        try:
            self.call.answered(error=error)
            if self._thread is not None:
                kind = error if isinstance(error, str) else error_type(error)
                failed = isinstance(error, (str, Exception))  # not cancelled, not interrupted
                outcome: Outcome = "error" if failed else "cancelled"
                self._histories.came_to_nothing(self._thread, outcome, kind)
        finally:
            self.call.end(error)

    def abandoned(self, text: str | None = None) -> None:
        """Say that nobody reads the rest of a streamed answer.

        Args:
            text: What of it was read. It is no utterance: nobody will hear all of it.
        """
        if self._over:
            return
        self._over = True
        try:
            self.call.answered(text)
            if self._thread is not None:
                self._histories.came_to_nothing(self._thread, "abandoned", "stream left early")
        finally:
            self.call.end()
