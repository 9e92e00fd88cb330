"""What the six suspect-level detectors share: kinds of tools, words of substance."""
