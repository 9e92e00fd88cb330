"""The kit's words under the name that some tests know; new tests import ``mastwatch.testing``."""

from mastwatch import registry
from mastwatch.testing import Script, Seen, watched

__all__ = ["DETECTORS", "Script", "Seen", "watched"]

DETECTORS = registry.detectors()
