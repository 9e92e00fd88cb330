"""``mastwatch detect``: findings of recorded runs."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mastwatch import taxonomy
from mastwatch.commands import Commands
from mastwatch.commands.inputs import add_format, read
from mastwatch.detector import Detector
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.formats import RecordedRun
from mastwatch.sink import Sink

if TYPE_CHECKING:
    from mastwatch.policy import Policy
    from mastwatch.settings import Settings

_EXAMPLES = """\
examples:
  mastwatch detect runs.jsonl.gz
  mastwatch detect logs/ --mode FM-1.3 --fail-on warn
  cat chat.json | mastwatch detect -

exit status: 0 at least one run was read, 1 --fail-on was met, 2 no run was readable
"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "detect",
        help="findings of recorded runs",
        description="Read recorded runs and print their findings: lines on a terminal, else one "
        "JSON object per line. What cannot be read is said on stderr.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="log file, folder of logs, or - for stdin"
    )
    add_format(parser)
    parser.add_argument("--json", action="store_true", help="JSON lines on a terminal too")
    parser.add_argument(
        "--fail-on",
        type=_severity,
        metavar="SEVERITY",
        help="exit with 1 on a finding of this severity (info, suspect, warn, alert) or above",
    )
    parser.add_argument(
        "--mode",
        action="append",
        type=_mode,
        metavar="FM-X.Y",
        help="only this failure mode, by code or name; may be repeated",
    )
    parser.add_argument("--notices", action="store_true", help="also print what is no failure mode")
    configuration = parser.add_mutually_exclusive_group()
    configuration.add_argument(
        "--config",
        type=_file,
        metavar="FILE",
        help="thresholds and rules from this file (default: mastwatch.toml or pyproject.toml here)",
    )
    configuration.add_argument(
        "--no-config",
        action="store_true",
        help="the shipped defaults, whatever files and variables say",
    )
    parser.set_defaults(main=main)


def _file(text: str) -> Path:
    # In CI other thresholds than those that were asked for would pass for them.
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is no file")
    return path


def _severity(text: str) -> Severity:
    try:
        return Severity.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _mode(text: str) -> str:
    try:
        return taxonomy.mode(text).code
    except KeyError as error:
        raise argparse.ArgumentTypeError(error.args[0]) from None


def main(args: argparse.Namespace) -> int:
    """Read the files and print what is found.

    Returns:
        The exit status.
    """
    from mastwatch.commands.show import JsonView, TerminalView
    from mastwatch.policy import configured
    from mastwatch.replay import replay

    chosen = _settings(args)
    policy = configured(chosen)
    for problem in (*chosen.problems, *(policy.problems if policy is not None else ())):
        _say(problem)
    detectors = _detectors(chosen)
    suppressed = Suppressed(policy, args.mode)
    plain = args.json or not sys.stdout.isatty()
    view = JsonView(sys.stdout) if plain else TerminalView(sys.stdout)
    runs, worst = 0, 0
    for item in read(args.files, args.format):
        if not isinstance(item, RecordedRun):
            _say(str(item))
            continue
        runs += 1
        found = replay(item.events, detectors, policy=policy, sinks=[suppressed])
        verdicts = _chosen(found, args.mode, args.notices)
        view.run(item, verdicts)
        worst = max([worst, *(v.severity for v in verdicts if isinstance(v, Finding))])
    view.end()
    for line in suppressed.lines():
        _say(line)
    if runs == 0:
        return 2
    return 1 if args.fail_on is not None and worst >= args.fail_on else 0


def _chosen(
    verdicts: Iterator[Finding | Notice], modes: Sequence[str] | None, notices: bool
) -> list[Finding | Notice]:
    """All of a run that was asked for; what fails inside costs this run only."""
    from mastwatch.guard import guard

    chosen: list[Finding | Notice] = []
    with guard("detect.run"):
        for verdict in verdicts:
            if isinstance(verdict, Notice):
                wanted = notices
            else:
                wanted = modes is None or verdict.mode in modes
            if wanted:
                chosen.append(verdict)
    return chosen


class Suppressed(Sink):
    """Counts the findings that rules of the configuration suppress.

    Args:
        policy: The rules.
        modes: Only findings of these; all if None.
    """

    def __init__(self, policy: Policy | None, modes: Sequence[str] | None) -> None:
        self._policy = policy
        self._modes = modes
        self._counts: Counter[tuple[str, str]] = Counter()

    def on_suppressed(self, finding: Finding, by: str, reason: str) -> None:
        """Count one."""
        about = (finding.mode, finding.detector, finding.agent, finding.tool, finding.framework)
        rule = self._policy.rule_for(*about) if self._policy is not None else None
        if self._modes is None or finding.mode in self._modes:
            self._counts[(rule.where if rule is not None else by, reason)] += 1

    def lines(self) -> Iterator[str]:
        """What was counted, one line per rule."""
        for (where, reason), count in self._counts.items():
            findings = "1 finding" if count == 1 else f"{count} findings"
            yield f"{findings} suppressed by {where}: {reason}"


def _settings(args: argparse.Namespace) -> Settings:
    from mastwatch import settings

    return settings.Settings() if args.no_config else settings.load(file=args.config)


def _detectors(settings: Settings) -> list[type[Detector]]:
    from mastwatch import registry

    found = registry.plugins(registry.DETECTORS)
    for plugin in found:
        if plugin.problem:
            _say(f"detector {plugin.name}: {plugin.problem}")
    if not any(plugin.loaded for plugin in found):
        _say("no detector could be loaded, so nothing can be found; see mastwatch plugins")
    names = settings.detectors
    known = [plugin.name for plugin in found]
    for name in set(names or ()).difference(known):
        _say(f"{settings.origin('detectors')}: no detector {name}; known: {', '.join(known)}")
    return [p.loaded for p in found if p.loaded and (names is None or p.name in names)]


def _say(text: str) -> None:
    from mastwatch.commands.show import printable

    print(f"mastwatch: {printable(text)}", file=sys.stderr)  # noqa: T201
