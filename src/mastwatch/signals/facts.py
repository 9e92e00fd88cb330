"""What ``Signals`` says about the present event: small immutable records for the detectors."""

from __future__ import annotations

from typing import Literal, NamedTuple

from mastwatch.events import MessageKind, MessageSent, Role
from mastwatch.signals import claims
from mastwatch.signals import text as texts
from mastwatch.signals.clusters import Clusters

OPENING_WORDS = 40

ErrorClass = Literal["", "error", "infra"]
"""``infra`` is weather (429, 5xx, timeout, connection): it says nothing about the agent."""

RequestChange = Literal[
    "first",
    "append",
    "tail_rewrite",
    "compaction",
    "trim",
    "task_lost",
    "system_lost",
    "reset",
    "shrunk",
    "fresh",
]
"""How a model request relates to the agent's one before; see ``signals.requests``."""


class Call(NamedTuple):
    """A tool call, counted once whether a message, a tool event or both announced it.

    Attributes:
        key: Canonical identity of tool and arguments: key order and volatile ids do not matter.
        tool: The tool's name.
        agent: Who asked.
        row: Row at which it was first seen.
        call_id: The provider's id, if any.
        mutating: It changes the world; guessed from the tool's name where the source is silent.
        poll: The source says it is meant to be asked again and again.
        spacer: It only passes time or moves a viewport (``sleep``, ``wait``, ``scroll``).
        finishes: It ends the run (``final_answer``, ``complete_task``).
        argument_words: Hashes of the words of its arguments, at most 16.
        times: How often this key has been called before, 0 for the first time. Keys out of use
            for 112 others are forgotten.
    """

    key: int
    tool: str
    agent: str
    row: int
    call_id: str | None
    mutating: bool
    poll: bool
    spacer: bool
    finishes: bool
    argument_words: texts.Hashes[int]
    times: int


class Result(NamedTuple):
    """What a tool gave back.

    Attributes:
        call: The call it answers; None when no call was seen.
        row: Its row.
        digest: Identity of the result, volatile tokens masked; 0 when withheld.
        known: The same call had returned before.
        changed: It had returned, and something else than now.
        varied: How many different results this call has given so far, at most 8.
        error: What kind of failure it was, or empty.
        empty: Nothing came back (``""``, ``[]``, ``{}``, ``None``).
        words: Its length in words.
        novelty: Share of its text not met before in the run; None under 6 words.
    """

    call: Call | None
    row: int
    digest: int
    known: bool
    changed: bool
    varied: int
    error: ErrorClass
    empty: bool
    words: int
    novelty: float | None


class Utterance:
    r"""One message, as far as detectors need to know it.

    What only few messages are asked is worked out when asked: read it while the message is the
    present one, and keep what you need of it, not the utterance, which holds the text.

    Attributes:
        agent: Who spoke.
        row: Its row.
        role: As in the event.
        kind: As in the event.
        by_model: A language model wrote it: no tool, no person, no proxy, no opening message.
        words: Length in words; scripts without spaces count two characters as a word. Guessed from
            the length over 400 characters.
        digest: Identity of the exact text; 0 when empty or withheld.
        cluster: Digest of the first of the agent's recent messages this one nearly repeats; its
            own digest when it repeats none.
        seen: It nearly repeats a recent message of its agent.
        novelty: Share of its text not met before in the run; None under 6 words.
        new_numbers: Numbers in it that the run had not met; 0 where the task is none of numbers.
        restates: It holds a number that the latest work had given: a tool's result, or a message
            with a new number. Numbers of the task are none. False where the task is none of them.
        claim: What ends the run by its own words: a token or a finishing tool's name; or empty.
        answer: Digest of the final value it states (``\boxed{7}``, ``FINAL ANSWER: 7``), or 0.
        task_overlap: Share of the task's 3-grams it holds, 0 to 1; 0 where few of its fragments
            are found, and where the task is short.
        calls: The tool calls it makes.
    """

    __slots__ = (
        "_clusters", "_text", "agent", "answer", "by_model", "calls", "claim", "cluster", "digest",
        "kind", "new_numbers", "novelty", "restates", "role", "row", "seen", "task_overlap",
        "words",
    )  # fmt: skip

    def __init__(
        self,
        event: MessageSent,
        text: str,
        by_model: bool,
        words: int,
        calls: tuple[Call, ...],
        clusters: Clusters,
    ) -> None:
        self._text = text
        self._clusters = clusters
        self.agent = event.sender
        self.row = event.index
        self.role: Role = event.role
        self.kind: MessageKind = event.kind
        self.by_model = by_model
        self.words = words
        self.calls = calls
        self.digest = self.cluster = self.answer = self.new_numbers = 0
        self.seen = self.restates = False
        self.novelty: float | None = None
        self.claim = ""
        self.task_overlap = 0.0

    @property
    def exact_novelty(self) -> float:
        """Share of its 3-grams that no other recent message holds; dear: ask novelty first."""
        return self._clusters.new_share(self._text)

    @property
    def start(self) -> list[str]:
        """Its first 40 words."""
        return texts.start(self._text, OPENING_WORDS)

    @property
    def opening(self) -> frozenset[tuple[str, str, str]]:
        """Word 3-grams of its first 40 words; empty where neither model nor opener wrote it."""
        opens = self.by_model or self.kind == "opener"
        return frozenset(texts.grams(self.start)) if opens else frozenset()

    @property
    def closing(self) -> bool:
        """It is a short farewell without question or tool."""
        return not self.calls and claims.farewell(self._text)

    @property
    def verdict(self) -> bool:
        """It praises, agrees or confirms and asks for nothing."""
        return not self.calls and claims.verdict(self._text)

    @property
    def plain(self) -> bool:
        """It asks nothing, calls no tool and shows neither formula nor code."""
        return not self.calls and claims.plain(self._text)

    @property
    def unsolvable(self) -> bool:
        """It says the task cannot be done."""
        return claims.unsolvable(self._text)

    @property
    def settled(self) -> bool:
        """It says the answer stands and nothing is left to do."""
        return claims.settled(self._text)

    @property
    def question(self) -> bool:
        """It ends with a question mark."""
        return claims.question(self._text)

    @property
    def replan(self) -> bool:
        """It opens like a new plan."""
        return claims.replan(self._text)


class Request(NamedTuple):
    """What happened to an agent's model request since its last one.

    Attributes:
        agent: Who asked the model.
        change: How it relates to the request before.
        messages: How many messages it holds.
        before: How many the one before held.
        exact: The texts were there to compare; else only counts and tokens were.
    """

    agent: str
    change: RequestChange
    messages: int
    before: int
    exact: bool
