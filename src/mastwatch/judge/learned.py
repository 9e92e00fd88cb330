"""What is learned of a model while it is asked, kept for as long as the process lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from mastwatch.judge.client import ModelClient

MAX_SERVERS = 64
"""Models remembered; beyond them the one used longest ago is learned anew."""
MOST = 4.0
"""Highest correction of the token estimate that is believed."""
_LEAST_TOKENS = 1_000
"""Shorter questions teach nothing: what servers add to every request would weigh too much."""
_CUT_FROM, _CUT_BELOW = 8_000, 0.2


@dataclass(slots=True)
class Learned:
    """What was learned of one model at one server; shared by all questions to it.

    Attributes:
        rung: The strictest way of holding replies to the schema that it accepts.
        sampling: It accepts sampling parameters.
        context: Tokens of question and reply that it can take; None while it never complained.
        correction: Reported over estimated tokens, at its highest; never below 1.
    """

    rung: int = 0
    sampling: bool = True
    context: int | None = None
    correction: float = 1.0

    def used(self, reported: int | None, estimated: int) -> float:
        """Learn from the tokens a question took.

        Args:
            reported: As the server says.
            estimated: As we did, uncorrected.

        Returns:
            Their ratio; 0 where nothing was reported.
        """
        if not reported:
            return 0.0
        ratio = reported / estimated
        if estimated >= _LEAST_TOKENS:
            self.correction = max(self.correction, min(ratio, MOST))
        return ratio

    def overflowed(self, estimated: int, reply: int, stated: int) -> None:
        """Learn what the model can take from a server that said so.

        Args:
            estimated: Tokens of the question that was too long, uncorrected.
            reply: Tokens set aside for its reply.
            stated: What the server said.
        """
        self.context = stated if self.context is None else min(self.context, stated)
        room = stated - reply
        if room > estimated * self.correction:  # it should have fitted: the estimate was too low
            self.correction = max(self.correction, min(room / estimated, MOST))


def was_cut(reported: int | None, estimated: int) -> bool:
    """Whether a server read far less than it was sent, without saying so.

    Ollama drops what is over its context. No tokenizer needs so few tokens for so many bytes.
    """
    return bool(reported) and estimated >= _CUT_FROM and (reported or 0) < _CUT_BELOW * estimated


_lock = threading.Lock()  # protects _known
_known: OrderedDict[tuple[str, str, str], Learned] = OrderedDict()


def known(client: ModelClient) -> Learned:
    """What this process has learned of a client's model, whoever asked it."""
    key = (client.provider, client.address, client.model)
    with _lock:
        learned = _known.setdefault(key, Learned())
        _known.move_to_end(key)
        while len(_known) > MAX_SERVERS:
            _known.popitem(last=False)
        return learned


def forget() -> None:
    """Forget all servers: one was changed, or a test begins."""
    with _lock:
        _known.clear()
