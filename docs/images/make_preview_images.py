"""Make the pictures of the preview: ``python docs/images/make_preview_images.py``.

The figures are made up (``tests/dashboards/synthetic.py``); Prometheus answers the queries and
mastwatch draws the answers. It takes a Prometheus with promtool and a Chromium on the PATH.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from browser.chromium import Chromium, find  # noqa: E402
from dashboards.synthetic import block, openmetrics  # noqa: E402
from mastwatch.panels.files import dashboards  # noqa: E402
from mastwatch.panels.preview import page  # noqa: E402
from mastwatch.panels.queries import Times  # noqa: E402
from mastwatch.panels.server import Prometheus  # noqa: E402
from services.stack import Stack  # noqa: E402

HOURS = 6
_BOXES = """[...document.querySelectorAll("section")].map(s => {
  const r = s.getBoundingClientRect(); return [s.id, r.x, r.y + scrollY, r.width, r.height]; })"""


def main() -> None:
    """Write the pictures beside this file, one for each dashboard."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder, "preview.html")
        drawn.write_text(_page(Path(folder)), encoding="utf-8")
        browser = Chromium(find() or sys.exit("no Chromium on the PATH"), Path(folder, "profile"))
        try:
            browser.screen(1440, 900)
            browser.open(drawn)
            for name, x, y, width, height in browser.evaluate(_BOXES):
                place = {"x": x - 12, "y": y - 4, "width": width + 24, "height": height + 4}
                told = browser.call(
                    "Page.captureScreenshot",
                    format="png", captureBeyondViewport=True, clip={**place, "scale": 0.75},
                )  # fmt: skip
                target = HERE / f"preview-{name.removeprefix('mastwatch-')}.png"
                target.write_bytes(base64.b64decode(told["data"]))
        finally:
            browser.close()


def _page(folder: Path) -> str:
    now, seconds = int(time.time()), HOURS * 3_600
    tsdb = block(folder, openmetrics(now - seconds - 3_600, now, 60))
    stack = Stack(folder)
    try:
        url = stack.prometheus("global: {scrape_interval: 15s}\n", tsdb=tsdb)
        return page(Prometheus(url), dashboards(), Times(seconds, seconds // 120))
    finally:
        stack.close()


if __name__ == "__main__":
    main()
