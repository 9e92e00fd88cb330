"""Who decided the failure of a run, at which step, and what would have saved it.

Four methods: ``all_at_once``, ``step_by_step`` and ``binary_search`` as in Who&When (arXiv
2505.00212), and ``propose_verify``, the default.
"""

from mastwatch.attribution.api import (
    all_at_once,
    binary_search,
    propose_verify,
    step_by_step,
)
from mastwatch.attribution.attributor import Attributor
from mastwatch.judge.settings import AttributionSettings

__all__ = [
    "AttributionSettings",
    "Attributor",
    "all_at_once",
    "binary_search",
    "propose_verify",
    "step_by_step",
]
