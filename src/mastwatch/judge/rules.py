"""What evidence must look like before a mode counts as present."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.store import Evidence, Trace

LAST_SHARE = 0.2
"""Part of the run, at its end, that evidence of FM-1.5 and FM-3.1 must reach into."""
_AT_END = ("termination_unawareness", "premature_termination")
_BETWEEN_AGENTS = (
    "information_withholding",
    "ignored_agent_input",
    "fail_to_ask_for_clarification",
)
_ALSO_ALONE = ("conversation_reset", "task_derailment", "reasoning_action_mismatch")
_CHECKED = ("no_or_incomplete_verification", "incorrect_verification")


def broken_rule(slug: str, evidence: Sequence[Evidence], trace: Trace) -> str:
    """Name the rule that evidence of a mode breaks, or return an empty string.

    - every mode: there is evidence (``no_evidence``);
    - ``step_repetition``: in two rows at least (``one_row``);
    - ``termination_unawareness``, ``premature_termination``: some of it among the last 20 % of the
      rows (``not_at_end``);
    - modes between agents: two agents at least; for ``fail_to_ask_for_clarification`` a person is
      one (``single_agent``). FM-2.1, FM-2.3 and FM-2.6 show in runs of one agent too: ``remark``;
    - modes of verification: some of it is the claim or the check, hence no person's words and no
      opening (``no_claim``).
    """
    rows = {item.message_index for item in evidence}
    if not rows:
        return "no_evidence"
    if slug == "step_repetition" and len(rows) < 2:
        return "one_row"
    if slug in _AT_END and max(rows) < _end_begins(trace):
        return "not_at_end"
    if slug in _BETWEEN_AGENTS and _parties(trace, persons=slug.startswith("fail_to_ask")) < 2:
        return "single_agent"
    if slug in _CHECKED and not any(
        row.index in rows and row.kind not in ("human", "opener", "system") for row in trace.rows
    ):
        return "no_claim"
    return ""


def remark(slug: str, trace: Trace) -> str:
    """What is to be noted beside a mode that is present, or an empty string.

    ``single_agent``: a mode that MAST counts as one between agents, in a run of one.
    """
    return "single_agent" if slug in _ALSO_ALONE and _parties(trace, persons=False) < 2 else ""


def _end_begins(trace: Trace) -> int:
    rows = [row.index for row in trace.rows]
    return rows[min(int(len(rows) * (1 - LAST_SHARE)), len(rows) - 1)]


def _parties(trace: Trace, *, persons: bool) -> int:
    # Who only opens a run may be the person whose task it is.
    kinds = ("reply", "opener", "human") if persons else ("reply",)
    return len({row.agent for row in trace.rows if row.kind in kinds and row.agent})
