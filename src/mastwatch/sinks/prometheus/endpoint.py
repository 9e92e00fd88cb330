"""The ``/metrics`` endpoint in the host's process."""

from __future__ import annotations

import errno

from prometheus_client import start_http_server as serve
from prometheus_client.registry import Collector

PORTS_TRIED = 10


class MetricsServer:
    """Serves a registry's ``/metrics`` on loopback in a daemon thread.

    Args:
        host: Address to bind.
        port: First port tried; a taken one is tried up to +9.
        registry: What to serve.
        or_any: Whether any free port will do where all of these are taken.

    Raises:
        OSError: None of the ports could be bound.
    """

    def __init__(self, host: str, port: int, registry: Collector, *, or_any: bool = False) -> None:
        ports = [p for p in range(port, port + PORTS_TRIED) if p < 65_536] + [0] * or_any
        for tried in ports:
            try:
                self._server, self._thread = serve(tried, addr=host, registry=registry)
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE or tried == ports[-1]:
                    raise
        self.host = host
        self.port = int(self._server.server_port)
        self.url = f"http://{bracketed(host)}:{self.port}/metrics"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=1)

    def leave(self) -> None:
        """Let go of a parent's socket, in a forked child; the parent goes on serving."""
        self._server.socket.close()


def bracketed(host: str) -> str:
    """A host as it stands in an address with a port.

    >>> bracketed("::1"), bracketed("127.0.0.1")
    ('[::1]', '127.0.0.1')
    """
    return f"[{host}]" if ":" in host else host
