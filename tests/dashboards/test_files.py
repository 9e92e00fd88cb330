"""The files that ship: generated from the code as it is, complete, built on one table of names."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mastwatch import metric_names as names
from mastwatch.cli import main
from mastwatch.metric_names import METRICS
from mastwatch.panels import files
from mastwatch.panels.export import EXAMPLES
from mastwatch.panels.files import dashboards
from mastwatch.panels.promql import TARGET_LABELS, select
from mastwatch.panels.queries import Times, dashboard_queries, panel_queries, panels
from mastwatch.panels.rules import Parameters, alerts, rule_files
from mastwatch.panels.rules.recording import recordings

ROOT = Path(__file__).resolve().parents[2]
BOARDS = dashboards()
PANELS = [(b["title"], p) for b in BOARDS for p in panels(b) if p["type"] != "row"]
TITLES = ["Fleet", "Failure modes", "Run and agent", "Judge"]
_NAME = re.compile(r"\bmastwatch_\w+")
_LABEL = re.compile(r"(?:by|on|group_left)\s*\(([^)]*)\)|\{([^}]*)\}")


def test_the_committed_files_are_what_the_generator_writes() -> None:
    """Byte for byte; if it fails: python dashboards/generator."""
    pytest.importorskip("grafana_foundation_sdk")
    from generator.files import generated

    different = [path for path, text in generated().items() if (ROOT / path).read_text() != text]
    assert different == []


def test_a_renamed_metric_changes_every_file_that_uses_it() -> None:
    """One place: rename it there, and rules and dashboards no longer are what is committed."""
    code = (
        "import dataclasses\n"
        "from mastwatch import metric_names as n\n"
        "n.FLAGGED_RUNS = dataclasses.replace(n.FLAGGED_RUNS, name='mastwatch_renamed_total')\n"
        "from mastwatch.panels.rules import rule_files\n"
        "print('mastwatch_flagged_runs_total' in str(rule_files()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert (
        "mastwatch_flagged_runs_total" in (ROOT / "dashboards/prometheus/recording.yml").read_text()
    )


def test_a_renamed_label_stops_whoever_asks_for_it() -> None:
    renamed = dataclasses.replace(names.RUNS, labels=("framework", "result"))
    with pytest.raises(ValueError, match="mastwatch_runs_total has no label outcome"):
        select(renamed, {"outcome": "completed"})


def test_every_name_in_queries_is_exported() -> None:
    known = {metric.name for metric in METRICS}
    histograms = {m.name for m in METRICS if m.kind == "histogram"}
    known |= {f"{name}_{part}" for name in histograms for part in ("bucket", "sum", "count")}
    recorded = {name.split(":")[1] for name, _ in recordings(Parameters())}
    asked = [q.expr for board in BOARDS for q in dashboard_queries(board, Times())]
    asked += [a.expr for a in alerts()] + [expr for _, expr in recordings(Parameters())]
    used = {name for expr in asked for name in _NAME.findall(expr)}
    assert used - known - recorded == set()


def test_every_label_in_queries_is_one() -> None:
    labels = {label for metric in METRICS for label in metric.labels}
    labels |= {*TARGET_LABELS, "le", "born", "alertname", "alertstate", "severity", ""}
    for board in BOARDS:
        for query in dashboard_queries(board, Times()):
            for grouped, matched in _LABEL.findall(query.expr):
                found = re.findall(r"(\w+)\s*(?:=|!)", matched) or grouped.split(", ")
                assert set(found) <= labels, query


def test_what_is_exported_is_what_the_table_says() -> None:
    """A family that is made under another name than the table's would be missed by every alert."""
    pytest.importorskip("prometheus_client")
    from prometheus_client import CollectorRegistry

    from mastwatch.runs import Runs
    from mastwatch.sinks.metrics.judge import JudgeMetrics
    from mastwatch.sinks.prometheus import PrometheusInstruments, PrometheusSink

    registry = CollectorRegistry()
    PrometheusSink(Runs(), registry=registry)
    JudgeMetrics(PrometheusInstruments(registry))
    exported = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in registry.collect()
    }
    assert exported == {metric.name for metric in METRICS}


