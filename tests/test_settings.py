"""Where a setting comes from, and what becomes of one that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastwatch.settings import CAPTURE_VARIABLE, Settings, load


def test_keyword_beats_variable_beats_file_beats_default(tmp_path) -> None:
    (tmp_path / "mastwatch.toml").write_text('release = "file"\nenvironment = "file"\n')
    environ = {"MASTWATCH_RELEASE": "variable", "MASTWATCH_ENVIRONMENT": "variable"}
    settings = load({"release": "keyword"}, environ=environ, directory=tmp_path)
    assert (settings.release, settings.environment) == ("keyword", "variable")
    assert load({}, environ={}, directory=tmp_path).release == "file"
    assert load({}, environ={}, directory=tmp_path / "x").release == ""


def test_the_table_of_pyproject_counts_where_there_is_no_file_of_ours(tmp_path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.mastwatch]\nprometheus_port = 9999\n")
    assert load({}, environ={}, directory=tmp_path).prometheus_port == 9999


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("MASTWATCH_PROMETHEUS_PORT", "ninety", "MASTWATCH_PROMETHEUS_PORT"),
        ("MASTWATCH_PROMETHEUS_PORT", "70000", "0 to 65535"),
        ("MASTWATCH_METRICS", "carbon", "prometheus, otlp, both or none"),
        ("MASTWATCH_CAPTURE_CONTENT", "perhaps", "true or false"),
        ("MASTWATCH_METRIC_LABELS", "a,b,c,d,e", "at most 4"),
    ],
)
def test_a_value_that_cannot_be_read_is_reported_and_the_default_counts(
    tmp_path, variable, value, part
) -> None:
    settings = load({}, environ={variable: value}, directory=tmp_path)
    assert settings == Settings()
    assert part in settings.problems[0]


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (True, "1"), (False, ""), ("true", "true"), ("off", ""), ("0", ""), ("runs.sqlite",) * 2,
        (Path("a/b"), "a/b"),
    ],
)  # fmt: skip
def test_a_switch_is_a_word_or_a_path(tmp_path, raw, read) -> None:
    environ = {"MASTWATCH_STORE": "/elsewhere"}
    assert load({"store": raw}, environ=environ, directory=tmp_path).store == read


def test_a_broken_file_is_reported(tmp_path) -> None:
    (tmp_path / "mastwatch.toml").write_text("release = ")
    assert "mastwatch.toml" in load({}, environ={}, directory=tmp_path).problems[0]


def test_an_unknown_key_in_the_file_is_reported(tmp_path) -> None:
    (tmp_path / "mastwatch.toml").write_text("relase = '1'\n")
    assert "relase" in load({}, environ={}, directory=tmp_path).problems[0]


def test_a_number_that_is_none_is_told_in_words(tmp_path) -> None:
    (tmp_path / "mastwatch.toml").write_text("run_idle_timeout = 'soon'\nmax_runs = []\n")
    problems = load({}, environ={}, directory=tmp_path).problems
    assert any("run_idle_timeout: expected a number, not 'soon'" in told for told in problems)
    assert any("max_runs: expected a whole number, not []" in told for told in problems)


def test_an_unknown_keyword_is_the_callers_mistake() -> None:
    with pytest.raises(TypeError, match="prometheus_prot"):
        load({"prometheus_prot": 1}, environ={})


@pytest.mark.parametrize(
    ("mode", "captured"),
    [("SPAN_ONLY", True), ("span_and_event", True), ("EVENT_ONLY", False), ("true", False)],
)
def test_opentelemetrys_own_content_switch_is_honoured(tmp_path, mode, captured) -> None:
    settings = load({}, environ={CAPTURE_VARIABLE: mode}, directory=tmp_path)
    assert settings.capture_content is captured


def test_each_setting_knows_where_it_was_written(tmp_path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.mastwatch]\nenvironment = "x"\nmax_runs = "many"\n'
    )
    environ = {"MASTWATCH_MAX_RUNS": "7", CAPTURE_VARIABLE: "SPAN_ONLY"}
    settings = load({"release": "1"}, environ=environ, directory=tmp_path)
    assert settings.origin("release") == "instrument(release=)"
    assert settings.origin("max_runs") == "variable MASTWATCH_MAX_RUNS"
    assert settings.origin("capture_content") == f"variable {CAPTURE_VARIABLE}"
    assert (
        settings.origin("environment") == f"{tmp_path}/pyproject.toml: tool.mastwatch.environment"
    )
    assert settings.origin("metrics") == "default"
    assert settings == load({"release": "1"}, environ=environ, directory=tmp_path)


def test_the_file_may_be_named(tmp_path) -> None:
    (tmp_path / "mastwatch.toml").write_text('release = "here"\n')
    (tmp_path / "o{0}.toml").write_text('release = "other"\n')
    other = tmp_path / "o{0}.toml"
    settings = load({}, environ={"MASTWATCH_CONFIG": str(other)}, directory=tmp_path)
    assert (settings.release, settings.origin("release")) == ("other", f"{other}: release")
    assert load({}, environ={}, directory=tmp_path, file=other).release == "other"
    missing = load({}, environ={}, directory=tmp_path, file=tmp_path / "no.toml")
    assert missing == Settings()
    assert "no.toml cannot be read" in missing.problems[0]


def test_tables_come_from_file_variable_and_keyword(tmp_path) -> None:
    (tmp_path / "mastwatch.toml").write_text(
        '[thresholds.step_repetition]\nnear_warn = 4\n[[rules]]\nmode = "FM-1.3"\n'
    )
    settings = load({}, environ={}, directory=tmp_path)
    assert settings.thresholds == {"step_repetition": {"near_warn": 4}}
    assert settings.rules == ({"mode": "FM-1.3"},)
    environ = {
        "MASTWATCH_THRESHOLDS": "{step_repetition = {near_warn = 5}}",
        "MASTWATCH_RULES": '[{mode = "FM-1.5"}]',
    }
    settings = load({"rules": [{"tool": "x"}]}, environ=environ, directory=tmp_path)
    assert settings.thresholds == {"step_repetition": {"near_warn": 5}}
    assert settings.rules == ({"tool": "x"},)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("thresholds = 3", "thresholds: expected a table, not 3"),
        ("[rules]\nmode = 'FM-1.3'", "rules: expected a list of tables ([[rules]])"),
        ("[detectors.step_repetition]\nnear_warn = 3", "go under [thresholds.<detector>]"),
        ("prometheus_port = inf", "prometheus_port: "),
        ("tool = 1", "tool is no setting"),
    ],
)
def test_a_table_of_the_wrong_shape_is_reported(tmp_path, text, part) -> None:
    (tmp_path / "mastwatch.toml").write_text(text)
    settings = load({}, environ={}, directory=tmp_path)
    assert settings == Settings()
    assert part in settings.problems[0]


@pytest.mark.parametrize("text", ["{", "[" * 5_000, "= 3", ""])
def test_a_variable_that_is_no_toml_is_reported(tmp_path, text) -> None:
    settings = load({}, environ={"MASTWATCH_RULES": text}, directory=tmp_path)
    assert settings == Settings()
    assert [p.startswith("variable MASTWATCH_RULES: ") for p in settings.problems] == (
        [True] if text else []
    )


def test_a_pyproject_whose_tool_table_is_none_is_no_error(tmp_path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool = 3\n")
    assert load({}, environ={}, directory=tmp_path) == Settings()
