"""OpenTelemetry in and out; the only package that imports it."""
