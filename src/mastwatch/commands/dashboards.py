"""``mastwatch dashboards``: the files for Grafana and Prometheus, and a look at them without."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastwatch.commands import Commands, group
from mastwatch.commands.dashboards_check import run_check

if TYPE_CHECKING:
    from mastwatch.panels.rules import Parameters

_DESCRIPTION = """\
Dashboards for Grafana, rules for Prometheus and an example for Alertmanager ship with mastwatch.
These commands write them out, try them against a live Prometheus, and draw them without Grafana."""
_UP = """\
Prepare a folder with a compose file: Prometheus, Alertmanager, Grafana, an OpenTelemetry Collector
and Tempo. The configuration, rules and queries of Prometheus and Alertmanager are tested; the
compose file, Grafana, Collector and Tempo are not: none of them could be run in our tests."""
_STEPS = """\
wrote {count} files to {folder}

  start    cd {folder} && docker compose up -d
  app      MASTWATCH_PROMETHEUS_HOST=172.17.0.1 OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 \\
           OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf mastwatch run app.py
           172.17.0.1 is Docker's bridge on most Linux machines (`ip addr show docker0`): there a
           container reaches the app, at 127.0.0.1, the default, it does not. On Docker Desktop the
           default is enough.
  look     http://localhost:3000 Grafana, http://localhost:9090 Prometheus, :9093 Alertmanager
  receive  put your pager and chat into alertmanager/alertmanager.yml

Untested: the compose file itself, Grafana, the Collector and Tempo. Tested: everything for
Prometheus 2.42 and Alertmanager 0.25.
"""
_POINTS = 120
"""Points of a line over the time shown."""


def add(commands: Commands) -> None:
    """Add the command, its sub-commands and their options."""
    inside = group(
        commands, "dashboards", "dashboards and alerts: export, check, preview, up", _DESCRIPTION
    )
    _add_export(inside)
    _add_check(inside)
    _add_preview(inside)
    _add_up(inside)


def _command(
    inside: Commands, name: str, run: Callable[[argparse.Namespace], int], text: str, more: str = ""
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = inside.add_parser(
        name,
        help=text,
        description=more or f"{text[:1].upper()}{text[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(main=lambda args: _told(run, args))
    return parser


def _told(run: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Say in one line why a command could not be run."""
    from mastwatch.panels.files import DashboardError
    from mastwatch.panels.rules import BadParameters
    from mastwatch.panels.server import ServerError

    try:
        return run(args)
    except (BadParameters, DashboardError, ServerError, OSError) as error:
        sys.stderr.write(f"mastwatch dashboards: {error}\n")
        return 2


def _add_export(inside: Commands) -> None:
    parser = _command(inside, "export", _export, "write dashboards, rules and examples to a folder")
    parser.add_argument("folder", metavar="DIR", type=Path)
    _add_parameters(parser)


def _add_check(inside: Commands) -> None:
    parser = _command(
        inside, "check", run_check, "run every query of every panel against a live Prometheus",
        "Run every query of every panel and variable; report those that fail or have no data.\n"
        "Exit status: 0 all answer, 1 some do not, 2 the server cannot be asked.",
    )  # fmt: skip
    _add_server(parser)
    parser.add_argument("--rules", action="store_true", help="the rules too: loaded and working")
    parser.add_argument(
        "--no-judge", action="store_true", help="there is no judge; what it says may be missing"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per query")
    parser.add_argument("-v", "--verbose", action="store_true", help="queries that answer, too")
    _add_parameters(parser)


def _add_preview(inside: Commands) -> None:
    parser = _command(
        inside, "preview", _preview, "draw every panel on one HTML page, without Grafana"
    )
    _add_server(parser)
    parser.add_argument(
        "--out", metavar="FILE", type=Path, default=Path("mastwatch-dashboards.html"),
        help="default: mastwatch-dashboards.html",
    )  # fmt: skip


def _add_up(inside: Commands) -> None:
    parser = _command(inside, "up", _up, "prepare a folder with everything to start", _UP)
    parser.add_argument(
        "--dir", metavar="DIR", type=Path, default=Path("mastwatch-dashboards"),
        help="default: mastwatch-dashboards",
    )  # fmt: skip
    parser.add_argument("--start", action="store_true", help="and start it with docker compose")
    _add_parameters(parser)


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prometheus", metavar="URL", required=True, help="http://localhost:9090")
    parser.add_argument(
        "--range", metavar="TIME", type=_seconds, default="1h",
        help="the time that panels show, up to now: 15m, 6h, 7d (default: 1h)",
    )  # fmt: skip
    parser.add_argument(
        "--dashboard", metavar="FILE", type=Path, action="append", default=[],
        help="your own dashboards instead of those that ship; may be repeated",
    )  # fmt: skip


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    from mastwatch.panels.rules import FORMS, Parameters

    parser.add_argument(
        "--form", choices=FORMS, default="ratio",
        help="of the alerts on fatal modes: a share of runs, or any occurrence (default: ratio)",
    )  # fmt: skip
    group = parser.add_argument_group("windows and thresholds of the rules (docs/alerts.md)")
    for field in fields(Parameters):
        kind: Any = type(field.default)
        if field.default is MISSING:
            continue
        group.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=_duration if _is_duration(field.default) else kind,
            default=field.default,
            metavar="VALUE",
            help=f"default: {field.default}",
        )


def _parameters(args: argparse.Namespace) -> Parameters:
    from mastwatch.panels.rules import Parameters

    return Parameters(**{field.name: getattr(args, field.name) for field in fields(Parameters)})


def _export(args: argparse.Namespace) -> int:
    from mastwatch.panels.export import export

    done = export(args.folder, _parameters(args), args.form)
    sys.stdout.writelines(f"{path}\n" for path in done.written)
    _say_kept(done.kept)
    return 0


def _say_kept(kept: list[Path]) -> None:
    """Examples that were there: they may be filled in, and may load other rules than now chosen."""
    for path in kept:
        sys.stderr.write(f"mastwatch dashboards: kept yours: {path}; delete it for a new one\n")


def _preview(args: argparse.Namespace) -> int:
    from mastwatch.panels.files import dashboards
    from mastwatch.panels.preview import page
    from mastwatch.panels.queries import Times
    from mastwatch.panels.server import Prometheus

    times = Times(args.range, max(1, args.range // _POINTS))
    text = page(Prometheus(args.prometheus), dashboards(args.dashboard), times)
    args.out.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{args.out}\n")
    return 0


def _up(args: argparse.Namespace) -> int:
    from mastwatch.panels.export import prepare

    done = prepare(args.dir, _parameters(args), args.form)
    _say_kept(done.kept)
    sys.stdout.write(_STEPS.format(count=len(done.written), folder=args.dir))
    if not args.start:
        return 0
    if shutil.which("docker") is None:
        sys.stderr.write("mastwatch dashboards: --start needs docker, which is not on the PATH\n")
        return 2
    return subprocess.run(["docker", "compose", "up", "--detach"], cwd=args.dir).returncode


def _is_duration(default: object) -> bool:
    return isinstance(default, str) and default[:1].isdigit()


def _duration(text: str) -> str:
    _seconds_of(text)
    return text


def _seconds(text: str) -> int:
    found = _seconds_of(text)
    if found < 60:
        raise argparse.ArgumentTypeError("at least 1m, else there is nothing to see")
    return found


def _seconds_of(text: str) -> int:
    from mastwatch.panels.rules.parameters import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
