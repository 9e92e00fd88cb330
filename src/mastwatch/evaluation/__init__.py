"""How good the detectors are: labelled runs, planted faults, and floors to beat."""
