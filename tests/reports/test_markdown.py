"""A report to paste into an issue."""

from __future__ import annotations

import re
from dataclasses import replace

from mastwatch.reports import markdown
from mastwatch.store import Report, Trace
from reports.hostile import hostile_report, hostile_trace
from reports.sample import sample_report, sample_trace


def test_what_is_present_comes_first_with_its_quotes() -> None:
    text = markdown(sample_trace(), sample_report())
    assert text.startswith("## Quarterly energy report\n")
    assert "4 present, 1 unsure, 1 not evaluated, 8 absent" in text
    assert text.index("### Present: Step repetition") < text.index("### Unsure: Incorrect")
    assert "- message 12: “All values are metered, as asked.”" in text
    assert "Not evaluated: FM\\-2.3 (the reply about this mode was malformed)." in text
    assert "100 % of the messages read" in text
    assert "$0.0279" in text


def test_nothing_from_a_run_is_markup_a_mention_or_a_link() -> None:
    trace = replace(
        hostile_trace(), name="@team see #12 and www.example.org, https://example.org/x"
    )
    text = markdown(trace, hostile_report())
    for tag in re.finditer(r"<", text):
        assert text[tag.start() - 1] == "\\"
    assert not re.search(r"(?<!\w)[@#]\w", text)
    assert "://" not in text
    assert "www.example" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 1


def test_an_empty_report_says_so() -> None:
    text = markdown(Trace(run_id="r1"), Report(run_id="r1", verdicts={}))
    assert "Verdicts: none." in text
    assert "no model" in text
