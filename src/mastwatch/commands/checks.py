"""The single checks of ``mastwatch doctor``; each looks and changes nothing."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
from collections.abc import Callable, Iterator
from importlib import metadata, util
from typing import TYPE_CHECKING, Literal, NamedTuple

from mastwatch.instrumentor import older

if TYPE_CHECKING:
    from mastwatch.commands.libraries import Library

_OLDEST_OTEL = "1.41"
_PORTS = 10  # the chosen port and the nine that are tried after it
_OTHER_VARIABLES = frozenset(
    {"MASTWATCH_CONFIG", "MASTWATCH_RAISE_ERRORS", "MASTWATCH_REQUIRE_SERVICES", "MASTWATCH_TRACES"}
)


class Check(NamedTuple):
    """One line of the doctor: ``fail`` means that mastwatch cannot do its work as it stands."""

    name: str
    status: Literal["ok", "info", "warn", "fail"]
    text: str


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def python() -> Iterator[Check]:
    """Python and mastwatch."""
    running = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    yield Check("python", "ok" if sys.version_info >= (3, 10) else "fail", running)
    own = _version("mastwatch")
    if own is None:
        text = "not installed, only on the path: no plug-in can be found; pip install mastwatch"
        yield Check("mastwatch", "fail", text)
    else:
        yield Check("mastwatch", "ok", own)


def opentelemetry() -> Iterator[Check]:
    """API and SDK, and whether they fit together."""
    for part in ("opentelemetry-api", "opentelemetry-sdk"):
        found = _version(part)
        if found is None:
            yield Check("opentelemetry", "fail", f"{part} is missing; pip install {part}")
        elif older(found, _OLDEST_OTEL):
            text = f"{part} {found} is too old; {_OLDEST_OTEL} or later is needed"
            yield Check("opentelemetry", "fail", text)
        else:
            yield Check("opentelemetry", "ok", f"{part} {found}")


def frameworks() -> Iterator[Check]:
    """Each library: which version, how it is watched, who else traces it."""
    from mastwatch import registry
    from mastwatch.commands.libraries import libraries

    for plugin in registry.plugins():
        if plugin.problem:
            kind = "framework" if plugin.group == registry.INSTRUMENTATIONS else "detector"
            yield Check(f"{kind} {plugin.name}", "fail", plugin.problem)
    for library in libraries():
        yield _framework(library)


def _framework(library: Library) -> Check:
    name, installed = library.name, library.installed
    if library.problem.endswith("(settings)"):
        return Check(name, "info", library.problem)
    if library.problem:
        return Check(name, "warn", f"{library.problem}; not watched")
    if not library.way:
        return Check(name, "info", f"no module {library.module} here; nothing to watch")
    text = {"hook": "watched by hook", "listening": "watched by listening to spans"}[library.way]
    if library.tracers:
        who = ", ".join(library.tracers)
        rest = f"; also traced, where switched on, by {who}"
        text += rest if library.way == "hook" else f" ({who})"
    if library.covers:
        text += f"; covers {', '.join(library.covers)}"
    if library.covered_by:
        text += f"; a call made by {', '.join(library.covered_by)} is theirs"
    if not installed and library.way == "hook":
        unknown = f"module {library.module} comes from an unknown package"
        return Check(name, "warn", f"{unknown}; watched if it fits")
    return Check(name, "ok", f"{installed}, {text}" if installed else text)


def conflicts() -> Iterator[Check]:
    """Packages that get into each other's way."""
    owners = sorted(set(metadata.packages_distributions().get("autogen", ())))
    if len(owners) > 1:
        text = f"{' and '.join(owners)} both own autogen/; reinstall the one you mean"
        yield Check("conflict", "warn", text)
    other = _version("pyautogen")
    if other and not older(other, "0.10") and util.find_spec("autogen") is None:
        text = f"pyautogen {other} has no `import autogen` any more; pip install autogen"
        yield Check("conflict", "warn", text)


