"""The rules of ``step_repetition``, one module per kind of evidence."""