def test_every_exported_metric_is_shown_somewhere() -> None:
    asked = str([q.expr for board in BOARDS for q in dashboard_queries(board, Times())])
    assert [m.name for m in METRICS if m.name not in asked] == []


def test_there_are_four_dashboards_that_know_each_other() -> None:
    assert [board["title"] for board in BOARDS] == [f"mastwatch: {title}" for title in TITLES]
    assert len({board["uid"] for board in BOARDS}) == 4
    for board in BOARDS:
        others = next(link for link in board["links"] if link["type"] == "dashboards")
        assert set(others["tags"]) <= set(board["tags"])
        assert others["includeVars"]
        assert others["keepTime"]


def test_what_leads_out_has_its_base_in_a_variable() -> None:
    linking = [b for b in BOARDS if any("trace_id" in link.get("url", "") for link in b["links"])]
    assert len(linking) == 3
    for board in linking:
        variables = {v["name"]: v for v in board["templating"]["list"]}
        for link in board["links"]:
            for name in re.findall(r"\$\{(\w+)\}", link.get("url", "")):
                assert variables[name]["type"] == "textbox"


@pytest.mark.parametrize(
    ("title", "panel"), PANELS, ids=lambda v: v if isinstance(v, str) else v["title"]
)
def test_a_panel_is_complete(title, panel) -> None:
    assert len(panel["description"]) > 10
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    refs = [target["refId"] for target in panel["targets"]]
    assert refs == ["A", "B", "C", "D"][: len(refs)]
    for target in panel["targets"]:
        assert target["datasource"] == panel["datasource"]
        assert "$job" in target["expr"]


def test_ids_are_unique_and_nothing_overlaps_or_is_folded_away() -> None:
    for board in BOARDS:
        ids = [panel["id"] for panel in board["panels"]]
        assert ids == list(range(1, len(ids) + 1))
        taken = set()
        for panel in board["panels"]:
            assert not panel.get("collapsed")
            at = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(at["x"], at["x"] + at["w"])
                for y in range(at["y"], at["y"] + at["h"])
            }
            assert max(x for x, _ in cells) < 24
            assert not cells & taken
            taken |= cells


def test_fleet_shows_first_what_failures_cost() -> None:
    first = [panel for panel in BOARDS[0]["panels"] if panel["type"] != "row"][:3]
    asked = [panel["targets"][0]["expr"] for panel in first]
    assert names.TOKENS_AFTER_FINDING.name in asked[0]
    assert names.TOKENS.name in asked[1]
    assert names.JUDGE_TASK_COMPLETED.name in asked[2]


def test_every_alert_says_what_it_is_and_where_to_read() -> None:
    pages = (ROOT / "docs/alerts.md").read_text()
    headings = {
        re.sub(r"[^\w-]", "", line.lstrip("# ").replace(" ", "-")).lower()
        for line in pages.splitlines()
        if line.startswith("#")
    }
    for alert in alerts():
        rule = alert.rule(Parameters())
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert "mode" in rule["labels"] or ", mode" in alert.expr or "_mode:" in alert.expr
        assert rule["annotations"]["summary"]
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert (ROOT / page).is_file()
        assert not anchor or anchor in headings


def test_export_writes_what_is_asked_for(tmp_path, capsys) -> None:
    options = ["--form", "any", "--share", "0.25", "--long", "6h", "--runbooks", "https://w.test/m"]
    assert main(["dashboards", "export", str(tmp_path), *options]) == 0
    ratio = (tmp_path / "prometheus/fatal-ratio.yml").read_text()
    assert "share6h" in ratio
    assert "> 0.25" in ratio
    assert "https://w.test/m/termination_unawareness.md" in ratio
    config = (tmp_path / "prometheus/prometheus.yml").read_text()
    assert "- fatal-any.yml" in config
    assert json.loads((tmp_path / "grafana/fleet.json").read_text()) == BOARDS[0]
    assert len(capsys.readouterr().out.splitlines()) == 4 + 5 + 1 + 2


