"""The detectors of MAST failure modes that come with mastwatch: one public module per mode."""
