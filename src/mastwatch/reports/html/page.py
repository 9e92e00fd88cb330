"""One page per run."""

from __future__ import annotations

from mastwatch.reports import wording
from mastwatch.reports.html import attribution as who
from mastwatch.reports.html.conversation import conversation
from mastwatch.reports.html.document import document
from mastwatch.reports.html.findings import findings
from mastwatch.reports.html.header import header
from mastwatch.reports.html.marks import Marks
from mastwatch.reports.html.markup import el
from mastwatch.reports.html.timeline import timeline
from mastwatch.reports.html.verdicts import verdicts
from mastwatch.store import Attribution, Report, Trace


def run_page(trace: Trace, report: Report | None, attribution: Attribution | None = None) -> str:
    """The page of a run, one file that needs nothing else.

    Args:
        trace: The run.
        report: What the judge says of it, if it was judged.
        attribution: Who decided that it failed, and where, if that was asked.
    """
    marks = Marks(trace, report, attribution)
    beside = [
        # Each entry is a section of its own, None when it has nothing to say.
        who.attribution(attribution, report, marks) if attribution is not None else None,
        verdicts(report, marks) if report is not None else None,
        findings(trace, marks),
    ]
    decided = attribution.step if attribution is not None else None
    body = [
        el("a", "To the conversation", href="#conversation", class_="skip"),
        header(trace, report, attribution),
        el(
            "main",
            timeline(trace, marks, decided),
            el(
                "div",
                el("aside", beside),
                conversation(trace, marks, attribution),
                class_="beside-each-other",
            ),
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
