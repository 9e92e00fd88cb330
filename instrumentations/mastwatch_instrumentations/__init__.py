"""What attaches mastwatch to frameworks: one module or folder each."""
