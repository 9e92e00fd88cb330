"""Where findings go: metrics, spans, log lines."""
