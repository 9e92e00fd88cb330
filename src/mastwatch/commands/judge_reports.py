"""The runs and reports that the words under ``mastwatch judge`` work on: of files, or the store."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastwatch.store import Report, Trace
    from mastwatch.store.sqlite import SqliteStore


class BadReports(ValueError):
    """A file with runs or reports cannot be used; the message says where and why."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where reports come from."""
    parser.add_argument(
        "--reports",
        action="append",
        default=[],
        metavar="FILE",
        help="JSONL with reports, in place of the store's; may be repeated",
    )
    parser.add_argument(
        "--store", metavar="FILE", help="the store (default: that of MASTWATCH_STORE, or its place)"
    )


def open_store(args: argparse.Namespace) -> SqliteStore:
    """The store that is meant; a ``StoreError`` says where there is none."""
    from mastwatch import _recording, settings

    return _recording.open_store(settings.load({"store": args.store}), create=False)


def _of_file(path: str) -> Iterator[Report]:
    from mastwatch.store.codec import report_from_json

    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise BadReports(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            # A file that `evaluate judge --keep` wrote begins with whose it is.
            if isinstance(value, dict) and set(value) == {"judge"}:
                continue
            inner = value.get("report", value) if isinstance(value, dict) else value
            yield report_from_json(json.dumps(inner))
        except ValueError as error:
            raise BadReports(f"{path}:{number}: {error}") from None


def newest(runs: Iterable[str], args: argparse.Namespace) -> dict[str, Report]:
    """The newest report of each run, from ``--reports`` or the store."""
    return {run: several[0] for run, several in reports(runs, args).items() if several}


def reports(runs: Iterable[str], args: argparse.Namespace) -> dict[str, list[Report]]:
    """All reports of runs, from ``--reports`` or the store; runs without one are missing.

    Raises:
        BadReports: A file cannot be used.
        mastwatch.store.StoreError: The store cannot be used.
    """
    if not args.reports:
        store = open_store(args)
        found = {run: store.report(run) for run in runs}
        return {run: [report] for run, report in found.items() if report is not None}
    every: dict[str, list[Report]] = {}
    for path in args.reports:
        for report in _of_file(path):
            every.setdefault(report.run_id, []).append(report)
    return {run: sorted(several, key=lambda r: -r.created) for run, several in every.items()}


def traces(names: Sequence[str], args: argparse.Namespace) -> list[Trace]:
    """Runs by their ids in the store, or all runs of files; what cannot be read is said.

    Raises:
        BadReports: Nothing can be read.
        mastwatch.store.StoreError: The store cannot be used.
    """
    from mastwatch import settings
    from mastwatch.commands.judge_input import Input, NotRead, is_file
    from mastwatch.commands.judge_output import say

    stored = not all(is_file(name) for name in names)
    store = open_store(args) if stored else None
    place = str(store.path) if store is not None else "not asked for"
    found = []
    for item in Input(store, place, settings.load({}), "auto").runs(list(names)):
        if isinstance(item, NotRead):
            say(item)
        else:
            found.append(item)
    if not found:
        raise BadReports("none of the runs can be read")
    return found
