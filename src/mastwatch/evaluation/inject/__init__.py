"""Plants faults with a known onset in healthy runs.

Real runs with a certain label are few. A healthy run in which one thing was broken on purpose has
a label that is certain, down to the row. See ``docs/fault-injection.md``.

>>> from mastwatch.evaluation.inject import INJECTORS, inject
>>> host = {"id": "run-1", "success": True, "messages": [
...     {"index": n, "agent": agent, "role": "assistant", "content": text}
...     for n, (agent, text) in enumerate([
...         ("planner", "First we look up what the supplier charges for one pallet of tiles."),
...         ("buyer", "The supplier charges 320 euros for a pallet, delivery not included."),
...         ("planner", "Then ask whether the delivery to the building site costs extra."),
...         ("buyer", "Delivery costs 45 euros, and they can come on Thursday morning."),
...         ("planner", "Good, that is within the budget, so please place the order."),
...         ("buyer", "The order is placed and confirmed for Thursday at nine."),
...     ])
... ]}
>>> run = inject(host, "exact_message", k=2)
>>> run["injection"]["mode"], len(run["messages"])
('FM-1.3', 8)
>>> first, third = run["injection"]["onset"], run["injection"]["earliest"]
>>> run["messages"][first]["content"] == run["messages"][third]["content"]
True
"""

import mastwatch.evaluation.inject.cycles
import mastwatch.evaluation.inject.history
import mastwatch.evaluation.inject.misalignment
import mastwatch.evaluation.inject.repetition
import mastwatch.evaluation.inject.reset
import mastwatch.evaluation.inject.specification
import mastwatch.evaluation.inject.termination
import mastwatch.evaluation.inject.verification  # noqa: F401 - each registers its injectors
from mastwatch.evaluation.inject.healthy import is_host
from mastwatch.evaluation.inject.injector import (
    INJECTORS,
    Injector,
    generate,
    inject,
    injector,
)
from mastwatch.evaluation.inject.records import (
    Host,
    Message,
    Planted,
    Record,
    Step,
    again,
    flat,
    say,
)
from mastwatch.evaluation.inject.semantic import SEMANTIC

__all__ = [
    "INJECTORS",
    "SEMANTIC",
    "Host",
    "Injector",
    "Message",
    "Planted",
    "Record",
    "Step",
    "again",
    "flat",
    "generate",
    "inject",
    "injector",
    "is_host",
    "say",
]
