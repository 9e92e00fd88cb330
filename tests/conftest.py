"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ["MASTWATCH_RAISE_ERRORS"] = "1"
os.environ.setdefault("MASTWATCH_PROMETHEUS_PORT", "0")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Apps and helpers beside the tests hold no doctests, and importing an app would run it."""
    name = collection_path.name
    helper = name.endswith(".py") and not name.startswith(("test_", "conftest"))
    return True if helper else None


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of recorded runs; the test is skipped where there is none."""
    folder = os.environ.get("MASTWATCH_TRACES")
    if not folder:
        pytest.skip("recorded runs: MASTWATCH_TRACES is not set")
    return Path(folder)


@pytest.fixture(autouse=True)
def _nothing_learned_of_models() -> None:
    """What one test taught the process of a model server is not known to the next one."""
    from mastwatch.judge import learned

    learned.forget()
