"""Who decided the failure of a run, at which step, and what would have saved it.

Four methods: ``all_at_once``, ``step_by_step`` and ``binary_search`` as in Who&When (arXiv
2505.00212), and ``propose_verify``, the default; each a function of a run (see ``api``).
"""

from typing import TYPE_CHECKING, Any

from mastwatch.attribution.attributor import Attributor
from mastwatch.judge.settings import AttributionSettings

if TYPE_CHECKING:
    from mastwatch.attribution.api import (
        all_at_once,
        binary_search,
        propose_verify,
        step_by_step,
    )

__all__ = [
    "AttributionSettings",
    "Attributor",
    "all_at_once",
    "binary_search",
    "propose_verify",
    "step_by_step",
]


def __getattr__(name: str) -> Any:
    # The functions read logs of every format; a worker inside the host needs none of that.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mastwatch.attribution import api

    return getattr(api, name)
