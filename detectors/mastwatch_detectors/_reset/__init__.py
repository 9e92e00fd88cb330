"""The rules of ``conversation_reset``, one module per kind of evidence."""
