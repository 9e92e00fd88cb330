"""Where a setting comes from, and what becomes of one that cannot be read."""

from __future__ import annotations

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
        ("MASTWATCH_METRICS", "carbon", "prometheus or none"),
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


def test_a_broken_file_is_reported(tmp_path) -> None:
    (tmp_path / "mastwatch.toml").write_text("release = ")
    assert "mastwatch.toml" in load({}, environ={}, directory=tmp_path).problems[0]


def test_an_unknown_key_in_the_file_is_reported(tmp_path) -> None:
    (tmp_path / "mastwatch.toml").write_text("relase = '1'\n")
    assert "relase" in load({}, environ={}, directory=tmp_path).problems[0]


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
