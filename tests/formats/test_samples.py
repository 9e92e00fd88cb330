"""Every log of our own is recognised by its format alone, and survives being damaged."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from formats.samples import files, format_of
from mastwatch.events import RunFinished, RunStarted
from mastwatch.formats import FORMATS, RecordedRun, Source, read_runs, sniff

GENERAL = {"openai"}  # lists of objects with a role: many formats are these as well


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


@pytest.mark.parametrize("path", files(), ids=names(files()))
def test_one_format_claims_it(path):
    claims = []
    for known in FORMATS:
        with path.open("rb") as stream:
            if known.sniff(Source(stream, str(path), str(path))):
                claims.append(known.name)
    right = format_of(path)
    assert claims[0] == right
    assert set(claims) - {right} <= GENERAL
    with path.open("rb") as stream:
        found = sniff(Source(stream, str(path), str(path)))
    assert getattr(found, "name", None) == right


def test_every_format_of_text_has_a_sample():
    assert {format_of(path) for path in files()} >= {
        known.name
        for known in FORMATS
        if known.name != "ag2-runtime"  # a database
    }


@pytest.mark.parametrize("path", files(), ids=names(files()))
def test_it_is_read(path):
    runs = [item for item in read_runs(str(path)) if isinstance(item, RecordedRun)]
    assert runs
    for run in runs:
        assert run.format == format_of(path)
        assert isinstance(run.events[0], RunStarted)
        assert isinstance(run.events[-1], RunFinished)
        assert {event.run_id for event in run.events} == {run.id}
        rows = {getattr(event, "index", 0) for event in run.events}
        assert max(rows) < run.messages


@pytest.mark.parametrize("path", files(), ids=names(files()))
def test_damage_never_raises(path):
    data = path.read_bytes()
    chance = random.Random(7)
    for _ in range(12):
        cut = data[: chance.randrange(len(data))]
        at = chance.randrange(len(data))
        holed = data[:at] + bytes(chance.randrange(256) for _ in range(9)) + data[at + 30 :]
        for damaged in (cut, holed):
            for format in ("auto", format_of(path)):
                for item in read_runs(io.BytesIO(damaged), format, name="log"):
                    assert "\n" not in str(item.where)


def test_every_format_is_documented():
    table = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    assert [known.name for known in FORMATS if f"\n| `{known.name}` |" not in table] == []
