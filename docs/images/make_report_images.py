"""Make the pictures of the reports: ``python docs/images/make_report_images.py``.

The run and the judge's report are written for this purpose (``tests/reports/sample.py``); no model
is asked. It takes a Chromium on the PATH.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from browser.chromium import Chromium, find  # noqa: E402
from mastwatch.reports import run_page, summarise, summary_page  # noqa: E402
from reports.sample import (  # noqa: E402
    sample_attribution,
    sample_cases,
    sample_report,
    sample_trace,
)


def main() -> None:
    """Write the pictures beside this file."""
    program = find()
    if program is None:
        sys.exit("no Chromium on the PATH; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        run, summary = Path(folder, "run.html"), Path(folder, "summary.html")
        page = run_page(sample_trace(), sample_report(), sample_attribution())
        run.write_text(page, encoding="utf-8")
        summary.write_text(summary_page(summarise(sample_cases())), encoding="utf-8")
        browser = Chromium(program, Path(folder, "profile"))
        try:
            browser.screen(1280, 900)
            browser.open(run)
            browser.shot(HERE / "report.png")
            browser.click("#the-step a.step")
            browser.shot(HERE / "report-attribution.png")
            browser.screen(1280, 760, dark=True)
            browser.open(run)
            browser.click("a.quote[href='#q-information_withholding-1']")
            browser.shot(HERE / "report-evidence.png")
            browser.screen(1280, 1000)
            browser.open(summary)
            browser.shot(HERE / "report-summary.png")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
