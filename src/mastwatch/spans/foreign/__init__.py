"""Spans that others made: what they say, whoever said it."""
