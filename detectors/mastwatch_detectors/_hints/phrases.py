"""What agents say of their deeds, in all languages; evidence only beside a fact that belies it."""

from __future__ import annotations

from mastwatch.signals.phrases import Phrases, pattern

CORRECTION = Phrases("correction")
TO_COME = Phrases("to_come")
ANNOUNCES = Phrases("announces")
RAN_WELL = Phrases("ran_well")
HAVE_DONE = Phrases("have_done")
WAS_DONE = Phrases("was_done")
ADMITS = Phrases("admits")

PLACEHOLDER = pattern("placeholder")
"""A regular expression."""
