"""One page per run."""

from __future__ import annotations

from mastwatch.reports import wording
from mastwatch.reports.html.conversation import conversation
from mastwatch.reports.html.document import document
from mastwatch.reports.html.findings import findings
from mastwatch.reports.html.header import header
from mastwatch.reports.html.marks import Marks
from mastwatch.reports.html.markup import el
from mastwatch.reports.html.timeline import timeline
from mastwatch.reports.html.verdicts import verdicts
from mastwatch.store import Report, Trace


def run_page(trace: Trace, report: Report) -> str:
    """The page of a run, one file that needs nothing else.

    Args:
        trace: The run.
        report: What the judge says of it.
    """
    marks = Marks(trace, report)
    beside = [
        # Each entry is a section of its own, None when it has nothing to say. An attribution (who
        # and when) goes between the verdicts and what the detectors said.
        verdicts(report, marks),
        findings(trace, marks),
    ]
    body = [
        el("a", "To the conversation", href="#conversation", class_="skip"),
        header(trace, report),
        el(
            "main",
            timeline(trace, marks),
            el("div", el("aside", beside), conversation(trace, marks), class_="beside-each-other"),
        ),
        el(
            "footer",
            "Keys: ",
            el("kbd", "n"),
            " next quote, ",
            el("kbd", "p"),
            " previous quote.",
            hidden=True,  # until the script that makes it true has run
        ),
    ]
    return document(
        f"{wording.title(trace)} · mastwatch", body, css=("base.css", "page.css"), js=("page.js",)
    )
