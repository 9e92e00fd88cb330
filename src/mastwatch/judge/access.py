"""One model, and what all who ask it share: pace, what was learned of it, answers, limits."""

from __future__ import annotations

from mastwatch.judge.asking import Asking
from mastwatch.judge.budget import Account, Budget
from mastwatch.judge.client import ModelClient
from mastwatch.judge.learned import known
from mastwatch.judge.pace import Pace
from mastwatch.judge.settings import JudgeSettings
from mastwatch.store import Limits, Store


class ModelAccess:
    """The way to a model for the judge and for attribution: one queue, one budget, one cache.

    Args:
        client: The model.
        settings: Time-outs, retries, sampling, limits of one run.
        store: Counts daily limits and keeps answers; optional.
        limits: What all runs together may cost.
    """

    def __init__(
        self,
        client: ModelClient,
        settings: JudgeSettings,
        store: Store | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.client = client
        self.settings = settings
        self.learned = known(client)
        self._store = store
        self._shared = Account(limits or Limits(), "all runs together")
        self._asking = Asking(client, settings, Pace(settings.concurrency), self.learned, store)
        self.ask = self._asking.ask

    def budget(self) -> Budget:
        """What one run may cost."""
        return Budget(self.settings, self._store, self._shared)

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self.client.close()
