"""Finished runs, what was said of them, and the jobs that are still to be done.

``trace`` is what is kept of a run, ``report`` what a judge or an attribution says of it, ``base``
what a store must be able to do, ``sqlite`` the one that comes with mastwatch.
"""

from mastwatch.store.attribution import Attribution, Candidate, Method
from mastwatch.store.base import (
    Job,
    JobKind,
    Limits,
    RunFilter,
    Spend,
    Store,
    StoredRun,
    StoreError,
)
from mastwatch.store.report import Evidence, Report, TaskWord, Usage, Verdict, VerdictWord
from mastwatch.store.trace import ModelInput, Trace, TraceRow

__all__ = [
    "Attribution",
    "Candidate",
    "Evidence",
    "Job",
    "JobKind",
    "Limits",
    "Method",
    "ModelInput",
    "Report",
    "RunFilter",
    "Spend",
    "Store",
    "StoreError",
    "StoredRun",
    "TaskWord",
    "Trace",
    "TraceRow",
    "Usage",
    "Verdict",
    "VerdictWord",
]
