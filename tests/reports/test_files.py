"""Reports in a folder."""

from __future__ import annotations

import os
import stat
from dataclasses import replace

import pytest

from mastwatch.reports import file_stem, write_report, write_summary
from reports.hostile import hostile_report, hostile_trace
from reports.sample import sample_cases, sample_report, sample_trace


def test_a_report_is_three_files_for_their_owner_alone(tmp_path) -> None:
    paths = write_report(sample_trace(), sample_report(), tmp_path / "out")
    assert [path.suffix for path in paths] == [".json", ".md", ".html"]
    assert {path.stem for path in paths} == {file_stem("energy-2031-q2-0117")}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert sorted(os.listdir(tmp_path / "out")) == sorted(path.name for path in paths)


@pytest.mark.parametrize("run_id", ["", "..", "a/b\\c", "x" * 500, "\ud800", "CON: <|>", "日本"])
def test_any_run_id_gives_a_safe_name(tmp_path, run_id) -> None:
    stem = file_stem(run_id)
    assert stem.replace("-", "").replace(".", "").replace("_", "").isalnum()
    assert stem.isascii()
    assert len(stem) < 80
    trace, report = hostile_trace(), hostile_report()
    written = write_report(replace(trace, run_id=run_id), replace(report, run_id=run_id), tmp_path)
    assert all(path.parent == tmp_path for path in written)


def test_names_that_differ_only_in_what_is_left_out_stay_apart() -> None:
    assert file_stem("a/b") != file_stem("a:b")


def test_the_summary_is_two_files(tmp_path) -> None:
    page, data = write_summary(sample_cases(10), tmp_path)
    assert (page.name, data.name) == ("summary.html", "summary.json")


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch) -> None:
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_summary([], tmp_path)
    assert os.listdir(tmp_path) == []
