"""A headless Chromium, driven over its DevTools pipe: no driver, no library, no open port."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PIPES = (  # DevTools speaks on the file descriptors 3 and 4
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4);"
    "os.execvp(sys.argv[3], sys.argv[3:])"
)


def find() -> str | None:
    """The browser's program, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(Exception):
    """The browser refused or did not answer."""


class Chromium:
    """One browser process with one page.

    Attributes:
        complaints: Errors of scripts and console, refused content, failed requests.
        requests: Addresses the page asked for.
    """

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        flags = [
            "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}",
            "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--disable-extensions", "--disable-background-networking", "--force-color-profile=srgb",
        ]  # fmt: skip
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # it refuses to start as root otherwise
        pipes = [str(to_browser), str(from_browser)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PIPES, *pipes, program, *flags],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._buffer = b""
        self._session = ""
        self._loaded = False
        self._scripts = True
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait(10)
        os.close(self._write)
        os.close(self._read)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a DevTools command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def screen(self, width: int, height: int, *, dark: bool = False, scale: float = 1) -> None:
        """Set the size of the window and the reader's colour scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=scale, mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def scripts(self, on: bool) -> None:
        """Run the page's scripts or not; ``evaluate`` works all the same."""
        self._scripts = on
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, path: Path, fragment: str = "") -> float:
        """Load a file; returns the seconds it took until all of it was there and drawn."""
        self._go("about:blank")  # else a mere change of the fragment would load nothing
        self.complaints.clear()
        self.requests.clear()
        began = time.monotonic()
        self._go(path.as_uri() + fragment)
        self.settle()
        return time.monotonic() - began

    def _go(self, address: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=address)
        while not self._loaded:
            self._next()

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Click the middle of an element, as a mouse does."""
        box = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getClientRects()[0];"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind, x=box[0], y=box[1], button="left", clickCount=1,
            )  # fmt: skip
        self.settle()

    def press(self, key: str, code: int = 0) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        if key == "Enter":
            text = {"text": "\r"}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )  # fmt: skip
        self.settle()

    def settle(self) -> None:
        """Wait until the page has been drawn again."""
        if not self._scripts:
            self.call("Page.captureScreenshot", format="jpeg", quality=1)
            return
        self.call(
            "Runtime.evaluate",
            expression="new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))",
            awaitPromise=True,
        )

    def shot(self, path: Path, *, whole: bool = False) -> None:
        """Save a picture of the window, or of the whole page."""
        extra: dict[str, Any] = {"captureBeyondViewport": True} if whole else {}
        data = self.call("Page.captureScreenshot", format="png", **extra)["data"]
        path.write_bytes(base64.b64decode(data))

    def _next(self, seconds: float = 60) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], seconds)[0]:
                raise BrowserError(f"no answer within {seconds:.0f} s")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise BrowserError("the browser has gone")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, told: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"]["text"])
        elif method == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.complaints.append(_words(told["args"]))
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"a dialog opened: {told['message']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])


def _words(values: Sequence[dict[str, Any]]) -> str:
    return " ".join(str(value.get("value", "")) for value in values)
