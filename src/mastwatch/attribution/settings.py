"""How failed runs are attributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mastwatch.store import Method

Compat = Literal["", "paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionSettings:
    """How failed runs are attributed; the model, its limits and its cache are the judge's.

    Attributes:
        method: ``propose_verify``, ``all_at_once``, ``step_by_step`` or ``binary_search``.
        ground_truth: Show the model the right answer, where the run has one (``expected``).
        compat: ``paper``: the inputs and the control flow of the Who&When paper's released code
            (steps unnumbered in two of the methods, nothing asked twice, no hints) with prompts in
            our words; for the three methods of that paper only.
        hints: Tell the model what live detectors and the judge found.
        candidates: Steps that ``propose_verify`` asks for.
        neighbours: Rows on either side that are shown whole when a candidate is checked.
    """

    method: Method = "propose_verify"
    ground_truth: bool = False
    compat: Compat = ""
    hints: bool = True
    candidates: int = 3
    neighbours: int = 6
