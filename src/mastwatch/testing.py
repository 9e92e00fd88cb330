"""The public kit for testing detectors of your own."""
