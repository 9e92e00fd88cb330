"""``mastwatch config show``: every effective value, and where it comes from."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastwatch.commands import Commands, group

if TYPE_CHECKING:
    from mastwatch.detector import Detector
    from mastwatch.policy import Policy, Rule
    from mastwatch.settings import Settings

_DESCRIPTION = """\
Print every setting with its value and where that comes from, the parameters of the detectors,
the rules and what became of them, and what is wrong with any of it (exit status 1 then).

What an app gives to mastwatch.instrument() as keywords beats all of this and cannot be seen from
here; variables are those of this shell, files those of this working directory."""


def add(commands: Commands) -> None:
    """Add the command, its sub-command and their options."""
    inside = group(commands, "config", "the effective configuration, and its origin")
    show = inside.add_parser(
        "show",
        help="print every effective value and where it comes from",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    show.add_argument("--json", action="store_true", help="one JSON object")
    show.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="read this file (default: mastwatch.toml or pyproject.toml here)",
    )
    show.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Print the configuration.

    Returns:
        0, or 1 when something in it cannot be used.
    """
    from mastwatch import policy, registry, settings
    from mastwatch.commands.show import printable

    chosen = settings.load(file=args.config)
    wanted = policy.build(chosen)
    shown = describe(chosen, wanted, registry.detectors(), date.today())
    if args.json:
        sys.stdout.write(json.dumps(shown, default=str) + "\n")
    else:
        for line in _lines(shown):
            sys.stdout.write(printable(line) + "\n")
    return 1 if shown["problems"] else 0


def describe(
    settings: Settings, policy: Policy, kinds: list[type[Detector]], today: date
) -> dict[str, Any]:
    """All of the configuration as the object that ``--json`` prints."""
    from mastwatch.settings import NAMES

    plain = [name for name in NAMES if name not in ("thresholds", "rules")]
    return {
        "settings": {
            name: {"value": _open(getattr(settings, name)), "from": settings.origin(name)}
            for name in plain
        },
        "detectors": {kind.name: _detector(kind, policy) for kind in kinds},
        "rules": [_rule(rule, today) for rule in policy.rules],
        "problems": [*settings.problems, *policy.problems, *_actions_problems(settings, kinds)],
    }


def _actions_problems(settings: Settings, kinds: list[type[Detector]]) -> Iterator[str]:
    from mastwatch.interventions import out_of_reach
    from mastwatch.sinks.actions import read_actions

    where = settings.origin("actions")
    wanted = read_actions(settings.actions, where)
    yield from wanted.problems
    yield from out_of_reach(wanted.interventions, f"{where}.intervene", kinds)


def _open(value: Any) -> Any:
    """A setting as it may be shown: without the addresses and keys of webhooks."""
    from mastwatch.sinks.actions.settings import HIDDEN

    if isinstance(value, Mapping):
        return {k: "(hidden)" if k in HIDDEN else _open(v) for k, v in value.items()}
    return [_open(one) for one in value] if isinstance(value, list) else value


def _detector(kind: type[Detector], policy: Policy) -> dict[str, Any]:
    from mastwatch.policy.parameters import defaults

    given = policy.parameters(kind)
    parameters = {}
    for name, default in defaults(kind).items():
        parameters[name] = {"value": given.get(name, default), "default": default}
        if name in given:
            parameters[name]["from"] = policy.origins[kind.name, name]
    return {"mode": kind.mode, "parameters": parameters}


def _rule(rule: Rule, today: date) -> dict[str, Any]:
    from mastwatch.policy.rules import MATCHING

    shown: dict[str, Any] = {"number": rule.number, "from": rule.where}
    shown["state"] = "expired" if rule.expired(today) else "active"
    shown |= {key: list(getattr(rule, key).names) for key in MATCHING if getattr(rule, key)}
    if rule.severity is not None:
        shown["severity"] = rule.severity.label
    if rule.thresholds:
        shown["thresholds"] = rule.thresholds
    if rule.ignore:
        shown["ignore"] = True
    if rule.reason:
        shown["reason"] = rule.reason
    if rule.expires is not None:
        shown["expires"] = rule.expires.isoformat()
    return shown


def _lines(shown: dict[str, Any]) -> Iterator[str]:
    yield "settings"
    for name, entry in shown["settings"].items():
        value = "all" if entry["value"] is None else _value(entry["value"])
        yield f"  {name:<17}  {value:<24}  {entry['from']}"
    yield "detectors: parameters, [default] where changed"
    for name, detector in shown["detectors"].items():
        yield f"  {name} ({detector['mode']})"
        for key, entry in detector["parameters"].items():
            changed = f" [{_value(entry['default'])}]" if "from" in entry else ""
            value = _value(entry["value"]) + changed
            yield f"    {key:<18}  {value:<22}  {entry.get('from', '')}".rstrip()
    yield "rules: the first that matches a finding counts, and no other"
    for rule in shown["rules"]:
        yield from _rule_lines(rule)
    if not shown["rules"]:
        yield "  none"
    yield f"problems: {len(shown['problems']) or 'none'}"
    for problem in shown["problems"]:
        yield f"  {problem}"


def _rule_lines(rule: dict[str, Any]) -> Iterator[str]:
    from mastwatch.policy.rules import MATCHING

    state = rule["state"]
    if "expires" in rule:
        state += f" {'on' if state == 'expired' else 'until'} {rule['expires']}"
    matching = "  ".join(f"{key}={','.join(rule[key])}" for key in MATCHING if key in rule)
    yield f"  {rule['from']}  {state}  {matching}"
    if "ignore" in rule:
        yield "      ignore"
    elif "severity" in rule:
        yield f"      at most {rule['severity']}"
    for detector, values in rule.get("thresholds", {}).items():
        said = ", ".join(f"{name} = {_value(value)}" for name, value in values.items())
        yield f"      {detector}: {said}"
    if "reason" in rule:
        yield f"      because: {rule['reason']}"


def _value(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value != "" else "-"
