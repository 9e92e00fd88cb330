"""``mastwatch store``: look at the finished runs that were kept, and forget them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from mastwatch.commands import Commands, group

if TYPE_CHECKING:
    from mastwatch.store import RunFilter
    from mastwatch.store.sqlite import SqliteStore

_DESCRIPTION = """\
Finished runs are kept where instrument(store=...) or MASTWATCH_STORE ask for it. These commands
read the file that --store, MASTWATCH_STORE or mastwatch.toml name, else the default one."""
_CONDITIONS = ("run_id", "conversation_id", "user_id", "until")


def add(commands: Commands) -> None:
    """Add the command, its sub-commands and their options."""
    inside = group(
        commands, "store", "finished runs that were kept: list, show, delete", _DESCRIPTION
    )
    _add_list(inside)
    show = _command(
        inside, "show", _show, "print one run: messages, findings, verdicts, attribution"
    )
    show.add_argument("run", metavar="RUN", help="its id, as `mastwatch store list` prints it")
    _add_delete(inside)
    _command(inside, "prune", _prune, "forget what is over the bounds of age and size")
    path = inside.add_parser("path", help="print where the store is")
    path.add_argument("--store", metavar="FILE", help="another file")
    path.set_defaults(main=_path)


def _command(
    inside: Commands, name: str, run: Callable[[SqliteStore, argparse.Namespace], int], text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = inside.add_parser(name, help=text)
    parser.add_argument("--store", metavar="FILE", help="another file")
    parser.add_argument(
        "--json", action="store_true", help="JSON lines (always so where this is no terminal)"
    )
    parser.set_defaults(main=lambda args: _with_store(run, args))
    return parser


def _add_list(inside: Commands) -> None:
    parser = _command(inside, "list", _list, "list runs, newest first")
    parser.add_argument("--framework", metavar="NAME")
    parser.add_argument("--release", metavar="NAME")
    parser.add_argument("--environment", metavar="NAME")
    parser.add_argument("--conversation", metavar="ID", dest="conversation_id")
    parser.add_argument("--user", metavar="ID", dest="user_id")
    parser.add_argument("--outcome", metavar="NAME", help="completed, limit, error, ...")
    success = parser.add_mutually_exclusive_group()
    success.add_argument("--success", action="store_true", default=None, help="said to succeed")
    success.add_argument("--failure", action="store_false", dest="success", help="said to fail")
    judged = parser.add_mutually_exclusive_group()
    judged.add_argument("--judged", action="store_true", default=None, help="with a report")
    judged.add_argument("--unjudged", action="store_false", dest="judged", help="without one")
    attributed = parser.add_mutually_exclusive_group()
    attributed.add_argument(
        "--attributed", action="store_true", default=None, help="with an attribution"
    )
    attributed.add_argument(
        "--unattributed", action="store_false", dest="attributed", help="without one"
    )
    parser.add_argument("--since", metavar="DATE", type=_date, help="that ended at or after it")
    parser.add_argument(
        "--before", metavar="DATE", type=_date, dest="until", help="that ended before it"
    )
    parser.add_argument("--limit", metavar="N", type=int, help="at most so many")


def _add_delete(inside: Commands) -> None:
    parser = _command(
        inside,
        "delete",
        _delete,
        "forget runs and all that was said of them; the bytes are overwritten",
    )
    parser.add_argument("--run", metavar="ID", dest="run_id")
    parser.add_argument("--conversation", metavar="ID", dest="conversation_id")
    parser.add_argument("--user", metavar="ID", dest="user_id")
    parser.add_argument(
        "--before", metavar="DATE", type=_date, dest="until", help="runs that ended before it"
    )


def _with_store(
    run: Callable[[SqliteStore, argparse.Namespace], int], args: argparse.Namespace
) -> int:
    from mastwatch.store import StoreError

    try:
        return run(_open(args), args)
    except StoreError as error:
        sys.stderr.write(f"mastwatch store: {error}\n")
        return 2


def _open(args: argparse.Namespace) -> SqliteStore:
    from mastwatch import _recording, settings

    return _recording.open_store(settings.load({"store": args.store}), create=False)


def _path(args: argparse.Namespace) -> int:
    sys.stdout.write(f"{_open(args).path}\n")
    return 0


def _list(store: SqliteStore, args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from mastwatch.commands.show import printable

    for run in store.listing(_filter(args)):
        if _as_json(args):
            shown = asdict(run)
            line = json.dumps({"run": shown.pop("run_id"), **shown})
        else:
            said = {None: "", True: "success", False: "failure"}[run.success]
            ended = run.started if run.ended is None else run.ended
            line = printable(
                f"{run.run_id}  {_time(ended)}  {run.framework:<10}  {run.outcome:<10}  "
                f"{said:<7}  {'judged' if run.judged else '':<6}  "
                f"{'attributed' if run.attributed else '':<10}  {run.conversation_id or ''}"
            ).rstrip()
        sys.stdout.write(line + "\n")
    return 0


def _show(store: SqliteStore, args: argparse.Namespace) -> int:
    from mastwatch.commands.stored_run import lines, whole_id
    from mastwatch.store import codec

    run_id = whole_id(store, args.run)
    trace, report = store.trace(run_id), store.report(run_id)
    attribution = store.attribution(run_id)
    if trace is None:
        sys.stderr.write(f"mastwatch store: there is no run {args.run!r} in {store.path}\n")
        return 2
    if _as_json(args):
        shown = {
            "trace": codec.trace_as_dict(trace),
            "report": None if report is None else codec.report_as_dict(report),
            "attribution": None if attribution is None else codec.attribution_as_dict(attribution),
        }
        sys.stdout.write(json.dumps(shown, default=str) + "\n")
        return 0
    for line in lines(trace, report, attribution):
        sys.stdout.write(line + "\n")
    return 0


def _delete(store: SqliteStore, args: argparse.Namespace) -> int:
    if all(getattr(args, name) is None for name in _CONDITIONS):
        sys.stderr.write(
            "mastwatch store: say which runs: --run ID, --conversation ID, --user ID or "
            "--before DATE; several together must all hold\n"
        )
        return 2
    return _forgotten(store.delete(_filter(args)), args)


def _prune(store: SqliteStore, args: argparse.Namespace) -> int:
    return _forgotten(store.prune(), args)


def _forgotten(count: int, args: argparse.Namespace) -> int:
    runs = "1 run" if count == 1 else f"{count} runs"
    line = json.dumps({"deleted": count}) if _as_json(args) else f"{runs} deleted"
    sys.stdout.write(line + "\n")
    return 0


def _filter(args: argparse.Namespace) -> RunFilter:
    from dataclasses import fields

    from mastwatch.store import RunFilter

    given: dict[str, Any] = {
        field.name: getattr(args, field.name)
        for field in fields(RunFilter)
        if hasattr(args, field.name)
    }
    return RunFilter(**given)


def _as_json(args: argparse.Namespace) -> bool:
    return bool(args.json) or not sys.stdout.isatty()


def _date(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no date; write 2026-11-30 or 2026-11-30T12:00:00 (UTC)"
        ) from None
    return moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp()


def _time(at: float | None) -> str:
    if at is None:
        return f"{'-':<16}"
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M")
