"""The rules of ``termination_unawareness``, one module per kind of evidence."""
