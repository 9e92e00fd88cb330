"""The ``/metrics`` endpoint in the host's process."""

from __future__ import annotations

import errno

from prometheus_client import CollectorRegistry
from prometheus_client import start_http_server as serve

PORTS_TRIED = 10


class MetricsServer:
    """Serves a registry's ``/metrics`` on loopback in a daemon thread.

    Args:
        host: Address to bind.
        port: First port tried; a taken one is tried up to +9.
        registry: What to serve.

    Raises:
        OSError: None of the ports could be bound.
    """

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        for offset in range(PORTS_TRIED):
            try:
                self._server, self._thread = serve(port + offset, addr=host, registry=registry)
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE or offset == PORTS_TRIED - 1:
                    raise
        self.port = port + offset
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.port}/metrics"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=1)
