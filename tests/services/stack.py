"""A real Prometheus and Alertmanager, who is told of alerts, and what is watched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from services.conftest import free_port, missing, wait_until


class Stack:
    """Starts servers and ends them; each has a folder of its own below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def prometheus(self, config: str, *, tsdb: Path | None = None) -> str:
        """Start a Prometheus; returns its address."""
        path = self.folder / "prometheus.yml"
        path.write_text(config)
        port = free_port()
        self._start(
            "prometheus",
            f"--config.file={path}",
            f"--storage.tsdb.path={tsdb or self.folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--enable-feature=exemplar-storage",
        )
        return self._ready(f"http://127.0.0.1:{port}", "Prometheus")

    def alertmanager(self, config: str) -> str:
        """Start an Alertmanager; returns its address."""
        path = self.folder / "alertmanager.yml"
        path.write_text(config)
        check = subprocess.run(["amtool", "check-config", str(path)], capture_output=True)
        assert check.returncode == 0, check.stdout
        port = free_port()
        self._start(
            "prometheus-alertmanager",
            f"--config.file={path}",
            f"--storage.path={self.folder / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        )
        return self._ready(f"http://127.0.0.1:{port}", "Alertmanager")

    def _start(self, program: str, *options: str) -> None:
        if shutil.which(program) is None:
            missing(program)
        log = (self.folder / f"{program}.log").open("w")
        self._processes.append(subprocess.Popen([program, *options], stdout=log, stderr=log))

    def _ready(self, url: str, what: str) -> str:
        wait_until(lambda: urllib.request.urlopen(f"{url}/-/ready").status == 200, what)
        return url

    def close(self) -> None:
        for process in self._processes:
            process.terminate()
            process.wait(10)


class Receiver:
    """The webhook at the far end: keeps what an Alertmanager tells it."""

    def __init__(self) -> None:
        self.alerts: list[dict] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.alerts += json.loads(body)["alerts"]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def told(self, name: str, status: str) -> list[dict]:
        """The alerts of a name and a status, ``firing`` or ``resolved``."""
        named = [a for a in self.alerts if a["labels"]["alertname"] == name]
        return [a for a in named if a["status"] == status]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Process:
    """A mastwatch command under way, and the port of its metrics."""

    def __init__(self, folder: Path, *words: str, variable: str) -> None:
        self.port = free_port()
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "MASTWATCH_"))}
        self._log = (folder / f"{words[-1]}.log").open("w")
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "mastwatch", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, cwd=folder,
            env={**clean, "OPENAI_API_KEY": "none", variable: str(self.port)},
        )  # fmt: skip

    def go(self) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write("\n")
        self.popen.stdin.flush()

    def read_until(self, line: str) -> None:
        assert self.popen.stdout is not None
        for said in self.popen.stdout:
            if said.strip() == line:
                return
        pytest.fail(f"it ended before it said {line!r}: {Path(self._log.name).read_text()}")

    def close(self) -> None:
        self.popen.terminate()
        try:
            self.popen.wait(5)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self._log.close()
