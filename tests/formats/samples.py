"""The repository's own logs, one or more per format, and the format of each."""

from __future__ import annotations

from pathlib import Path

from mastwatch.formats import Problem, RecordedRun, read_runs

SAMPLES = Path(__file__).parents[1] / "data" / "formats"
NAMED_OTHERWISE = {
    "ag2_chat.log": "ag2-chat",
    "ag2_dump.json": "ag2",
    "ag2_reprs.txt": "ag2-repr",
    "hyperagent_study.json": "hyperagent",
    "metagpt_run.json": "metagpt",
    "metagpt_talk.txt": "metagpt",
}


def files() -> list[Path]:
    """All of them."""
    return sorted(path for path in SAMPLES.iterdir() if path.is_file())


def format_of(path: Path) -> str:
    """The format a sample is written in: its name up to the first dot."""
    return NAMED_OTHERWISE.get(path.name, path.name.split(".")[0])


def runs(name: str) -> list[RecordedRun]:
    """The runs of a sample."""
    return [item for item in read_runs(str(SAMPLES / name)) if isinstance(item, RecordedRun)]


def problems(name: str) -> list[str]:
    """What is wrong with a sample, without its path."""
    found = [item for item in read_runs(str(SAMPLES / name)) if isinstance(item, Problem)]
    return [str(item).removeprefix(str(SAMPLES / name)) for item in found]