def tracing() -> Iterator[Check]:
    """Where spans go, by the environment."""
    variables = sorted(name for name in os.environ if name.startswith("OTEL_"))
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield Check("tracing", "warn", "OTEL_SDK_DISABLED=true: there will be no spans")
    endpoints = [name for name in variables if name.endswith("_ENDPOINT") and os.environ[name]]
    if endpoints:
        yield Check("tracing", "ok", f"spans are exported by OTLP ({', '.join(endpoints)})")
    else:
        text = "no OTEL_EXPORTER_OTLP_ENDPOINT: spans are exported only if your app does it"
        yield Check("tracing", "info", text)
    if variables:
        yield Check("tracing", "info", f"variables set: {', '.join(variables)}")
    if "OTEL_PYTHON_TRACER_PROVIDER" in os.environ or _version("opentelemetry-distro"):
        text = "a TracerProvider may be set before us; it is used as it is, never replaced"
        yield Check("tracing", "info", text)


def metrics() -> Iterator[Check]:
    """Whether the port of /metrics is free."""
    from mastwatch import settings

    chosen = settings.load()
    host, port = chosen.prometheus_host, chosen.prometheus_port
    if chosen.metrics not in ("prometheus", "both") or port == 0:
        yield Check("metrics", "info", "no /metrics is served (settings)")
        return
    free = next((p for p in range(port, min(port + _PORTS, 65_536)) if _free(host, p)), None)
    if free is None:
        text = (
            f"{host} ports {port} to {port + _PORTS - 1} are taken; set MASTWATCH_PROMETHEUS_PORT"
        )
        yield Check("metrics", "fail", text)
    elif free != port:
        yield Check("metrics", "warn", f"{host}:{port} is taken; {free} would be used")
    else:
        yield Check("metrics", "ok", f"{host}:{port} is free")


def _free(host: str, port: int) -> bool:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError:
        return False
    return True


def extras() -> Iterator[Check]:
    """Optional features; frameworks have checks of their own."""
    from mastwatch import registry

    kinds = [p.loaded for p in registry.plugins(registry.INSTRUMENTATIONS) if p.loaded is not None]
    frameworks = {name for kind in kinds for name in (kind.name, *kind.frameworks)}
    needed: dict[str, list[str]] = {}
    for requirement in metadata.requires("mastwatch") or ():
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement)
        name = re.match(r"[\w.-]+", requirement)
        if extra and name and name.group() != "mastwatch":
            needed.setdefault(extra.group(1), []).append(name.group())
    for extra_name, distributions in sorted(needed.items()):
        if extra_name == "all" or extra_name.replace("-", "_") in frameworks:
            continue
        missing = [d for d in distributions if _version(d) is None]
        if missing:
            text = f"off, {', '.join(missing)} missing: pip install 'mastwatch[{extra_name}]'"
            yield Check(f"extra {extra_name}", "info", text)
        else:
            yield Check(f"extra {extra_name}", "ok", "installed")


def variables() -> Iterator[Check]:
    """MASTWATCH_* names that mean nothing, and settings that cannot be read."""
    from mastwatch import policy, settings

    known = {f"MASTWATCH_{name.upper()}" for name in settings.NAMES} | _OTHER_VARIABLES
    for name in sorted(os.environ):
        if name.startswith("MASTWATCH_") and name not in known:
            yield Check(
                "settings", "warn", f"{name} is no variable of mastwatch{_near(name, known)}"
            )
    chosen = settings.load()
    for problem in (*chosen.problems, *policy.build(chosen).problems):
        yield Check("settings", "warn", problem)


def _near(name: str, known: set[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


CHECKS: tuple[Callable[[], Iterator[Check]], ...] = (
    python,
    opentelemetry,
    frameworks,
    conflicts,
    tracing,
    metrics,
    extras,
    variables,
)
"""In the order they are shown."""
