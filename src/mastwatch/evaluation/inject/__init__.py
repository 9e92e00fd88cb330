"""Plants faults with a known onset in healthy runs."""
