"""Rule T1: the run goes on after an agent ended it."""

from __future__ import annotations

from mastwatch.events import Contract
from mastwatch.findings import Severity
from mastwatch.signals import Signals, Utterance
from mastwatch_detectors._hit import Hit, level, rows

ECHO_WORDS = 8
_MARKER = "FINAL ANSWER"
_SPEAKERS_KEPT = 64
_VOTERS_KEPT = 16


class AfterClaim:
    """Counts what follows a claim: echoes (farewells, canned replies) and work.

    A person's message reopens the run. Where the contract asks for several votes the run is
    claimed once as many agents have spoken.

    An answer marker that no contract names may be how one station of a pipeline ends its part: as
    long as only stations that had not spoken before follow, once each, it is ``SUSPECT`` at most.
    """

    def __init__(self, work_warn: int, work_alert: int, echo_info: int, echo_warn: int) -> None:
        self._work_steps = {Severity.WARN: work_warn, Severity.ALERT: work_alert}
        self._echo_steps = {Severity.INFO: echo_info, Severity.WARN: echo_warn}
        self._voters: dict[str, int] = {}
        self._spoken: set[str] = set()
        self._speaker = ""  # whose turn it is
        self.reopen()

    def reopen(self) -> None:
        """Forget the claim: a person wants more."""
        self._voters.clear()
        self._token = ""
        self._pipeline = False  # ended by a marker, and only new stations spoke since
        self._agent: str | None = None
        self._rows: list[int] = []
        self._work = self._echo = 0
        self._tool = False
        self._claimant = ""

    @property
    def claimed(self) -> bool:
        """The run has been ended by its agents' own words."""
        return bool(self._token)

    def observe(self, signals: Signals) -> Hit | None:
        """Take an event in."""
        if signals.human:
            self.reopen()
            return None
        if not self.claimed:
            self._note_speakers(signals)
            self._vote(signals)
            return None
        said = signals.utterance
        if said is None or said.kind != "system":
            self._note_speakers(signals)
        if said is not None and said.kind == "system":
            return None
        calls = [call for call in signals.calls if not call.finishes]
        if calls:
            return self._went_on(calls[0].agent, calls[0].row, tool=True)
        if signals.result is not None:
            # A result belongs to the call that was counted; without one it is a canned reply.
            return None if signals.result.call is not None else self._echoed("", signals.index)
        return None if said is None else self._spoke(said)

    def _note_speakers(self, signals: Signals) -> None:
        if signals.utterance is not None:
            self._note_turn(signals.utterance.agent)
        else:
            for call in signals.calls:
                self._note_turn(call.agent)

    def _note_turn(self, agent: str) -> None:
        if agent == self._speaker:
            return
        self._speaker = agent
        if agent in self._spoken or len(self._spoken) >= _SPEAKERS_KEPT:
            self._pipeline = False
        else:
            self._spoken.add(agent)

    def _vote(self, signals: Signals) -> None:
        said = signals.utterance
        if said is not None and said.claim:
            self._add(said.agent, said.claim, said.row, signals.contract)
        for call in signals.calls:
            if call.finishes:
                self._add(call.agent, call.tool, call.row, signals.contract)

    def _add(self, agent: str, token: str, row: int, contract: Contract) -> None:
        if len(self._voters) < _VOTERS_KEPT:
            self._voters[agent] = row
        if len(self._voters) >= min(contract.votes, _VOTERS_KEPT):
            self._token = token
            self._rows = [row]
            self._claimant = agent or "An agent"
            self._pipeline = token == _MARKER and _MARKER not in contract.tokens
            self._speaker = ""

    def _spoke(self, said: Utterance) -> Hit | None:
        canned = said.kind in ("auto_reply", "code") or said.role == "tool"
        if said.claim or said.closing or canned or said.words < ECHO_WORDS:
            return self._echoed(said.agent, said.row)
        return self._went_on(said.agent, said.row, tool=False)

    def _echoed(self, agent: str, row: int) -> Hit | None:
        self._echo += 1
        return self._hit(agent, row)

    def _went_on(self, agent: str, row: int, *, tool: bool) -> Hit | None:
        self._work += 1
        self._tool = self._tool or tool
        return self._hit(agent, row)

    def _hit(self, agent: str, row: int) -> Hit | None:
        self._rows.append(row)
        if len(self._rows) > 64:
            del self._rows[1]
        if self._agent is None:
            self._agent = agent
        levels = [level(self._work, self._work_steps), level(self._echo, self._echo_steps)]
        if self._tool:
            levels.append(Severity.ALERT)
        severity = max((s for s in levels if s is not None), default=None)
        if severity is None:
            return None
        return Hit(
            min(severity, Severity.SUSPECT) if self._pipeline else severity,
            f"claim:{self._token}",
            self._agent,
            rows(self._rows),
            f"{self._claimant} had ended the run at row {self._rows[0]}, and it went on: "
            f"{self._work} working and {self._echo} echoing messages or calls since, the latest by "
            f"{agent or 'an agent'}",
        )
