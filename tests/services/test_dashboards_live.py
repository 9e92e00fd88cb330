"""Every query of every panel is answered by a real Prometheus, and the page draws the answers."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from browser.chromium import Chromium, find
from dashboards.synthetic import block, openmetrics
from mastwatch import metric_names as names
from mastwatch.cli import main
from mastwatch.panels.check import check, check_rules
from mastwatch.panels.files import dashboards
from mastwatch.panels.preview import page
from mastwatch.panels.queries import Times, dashboard_queries
from mastwatch.panels.rules import rule_files
from mastwatch.panels.server import Prometheus
from services.conftest import missing
from services.stack import Stack

pytestmark = pytest.mark.services
QUIET = "global: {scrape_interval: 15s}\n"
RULES = ("recording.yml", "alerts.yml", "fatal-ratio.yml")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A Prometheus that holds an hour of everything, and has the rules."""
    if shutil.which("promtool") is None:
        missing("promtool")
    folder = tmp_path_factory.mktemp("served")
    now = int(time.time())
    tsdb = block(folder, openmetrics(now - 4_200, now, 30))
    files = rule_files()
    for name in RULES:
        (folder / name).write_text(files[name])
    listed = "".join(f"  - {name}\n" for name in RULES)
    stack = Stack(folder)
    yield stack.prometheus(f"{QUIET}rule_files:\n{listed}", tsdb=tsdb)
    stack.close()


def test_every_panel_of_every_dashboard_answers_with_data(served) -> None:
    results = list(check(Prometheus(served), dashboards(), Times()))
    assert [r for r in results if not r.good] == []
    assert {r.query.where for r in results} == {board["title"] for board in dashboards()}
    assert {r.query.kind for r in results} == {"panel", "variable", "annotation"}
    assert len(results) > 80


def test_the_attribution_panels_show_what_is_counted(served) -> None:
    """They may be empty where no failed run was attributed; here some were."""
    results = [
        r for r in check(Prometheus(served), dashboards(), Times())
        if "mastwatch_attribution" in r.query.expr
    ]  # fmt: skip
    assert len(results) == 10
    assert {(r.status, r.query.where) for r in results} == {
        ("ok", "mastwatch: Judge"),
        ("ok", "mastwatch: Run and agent"),
    }


def test_the_rules_load_and_work(served) -> None:
    results = list(check_rules(Prometheus(served)))
    assert [r for r in results if not r.good] == []


def test_a_rule_that_is_not_loaded_is_reported(served) -> None:
    results = [r for r in check_rules(Prometheus(served), "any") if not r.good]
    assert {r.query.title for r in results} == {
        "MastwatchAnyTerminationUnawareness",
        "MastwatchAnyInformationWithholding",
    }
    assert {r.status for r in results} == {"missing"}


def test_the_command_is_content(served, capsys) -> None:
    assert main(["dashboards", "check", "--prometheus", served, "--rules"]) == 0
    assert ", 0 do not" in capsys.readouterr().out


def test_panels_without_data_fail_the_check(tmp_path, capsys) -> None:
    now = int(time.time())
    without = [m for m in names.METRICS if m not in (names.RUNS_ACTIVE, names.JUDGE_QUEUE_DEPTH)]
    stack = Stack(tmp_path)
    try:
        text = openmetrics(now - 600, now, 30, without)
        url = stack.prometheus(QUIET, tsdb=block(tmp_path, text))
        command = ["dashboards", "check", "--prometheus", url, "--range", "10m"]
        assert main(command) == 1
        told = capsys.readouterr().out
        assert "EMPTY    mastwatch: Run and agent / panel Runs going on (A)" in told
        assert "EMPTY    mastwatch: Judge / panel Runs waiting (A)" in told
        assert main([*command, "--no-judge"]) == 1
        told = capsys.readouterr().out
        assert "Runs waiting" not in told
        assert "Runs going on" in told
    finally:
        stack.close()


