"""The page of a run, read as text; what a browser makes of it is tests/browser's."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from mastwatch.reports import case, run_page, summarise, summary_page
from mastwatch.reports.html.quotes import Said
from mastwatch.store import Evidence, ModelInput, Report, Trace, TraceRow
from reports.hostile import PLANTED, hostile_attribution, hostile_report, hostile_trace
from reports.sample import sample_attribution, sample_cases, sample_report, sample_trace

ALLOWED = frozenset(
    """
    html head meta title style body script header main footer section aside article div p span a
    b q small h1 h2 h3 h4 ol ul li dl dt dd details summary mark kbd svg rect circle path text
    table thead tbody tr th td g polyline abbr
    """.split()  # noqa: SIM905 - a list of so many words reads better as text
)


class Page(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data):
        if self._inside not in ("style", "script"):
            self.words.append(data)

    def all(self, tag, class_=""):
        return [a for t, a in self.elements if t == tag and class_ in (a.get("class") or "")]


PAGES = {
    "run": lambda: run_page(sample_trace(), sample_report()),
    "hostile run": lambda: run_page(hostile_trace(), hostile_report()),
    "attributed run": lambda: run_page(sample_trace(), sample_report(), sample_attribution()),
    "attributed and not judged": lambda: run_page(sample_trace(), None, sample_attribution()),
    "hostile attribution": lambda: run_page(
        hostile_trace(), hostile_report(), hostile_attribution()
    ),
    "empty run": lambda: run_page(Trace(run_id="r"), Report(run_id="r", verdicts={})),
    "summary": lambda: summary_page(summarise(sample_cases(30))),
    "hostile summary": lambda: summary_page(
        summarise([case(hostile_trace(), hostile_report(), "", hostile_attribution())])
    ),
    "summary of attributions": lambda: summary_page(
        summarise([case(sample_trace(), None, "runs/a.html", sample_attribution())])
    ),
    "empty summary": lambda: summary_page(summarise([])),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_hold_nothing_but_their_own_elements(name) -> None:
    page = Page(PAGES[name]())
    assert {tag for tag, _ in page.elements} <= ALLOWED
    for tag, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on") or key in ("style", "src")]
        href = attributes.get("href")
        assert (
            href is None
            or href.startswith("#")
            or re.fullmatch(r"runs/[\w-]+\.html(#the-step)?", href)
        )
        assert tag != "script" or not attributes


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_allows_the_pages_own_style_and_script_alone(name) -> None:
    text = PAGES[name]()
    [policy] = re.findall(r'Security-Policy" content="([^"]*)"', text)
    assert "default-src &#x27;none&#x27;" in policy
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        parts = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digests = re.findall(rf"{kind}-src &#x27;sha256-([^&]*)&#x27;", policy)
        assert digests == [
            base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in parts
        ]


@pytest.mark.parametrize("name", PAGES)
def test_names_are_unique_and_every_link_inside_leads_somewhere(name) -> None:
    page = Page(PAGES[name]())
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = {a["href"][1:] for a in page.all("a") if a["href"].startswith("#")}
    assert links <= set(ids)


def test_each_quote_links_to_the_words_themselves() -> None:
    text = run_page(sample_trace(), sample_report())
    page = Page(text)
    quotes = [a["href"] for a in page.all("a", "quote")]
    assert quotes[0] == "#q-disobey_task_specification-1"
    assert len(quotes) == 7
    marked = re.search(r'<mark id="q-information_withholding-1"[^>]*>(.*?)</mark>', text)
    assert marked is not None
    assert marked[1] == "All values are metered, as asked."


def test_the_order_is_present_unsure_not_evaluated_absent() -> None:
    text = run_page(sample_trace(), sample_report())
    cards = re.findall(r'<article id="v-\w+" class="verdict (\w+)">', text)
    assert cards == ["present"] * 4 + ["unsure"] + ["not_evaluated"] + ["absent"] * 8
    assert "<summary>Absent (8)</summary>" in text
    assert '<details class="group" open><summary>Not evaluated (1)</summary>' in text


def test_the_header_tells_cost_coverage_and_trust() -> None:
    words = "".join(Page(run_page(sample_trace(), sample_report())).words)
    for told in (
        "limit: max_round 18 reached", "100 % of the messages read, in one piece",
        "6 verified, 1 put right, 1 rejected", "scripted-judge", "$0.0279",
        "7,590 reported, 7,900 planned", "uncalibrated", "mast14@",
    ):  # fmt: skip
        assert told in words
    part = replace(sample_report(), coverage=0.99999, windows=3)
    assert "99.9 % of the messages read, in 3 parts" in run_page(sample_trace(), part)


def test_planted_text_is_shown_as_text() -> None:
    text = run_page(hostile_trace(), hostile_report())
    words = "".join(Page(text).words)
    assert PLANTED[0] in words
    assert "\u202e" not in text
    assert "‹U+202E›" in words
    assert "‹U+0000›‹U+0007›" in words
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", text)
    text.encode()


def test_overlapping_quotes_are_all_marked() -> None:
    trace = replace(sample_trace(), rows=(TraceRow(index=0, agent="A", text="one two three four"),))
    report = sample_report()
    first, second = "step_repetition", "task_derailment"
    verdicts = {
        slug: replace(v, verdict="present", evidence=()) for slug, v in report.verdicts.items()
    }
    for slug, quote in ((first, "one two three"), (second, "two three four")):
        evidence = (Evidence(message_index=0, quote=quote),)
        verdicts[slug] = replace(verdicts[slug], evidence=evidence)
    text = run_page(trace, replace(report, verdicts=verdicts))
    pieces = re.findall(r'<mark[^>]*data-quotes="([^"]*)"[^>]*>(.*?)</mark>', text)
    assert pieces == [
        ("q-step_repetition-1", "one "),
        ("q-step_repetition-1 q-task_derailment-1", "two three"),
        ("q-task_derailment-1", " four"),
    ]
    assert '<span id="q-task_derailment-1"' in text


def test_long_messages_are_folded_and_open_where_a_quote_is_inside() -> None:
    long = "word " * 2_000
    rows = (
        TraceRow(index=0, agent="A", text=long),
        TraceRow(index=1, agent="A", text=f"{long}the needle in the hay"),
    )
    report = sample_report()
    evidence = (Evidence(message_index=1, quote="the needle in the hay"),)
    verdict = replace(report.verdicts["step_repetition"], evidence=evidence)
    verdicts = {**report.verdicts, "step_repetition": verdict}
    text = run_page(replace(sample_trace(), rows=rows), replace(report, verdicts=verdicts))
    assert text.count('<details class="rest">') == 1
    assert text.count('<details class="rest" open>') == 1
    assert ">the needle in the hay</mark>" in text


def test_what_is_not_in_the_run_has_no_link() -> None:
    report = sample_report()
    evidence = (
        Evidence(message_index=99, quote="said in a message that is gone"),
        Evidence(message_index=1, quote="words that nobody said here"),
    )
    verdict = replace(report.verdicts["step_repetition"], evidence=evidence)
    verdicts = {**report.verdicts, "step_repetition": verdict}
    text = run_page(sample_trace(), replace(report, verdicts=verdicts))
    assert "this message is not in the stored run" in text
    assert '<a href="#m1" class="quote">' in text


def test_withheld_text_prompts_inputs_and_lost_rows_are_told() -> None:
    trace = replace(
        sample_trace(),
        rows=(TraceRow(index=3, agent="A", text=None),),
        inputs=(ModelInput(before=3, agent="A", role="user", text="a reminder"),),
        left_out=12,
    )
    text = run_page(trace, sample_report())
    assert "Text withheld." in text
    assert "Sent to the model of A before #3, user" in text
    assert "12 rows beyond the recorder" in text


def test_many_agents_and_rows_keep_the_timeline_small() -> None:
    rows = tuple(TraceRow(index=i, agent=f"agent {i % 40}", text="x") for i in range(8_000))
    page = Page(run_page(replace(sample_trace(), rows=rows), sample_report()))
    assert len(page.all("rect")) < 2_500
    assert "others" in page.words


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("He said:  The\n  END is near", "the end is NEAR", "The\n  END is near"),
        ("ﬁne\u200b print matters", "fine print", "ﬁne\u200b print"),
        ("Cafe\u0301 au lait", "café au", "Cafe\u0301 au"),
        ("a | b\n| c | d", "a | b c | d", "a | b\n| c | d"),
        ("\x1b[31mred\x1b[0m alert now", "red alert", "red\x1b[0m alert"),
        ("nothing of the kind", "something else", None),
        ("", "anything", None),
        ("anything", "", None),
    ],
)
def test_quotes_are_found_as_they_were_said(text, quote, found) -> None:
    place = Said(text).find(quote)
    assert (None if place is None else text[slice(*place)]) == found
