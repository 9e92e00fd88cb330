"""A bridge, for those who look at what is told of foreign spans."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spans.bench import Bench


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A bridge on a provider of its own."""
    made = Bench()
    yield made
    made.bridge.close()
