"""A real browser for the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser.chromium import Chromium, find
from services.conftest import missing


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = find()
    if program is None:
        missing("Chromium")
    browser = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium: Chromium) -> Chromium:
    """At a desk, by day."""
    chromium.screen(1280, 900)
    chromium.scripts(on=True)
    return chromium
