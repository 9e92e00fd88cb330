"""``mastwatch convert``: runs of any log as our own record."""

from __future__ import annotations

import argparse
import gzip
import os
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from mastwatch.commands import Commands
from mastwatch.commands.inputs import add_format, logs, read
from mastwatch.commands.show import printable
from mastwatch.formats import RecordedRun

_EXAMPLES = """\
examples:
  mastwatch convert chat.log > runs.jsonl
  mastwatch convert logs/ --out runs.jsonl.gz
  cat traces.json | mastwatch convert - --format langsmith | mastwatch detect -

exit status: 0 at least one run was read, 2 no run was readable
"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "convert",
        help="recorded runs of any format as records of one",
        description="Read recorded runs and write each as one line of JSON, from which the same "
        "run is read again. What cannot be read is said on stderr.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="log file, folder of logs, or - for stdin"
    )
    add_format(parser)
    parser.add_argument("--to", default="record", choices=["record"], help="(default: record)")
    parser.add_argument(
        "--out", metavar="FILE", help="write here, zipped if it ends in .gz (default: stdout)"
    )
    parser.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Read the files and write their runs.

    Returns:
        The exit status.
    """
    from mastwatch.formats.writing import as_line, to_record

    fault = _overwritten(args.out, args.files) if args.out else ""
    if fault:
        _say(fault)
        return 2
    runs = 0
    try:
        with _Out(args.out) as out:
            for item in read(args.files, args.format):
                if isinstance(item, RecordedRun):
                    out.write(as_line(to_record(item)))
                    runs += 1
                else:
                    _say(str(item))
    except BrokenPipeError:
        raise  # ``head`` has seen enough; the command line ends quietly
    except OSError as error:
        _say(f"{args.out or '<stdout>'}: cannot be written ({error.strerror or error})")
        return 2
    return 0 if runs else 2


def _overwritten(out: str, files: Sequence[str]) -> str:
    """Why nothing may be written there: it is read itself."""
    target = os.path.realpath(out)
    for file in files:
        if file == "-":
            continue
        if os.path.isdir(file):
            folder = os.path.realpath(file)
            if os.path.commonpath([folder, os.path.dirname(target)]) == folder:
                return f"{out}: lies in {file}, which is read; write to another place"
        for path in _inputs(file):
            if os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out):
                return f"{out}: is read itself; write to another place"
    return ""


def _inputs(file: str) -> Iterator[str]:
    if os.path.isdir(file):
        yield from logs(file)
    else:
        yield file


class _Out:
    """Where records go, line by line; a file is opened with its first record."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> _Out:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, line: str) -> None:
        """Write one record; a reader at the other end of a pipe has it at once."""
        data = f"{line}\n".encode("utf-8", "replace")
        if self._path is None:
            stdout = sys.stdout.buffer
            stdout.write(data)
            stdout.flush()
            return
        if self._file is None:
            self._file = _opened(self._path)
        self._file.write(data)


def _opened(path: str) -> BinaryIO:
    if path.lower().endswith(".gz"):
        return gzip.open(path, "wb")  # type: ignore[return-value]
    return open(path, "wb")


def _say(text: str) -> None:
    print(f"mastwatch: {printable(text)}", file=sys.stderr)  # noqa: T201
