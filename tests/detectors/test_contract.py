"""Every registered detector, ours and those of others, keeps the contract."""

from __future__ import annotations

import pytest

from mastwatch import registry
from mastwatch.detector import Detector
from mastwatch.testing import check_detector

DETECTORS = registry.detectors()


def test_there_are_detectors_to_check() -> None:
    assert {make.mode for make in DETECTORS} >= {"FM-1.3", "FM-1.5", "FM-2.1"}


def test_every_detector_speaks_under_a_name_of_its_own() -> None:
    names = [make.name for make in DETECTORS]
    assert len(names) == len(set(names))


@pytest.mark.slow
@pytest.mark.parametrize("make", DETECTORS, ids=lambda make: make.name)
def test_detector_keeps_the_contract(make: type[Detector]) -> None:
    check_detector(make)
