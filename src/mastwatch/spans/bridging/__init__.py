"""From foreign spans to Events: what is open, who of several producers counts, what is told."""
