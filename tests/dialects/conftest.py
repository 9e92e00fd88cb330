"""Recorders are scripts with dependencies of their own."""

collect_ignore = ["record"]
