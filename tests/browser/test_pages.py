"""What a real browser makes of the pages."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from mastwatch.events import ToolRequest
from mastwatch.reports import case, run_page, summarise, summary_page
from mastwatch.store import Evidence, TraceRow
from reports.hostile import hostile_attribution, hostile_report, hostile_trace
from reports.sample import sample_attribution, sample_cases, sample_report, sample_trace

pytestmark = pytest.mark.services

QUOTE = "a.quote[href='#q-information_withholding-1']"
MARK = "q-information_withholding-1"
SEEN = """(name => {
  const r = document.getElementById(name).getBoundingClientRect();
  return r.top >= 0 && r.bottom <= innerHeight && r.width > 0;
})"""
CONTRAST = """(() => {
  const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const paint = (colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(element)) continue;
    if (element.closest("script, title, .skip, [aria-hidden]")) continue;
    seen.add(element);
    const behind = [];
    for (let e = element; e; e = e.parentElement) {
      behind.unshift(getComputedStyle(e).backgroundColor);
    }
    const style = getComputedStyle(element);
    const ink = element.closest("svg") ? style.fill : style.color;
    const a = light(paint([...behind, ink])), b = light(paint(behind));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${element.outerHTML.slice(0, 80)}`);
  }
  return {low, checked: seen.size};
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages, as files."""
    folder = tmp_path_factory.mktemp("pages")
    texts = {
        "run": run_page(sample_trace(), sample_report()),
        "hostile": run_page(hostile_trace(), hostile_report()),
        "attributed": run_page(sample_trace(), sample_report(), sample_attribution()),
        "hostile attribution": run_page(hostile_trace(), hostile_report(), hostile_attribution()),
        "summary": summary_page(summarise(sample_cases(60))),
        "hostile summary": summary_page(summarise([case(hostile_trace(), hostile_report())])),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


def lit(browser) -> str:
    return browser.evaluate(
        "[...document.querySelectorAll('mark.lit')].map(m => m.textContent).join('|')"
    )


ALL = ["run", "hostile", "attributed", "hostile attribution", "summary", "hostile summary"]


@pytest.mark.parametrize("name", ALL)
def test_pages_load_nothing_and_complain_of_nothing(browser, pages, name) -> None:
    browser.open(pages[name])
    assert browser.complaints == []
    assert browser.requests == [pages[name].as_uri()]


def test_a_click_on_a_quote_shows_and_marks_the_words(browser, pages) -> None:
    browser.open(pages["run"])
    browser.click(QUOTE)
    assert browser.evaluate("location.hash") == f"#{MARK}"
    assert browser.evaluate(f"{SEEN}('{MARK}')")
    assert lit(browser) == "All values are metered, as asked."
    assert browser.evaluate("document.querySelector('li.here').id") == "m12"
    assert browser.evaluate("document.querySelector('a.chosen').hash") == f"#{MARK}"
    # The verdict stays in view beside it.
    assert browser.evaluate("document.querySelector('a.chosen').getBoundingClientRect().top") > 0
    assert browser.complaints == []


def test_a_click_leads_from_the_attribution_to_its_row_and_back(browser, pages) -> None:
    browser.open(pages["attributed"])
    browser.click("#the-step a.step")
    assert browser.evaluate("document.querySelector('li.here').id") == "m11"
    assert browser.evaluate(f"{SEEN}('m11')")
    assert "Instead:" in browser.evaluate("document.querySelector('.decided').textContent")
    browser.click(".decided a")
    assert browser.evaluate("location.hash") == "#the-step"
    assert browser.evaluate(f"{SEEN}('the-step')")
    browser.click("a.quote[href='#q-the-step-2']")
    assert lit(browser) == "no reading since 4 May"
    browser.evaluate("document.querySelector('a.tag.weighed').click()")
    browser.settle()
    assert browser.evaluate("document.getElementById('w-12').closest('details').open")
    assert browser.complaints == []


def test_every_quote_leads_to_its_words(browser, pages) -> None:
    browser.open(pages["run"])
    for number in range(browser.evaluate("document.querySelectorAll('a.quote').length")):
        quote = browser.evaluate(f"document.querySelectorAll('a.quote q')[{number}].textContent")
        browser.evaluate(f"document.querySelectorAll('a.quote')[{number}].click()")
        browser.settle()
        assert lit(browser) == quote


def test_without_scripts_the_link_still_leads_to_the_words(browser, pages) -> None:
    browser.scripts(on=False)
    browser.open(pages["run"])
    browser.click(QUOTE)
    assert browser.evaluate(f"{SEEN}('{MARK}')")
    assert browser.evaluate(f"document.querySelector('mark:target').id === '{MARK}'")


def test_an_address_with_a_quote_opens_at_it(browser, pages) -> None:
    browser.open(pages["run"], f"#{MARK}")
    assert browser.evaluate(f"{SEEN}('{MARK}')")
    assert lit(browser) == "All values are metered, as asked."


def test_the_keyboard_is_enough(browser, pages) -> None:
    browser.open(pages["run"])
    browser.press("n")
    assert browser.evaluate("location.hash") == "#q-disobey_task_specification-1"
    browser.press("n")
    browser.press("p")
    assert browser.evaluate("location.hash") == "#q-disobey_task_specification-1"
    assert browser.evaluate("document.activeElement.id") == "q-disobey_task_specification-1"
    browser.evaluate(f'document.querySelector("{QUOTE}").focus()')
    browser.press("Enter", 13)
    assert browser.evaluate("location.hash") == f"#{MARK}"


def test_the_timeline_leads_to_findings_and_evidence(browser, pages) -> None:
    browser.open(pages["run"])
    label = "#17: live finding FM-1.5, alert"
    browser.click(f'#timeline a[aria-label="{label}"] path')
    assert browser.evaluate("location.hash") == "#m17"
    assert browser.evaluate(f"{SEEN}('m17')")


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("name", ["hostile", "hostile attribution"])
def test_what_is_planted_in_a_run_is_inert(browser, pages, name, scripts) -> None:
    browser.scripts(on=scripts)
    browser.open(pages[name])
    assert browser.evaluate("window.owned") is None
    inside = "document.querySelectorAll('img, iframe, base, link, form, object, embed').length"
    assert browser.evaluate(inside) == 0
    assert browser.evaluate("document.scripts.length") == 1
    assert browser.evaluate("[...document.links].every(l => l.protocol === 'file:')")
    # The page as such is still there.
    assert browser.evaluate("document.querySelectorAll('.verdict').length") == 14
    browser.evaluate("[...document.links].filter((_, i) => i % 9 === 0).forEach(l => l.click())")
    browser.settle()
    assert browser.evaluate("window.owned") is None
    assert browser.requests == [pages[name].as_uri()]
    assert browser.complaints == []


def test_the_policy_stops_what_escaping_did_not(browser, pages, tmp_path) -> None:
    text = pages["run"].read_text(encoding="utf-8")
    planted = "<script>window.owned = 1</script><img src=x onerror='window.owned = 2'>"
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("<main>", f"<main>{planted}"), encoding="utf-8")
    browser.open(broken)
    assert browser.evaluate("window.owned") is None
    assert len(browser.complaints) >= 2


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("name", ALL)
def test_no_page_scrolls_sideways(browser, pages, name, width) -> None:
    browser.screen(width, 844)
    browser.open(pages[name])
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["run", "attributed", "summary"])
def test_text_has_contrast(browser, pages, name, dark) -> None:
    browser.screen(1280, 900, dark=dark)
    browser.open(pages[name], f"#{MARK}" if name != "summary" else "")
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(21, 23, 27)") == dark
    found = browser.evaluate(CONTRAST)
    assert found["checked"] > 100
    assert found["low"] == []


def test_a_long_run_is_quick(browser, tmp_path, record_testsuite_property) -> None:
    words = "the meter was read again and nothing had changed since then. "
    arguments = {"path": "/tmp/x", "text": words * 10}
    rows = tuple(
        TraceRow(
            index=i,
            agent=f"agent {i % 7}",
            text=f"{i} {words * (300 if i % 100 == 0 else 5)}",
            tool_calls=(ToolRequest(name="write", arguments=arguments),) if i % 5 == 0 else (),
        )
        for i in range(1_000)
    )
    report = sample_report()
    evidence = tuple(Evidence(message_index=i, quote=f"{i} the meter was") for i in (3, 500, 990))
    verdict = replace(report.verdicts["step_repetition"], evidence=evidence)
    report = replace(report, verdicts={**report.verdicts, "step_repetition": verdict})
    began = time.perf_counter()
    text = run_page(replace(sample_trace(), rows=rows), report)
    record_testsuite_property("render_seconds", round(time.perf_counter() - began, 3))
    assert sum(len(row.text or "") for row in rows) > 480_000
    path = tmp_path / "long.html"
    path.write_text(text, encoding="utf-8")
    record_testsuite_property("open_seconds", round(browser.open(path), 3))
    browser.click("a.quote[href='#q-step_repetition-3']")
    assert browser.evaluate(f"{SEEN}('q-step_repetition-3')")
    assert lit(browser) == "990 the meter was"
    assert browser.complaints == []
