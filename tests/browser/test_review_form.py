"""The form for labellers in a real browser: filled in, and saved without a network."""

from __future__ import annotations

import json

import pytest

from mastwatch.judge import review
from mastwatch.judge.labels import read
from mastwatch.judge.modes import mast
from mastwatch.store import Trace, TraceRow

pytestmark = pytest.mark.services

EVIL = '</script><img src=x onerror="document.title=1"><script>document.title=2</script>'
CAUGHT = """(() => {
  window.caught = [];
  URL.createObjectURL = (blob) => { blob.text().then((t) => window.caught.push(t)); return "#"; };
  HTMLAnchorElement.prototype.click = () => {};
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rows = tuple(
        TraceRow(index=n, agent=f"agent {EVIL}", text=f"row {n} {EVIL}\n" + "word " * 60)
        for n in range(40)
    )
    runs = [Trace(run_id=f"run-{n}{EVIL}", task=EVIL, rows=rows) for n in range(2)]
    path = tmp_path_factory.mktemp("review") / "review.html"
    path.write_text(review.as_html([review.form(run, mast()) for run in runs]), encoding="utf-8")
    return path


def test_it_loads_nothing_and_runs_nothing_of_the_runs(browser, page) -> None:
    browser.open(page)
    assert browser.complaints == []
    assert browser.requests == [page.as_uri()]
    assert browser.evaluate("document.title") == "Review of runs"
    assert browser.evaluate("document.querySelectorAll('.row').length") == 41
    assert browser.evaluate("document.querySelectorAll('fieldset').length") == 14


def test_answers_are_saved_as_labels(browser, page, tmp_path) -> None:
    browser.open(page)
    browser.evaluate(CAUGHT)
    browser.click("#save")
    assert (
        browser.evaluate("document.getElementById('state').textContent") == "Your name is missing"
    )
    browser.evaluate("document.getElementById('labeller').value = 'Ann'")
    browser.click("input[name=step_repetition]")
    index = "document.querySelector('[aria-label=\"Step repetition: row\"]')"
    browser.evaluate(f"{index}.value = 30")
    for event in ("input", "change"):
        browser.evaluate(f"{index}.dispatchEvent(new Event('{event}'))")
    browser.settle()
    assert browser.evaluate("document.querySelector('.row.at').id") == "row-30"
    browser.click("#save")
    browser.settle()
    (text,) = browser.evaluate("window.caught")
    path = tmp_path / "labels.jsonl"
    path.write_text(text, encoding="utf-8")
    (found,) = read(str(path)).found
    assert (found.labeller, found.labels) == ("Ann", {"step_repetition": True})
    assert found.run.startswith("run-0")
    assert found.evidence["step_repetition"]["message_index"] == 30
    assert json.loads(text)["labels"]["task_derailment"] is None


def test_what_was_answered_is_still_there_after_looking_at_another_run(browser, page) -> None:
    browser.open(page)
    browser.click("input[name=task_derailment]")
    for number in (1, 0):
        browser.evaluate(f"document.getElementById('run').value = {number}")
        browser.evaluate("document.getElementById('run').dispatchEvent(new Event('change'))")
        checked = "document.querySelector('input[name=task_derailment]').checked"
        assert browser.evaluate(checked) is (number == 0)
    assert browser.evaluate("unsaved") is True
    browser.evaluate("unsaved = false")  # else the page would ask before it is left


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_nothing_is_cut_off_at_the_side(browser, page, width, height) -> None:
    browser.screen(width, height)
    browser.open(page)
    for name in ("rows", "modes"):
        wide = f"(e => e.scrollWidth > e.clientWidth)(document.getElementById('{name}'))"
        assert browser.evaluate(wide) is False
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