def test_a_time_that_is_none_is_said_so(tmp_path, capsys) -> None:
    assert main(["dashboards", "export", str(tmp_path), "--long", "an hour"]) == 2
    assert "'an hour' is no time; write 30s, 15m, 6h, 7d" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--share", "10"], "share is a share of runs, between 0 and 1, not 10.0"),
        (["--least-runs", "0"], "least_runs is at least 1, not 0"),
        (["--judge-usd", "-1"], "judge_usd is not below 0"),
        (["--long", "15m", "--short", "1h"], "short (1h) is longer than long (15m)"),
    ],
)
def test_rules_that_could_never_fire_are_refused(tmp_path, capsys, options, said) -> None:
    assert main(["dashboards", "export", str(tmp_path), *options]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_people_filled_in_is_kept(tmp_path, capsys) -> None:
    assert main(["dashboards", "up", "--dir", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""
    pager, rules = (
        tmp_path / n for n in ("alertmanager/alertmanager.yml", "prometheus/alerts.yml")
    )
    pager.write_text("my pager")
    rules.write_text("old")
    assert main(["dashboards", "up", "--dir", str(tmp_path)]) == 0
    assert capsys.readouterr().err == (
        f"mastwatch dashboards: kept yours: {pager}; delete it for a new one\n"
    )
    assert pager.read_text() == "my pager"
    assert "MastwatchRunStalled" in rules.read_text()


def test_up_prepares_a_folder_and_says_what_is_untested(tmp_path, capsys) -> None:
    assert main(["dashboards", "up", "--dir", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "Untested: the compose file" in told
    assert "MASTWATCH_PROMETHEUS_HOST" in told
    compose = (tmp_path / "compose.yml").read_text()
    mounted = re.findall(r"- \./([\w./-]+):", compose)
    assert len(mounted) == 6
    assert all((tmp_path / name).exists() for name in mounted)


def test_start_needs_docker(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert main(["dashboards", "up", "--dir", str(tmp_path), "--start"]) == 2
    assert "--start needs docker" in capsys.readouterr().err


def test_an_installed_package_brings_its_files_along(tmp_path, monkeypatch) -> None:
    """In a wheel they are ``mastwatch/_dashboards``; in a clone the folder of the repository."""
    assert files.folder() == ROOT / "dashboards"
    monkeypatch.setattr(files, "_SHIPPED", tmp_path)
    files.folder.cache_clear()
    assert files.folder() == tmp_path
    files.folder.cache_clear()


def test_the_wheel_takes_every_folder_that_is_written_out() -> None:
    config = (ROOT / "pyproject.toml").read_text()
    for name in (*EXAMPLES, "grafana", "prometheus", "compose"):
        assert f'"dashboards/{name}" = "mastwatch/_dashboards/{name}"' in config


def test_rules_can_be_generated_with_other_windows() -> None:
    texts = rule_files(Parameters(long="20s", short="10s"))
    assert "share20s" in texts["recording.yml"]
    assert "share1h" not in str(texts)


def test_a_heat_map_is_asked_for_cells_that_do_not_overlap() -> None:
    """Six hours in sixty columns: each cell counts its six minutes, all of them."""
    [heat] = [panel for _, panel in PANELS if panel["type"] == "status-history"]
    [query] = panel_queries(BOARDS[0], heat, Times(6 * 3_600, 180))
    assert query.step == 360
    assert "[360s]" in query.expr
    [query] = panel_queries(BOARDS[0], heat, Times(600, 5))
    assert query.step == 60  # not less than the panel's own least interval
