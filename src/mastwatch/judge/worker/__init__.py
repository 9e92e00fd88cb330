"""Judges finished runs behind the host's back, from the job table of a store.

``worker`` claims jobs, has them judged and gives the reports; ``fate`` says what becomes of a
report that a server's trouble left incomplete; ``thread`` runs a worker inside the host.
"""

from mastwatch.judge.worker.duty import Duty, JudgeDuty
from mastwatch.judge.worker.listener import Listener
from mastwatch.judge.worker.thread import WorkerThread
from mastwatch.judge.worker.worker import Worker

__all__ = ["Duty", "JudgeDuty", "Listener", "Worker", "WorkerThread"]
