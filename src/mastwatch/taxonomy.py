"""The 14 failure modes of MAST: the only place where codes, slugs and names are written.

Source: Cemri et al., "Why Do Multi-Agent LLM Systems Fail?", arXiv 2503.13657 v3. The slug is the
key in code, storage and metrics; ``FM-x.y`` is the display form. Names of 3.2 and 3.3 differ
between published tools; ours are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

TAXONOMY_VERSION = "mast14@2503.13657v3"


class Category(str, Enum):
    """The three MAST categories."""

    SYSTEM_DESIGN = "system_design"
    INTER_AGENT_MISALIGNMENT = "inter_agent_misalignment"
    TASK_VERIFICATION = "task_verification"


class Stage(str, Enum):
    """When in a run a mode usually shows; a reporting label, never a gate."""

    PRE = "pre_execution"
    EXECUTION = "execution"
    POST = "post_execution"


@dataclass(frozen=True, slots=True)
class FailureMode:
    """One MAST failure mode.

    Attributes:
        code: Display form, always with the prefix: ``FM-1.3``.
        slug: Stable key: ``step_repetition``.
        name: The paper's name.
        category: One of the three MAST categories.
        stage: Where in a run it usually shows.
        fatal: Occurs almost only in failed runs (the paper's failure-against-success table).
    """

    code: str
    slug: str
    name: str
    category: Category
    stage: Stage
    fatal: bool = False


_DESIGN, _INTER, _VERIFY = Category
_PRE, _EXEC, _POST = Stage
_m = FailureMode

# fmt: off
MODES: tuple[FailureMode, ...] = (
    _m("FM-1.1", "disobey_task_specification", "Disobey task specification", _DESIGN, _PRE),
    _m("FM-1.2", "disobey_role_specification", "Disobey role specification", _DESIGN, _PRE),
    _m("FM-1.3", "step_repetition", "Step repetition", _DESIGN, _EXEC),
    _m("FM-1.4", "loss_of_conversation_history", "Loss of conversation history", _DESIGN, _EXEC),
    _m("FM-1.5", "termination_unawareness", "Unaware of termination conditions", _DESIGN, _POST,
          fatal=True),
    _m("FM-2.1", "conversation_reset", "Conversation reset", _INTER, _PRE),
    _m("FM-2.2", "fail_to_ask_for_clarification", "Fail to ask for clarification", _INTER, _EXEC),
    _m("FM-2.3", "task_derailment", "Task derailment", _INTER, _EXEC),
    _m("FM-2.4", "information_withholding", "Information withholding", _INTER, _EXEC, fatal=True),
    _m("FM-2.5", "ignored_agent_input", "Ignored other agent's input", _INTER, _EXEC),
    _m("FM-2.6", "reasoning_action_mismatch", "Reasoning-action mismatch", _INTER, _EXEC),
    _m("FM-3.1", "premature_termination", "Premature termination", _VERIFY, _POST),
    _m("FM-3.2", "no_or_incomplete_verification", "No or incomplete verification", _VERIFY, _POST),
    _m("FM-3.3", "incorrect_verification", "Incorrect verification", _VERIFY, _POST),
)
# fmt: on

_BY_KEY = {key: mode for mode in MODES for key in (mode.code, mode.slug)}


def mode(key: str) -> FailureMode:
    """Look a mode up by code (``FM-1.3``) or slug (``step_repetition``).

    Args:
        key: Code with its prefix, or slug. A bare ``1.3`` is refused: other taxonomies number
            differently.

    Raises:
        KeyError: ``key`` is neither a code nor a slug of the 14 modes.

    >>> mode("FM-1.3").name
    'Step repetition'
    """
    try:
        return _BY_KEY[key]
    except KeyError:
        known = ", ".join(m.code for m in MODES)
        raise KeyError(f"{key!r} is no MAST failure mode; known codes: {known}") from None
