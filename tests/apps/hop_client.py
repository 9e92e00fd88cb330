"""An agent that asks another process."""

from __future__ import annotations

import sys
import urllib.request

import mastwatch

with mastwatch.run("voyage", task="Bring the ship in."):
    mastwatch.message("Pilot", "Let us ask how deep it is.")
    request = urllib.request.Request(sys.argv[1], headers=mastwatch.carrier())
    with urllib.request.urlopen(request, timeout=30) as answer:
        mastwatch.message("Pilot", f"The service says {answer.read().decode()}.")
    print("in")