def test_lines_show_what_failed_before_the_first_scrape(tmp_path) -> None:
    """The figures beside them do, so lines without it would contradict them."""
    now = int(time.time())
    series = f'{names.FINDINGS}{{mode="FM-1.5",severity="alert",source="detector",job="agents"}}'
    samples = "".join(f"{series} 3 {at}\n" for at in range(now - 120, now + 1, 15))
    kind = f"# TYPE {names.FINDINGS.name.removesuffix('_total')} counter\n"
    stack = Stack(tmp_path)
    try:
        url = stack.prometheus(QUIET, tsdb=block(tmp_path, f"{kind}{samples}# EOF\n"))
        asked = dashboard_queries(dashboards()[0], Times())
        [line] = [query for query in asked if query.title == "Fatal modes over time"]
        [told] = Prometheus(url).query(line.expr, now)
    finally:
        stack.close()
    assert told.points[0][1] == 3


def test_a_share_of_nothing_is_no_data(served, tmp_path, capsys) -> None:
    quiet = tmp_path / "quiet.json"
    panel = {"title": "NaN", "targets": [{"expr": "0 * mastwatch_runs_total / 0", "refId": "A"}]}
    quiet.write_text(json.dumps({"title": "Mine", "panels": [panel]}))
    assert main(["dashboards", "check", "--prometheus", served, "--dashboard", str(quiet)]) == 1
    assert "EMPTY    Mine / panel NaN (A)" in capsys.readouterr().out


def test_a_query_that_the_server_refuses_is_reported_with_its_words(served, tmp_path, capsys):
    broken = tmp_path / "broken.json"
    panel = {"title": "Typo", "targets": [{"expr": "sum(", "refId": "A"}]}
    broken.write_text(json.dumps({"title": "Mine", "panels": [panel]}))
    assert main(["dashboards", "check", "--prometheus", served, "--dashboard", str(broken)]) == 1
    assert "FAILED   Mine / panel Typo (A): 1:5: parse error" in capsys.readouterr().out


def test_a_server_that_is_none_is_said_in_one_line(capsys) -> None:
    assert main(["dashboards", "check", "--prometheus", "http://127.0.0.1:9"]) == 2
    assert "no Prometheus answers at http://127.0.0.1:9" in capsys.readouterr().err
    assert main(["dashboards", "check", "--prometheus", "localhost:9090"]) == 2
    assert "write http://localhost:9090" in capsys.readouterr().err


@pytest.fixture(scope="module")
def preview(served, tmp_path_factory):
    path = tmp_path_factory.mktemp("preview") / "preview.html"
    assert main(["dashboards", "preview", "--prometheus", served, "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    program = find()
    if program is None:
        missing("Chromium")
    browser = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (400, False)])
def test_the_preview_stands_alone_in_a_browser(preview, chromium, width, dark) -> None:
    """Nothing is loaded, nothing complains, nothing sticks out, every chart has a size."""
    chromium.screen(width, 900, dark=dark)
    chromium.open(preview)
    assert chromium.complaints == []
    assert chromium.requests == [preview.as_uri()]
    assert chromium.evaluate("document.scripts.length") == 0
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width
    assert chromium.evaluate("document.querySelectorAll('svg').length") > 40
    assert chromium.evaluate(
        "[...document.querySelectorAll('svg')].every(s => s.getBoundingClientRect().height > 20)"
    )


def test_labels_in_the_preview_are_text(tmp_path) -> None:
    """Whatever an agent is called, the page shows it and runs nothing."""
    name = "</text><script>alert(1)</script>"
    now = int(time.time())
    text = openmetrics(now - 600, now, 30, [names.RUNS_ACTIVE]).replace("autogen", name)
    stack = Stack(tmp_path)
    try:
        url = stack.prometheus(QUIET, tsdb=block(tmp_path, text))
        drawn = page(Prometheus(url), dashboards(), Times(600, 10))
    finally:
        stack.close()
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn


def test_the_preview_draws_every_panel(served) -> None:
    text = page(Prometheus(served), dashboards(), Times())
    assert "No data" not in text
    assert 'class="problem"' not in text
    count = sum(panel["type"] != "row" for board in dashboards() for panel in board["panels"])
    assert text.count("<article") == count
