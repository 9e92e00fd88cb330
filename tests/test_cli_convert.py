"""``mastwatch convert``: what goes out, what is said, and what is never overwritten."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from mastwatch.cli import main
from mastwatch.formats import RecordedRun, read_runs

LOGS = Path(__file__).parent / "data" / "formats"


def test_a_folder_becomes_one_line_per_run(capsys):
    assert main(["convert", str(LOGS)]) == 0
    out, err = capsys.readouterr()
    records = [json.loads(line) for line in out.splitlines()]
    runs = [
        item
        for p in sorted(LOGS.iterdir())
        for item in read_runs(p)
        if isinstance(item, RecordedRun)
    ]
    assert [record["id"] for record in records] == [run.id for run in runs]
    assert "appworld.txt:84: the evaluation is no valid JSON; left out" in err


def test_a_zipped_file_is_written_and_read_again(tmp_path, capsys):
    out = tmp_path / "runs.jsonl.gz"
    assert main(["convert", str(LOGS / "chatdev.log"), "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    with gzip.open(out, "rt", encoding="utf-8") as lines:
        assert len(list(lines)) == 1
    [converted], [original] = read_runs(out), read_runs(LOGS / "chatdev.log")
    assert isinstance(converted, RecordedRun)
    assert isinstance(original, RecordedRun)
    assert converted.events == original.events


@pytest.mark.parametrize("command", ["detect", "convert"])
@pytest.mark.parametrize("name", ["ag2_chat.log", "hyperagent_study.json", "appworld.txt"])
def test_stdin_takes_every_format(monkeypatch, capsys, command, name):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((LOGS / name).read_bytes())))
    assert main([command, "-"]) == 0
    capsys.readouterr()


def test_hidden_files_and_other_endings_in_a_folder_are_left_out(tmp_path, capsys):
    log = (LOGS / "metagpt.log").read_bytes()
    (tmp_path / ".hidden.log").write_bytes(log)
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "a.log").write_bytes(log)
    (tmp_path / "notes.md").write_bytes(log)
    assert main(["convert", str(tmp_path)]) == 2
    assert "holds no *.jsonl, " in capsys.readouterr().err
    (tmp_path / "a.LOG").write_bytes(log)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(log))
    assert main(["convert", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_what_is_read_is_never_overwritten(tmp_path, capsys):
    log = tmp_path / "in" / "a.log"
    log.parent.mkdir()
    log.write_bytes((LOGS / "metagpt.log").read_bytes())
    link = tmp_path / "link.log"
    link.symlink_to(log)
    before = log.read_bytes()
    for files, out in [
        (log, log),
        (log, link),
        (log.parent, log),
        (log.parent, log.parent / "b.jsonl"),
    ]:
        assert main(["convert", str(files), "--out", str(out)]) == 2
        assert "write to another place" in capsys.readouterr().err
    assert log.read_bytes() == before
    assert not (log.parent / "b.jsonl").exists()


def test_nothing_readable_leaves_an_older_file_alone(tmp_path, capsys):
    out = tmp_path / "runs.jsonl"
    out.write_text("older\n")
    (tmp_path / "x.bin").write_bytes(b"\0\0")
    assert main(["convert", str(tmp_path / "x.bin"), "--out", str(out)]) == 2
    assert out.read_text() == "older\n"
    assert "is binary, not a text log" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_told(tmp_path, capsys):
    out = tmp_path / "none" / "runs.jsonl"
    assert main(["convert", str(LOGS / "metagpt.log"), "--out", str(out)]) == 2
    assert f"{out}: cannot be written (No such file or directory)" in capsys.readouterr().err
