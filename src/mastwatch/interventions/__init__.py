"""What the host lets mastwatch do to a run on a finding: end it, or put a message into it.

Nothing here acts unless rules ask for it (``[[actions.intervene]]``, ``instrument(actions=[...])``)
or the host calls ``mastwatch.halt()``. A finding becomes an order for its run; the instrumentor of
the run's framework carries it out at its next hook, by the framework's own means.
"""

from mastwatch.interventions.control import Interventions
from mastwatch.interventions.orders import MAX_ROWS, RunHalted
from mastwatch.interventions.rules import Intervention, out_of_reach, read_interventions
from mastwatch.interventions.wording import SPEAKER

__all__ = [
    "MAX_ROWS",
    "SPEAKER",
    "Intervention",
    "Interventions",
    "RunHalted",
    "out_of_reach",
    "read_interventions",
]
