"""What is known of each agent library here: its version, how it is watched, who else traces it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata, util
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from mastwatch.instrumentor import Instrumentor

Way = Literal["hook", "listening", ""]

_NATIVE: dict[str, tuple[str, tuple[str, ...]]] = {
    "google_adk": ("google.adk", ("google-adk",)),
    "agent_framework": ("agent_framework", ("agent-framework-core", "agent-framework")),
    "strands": ("strands", ("strands-agents",)),
    "mcp": ("mcp", ("mcp",)),
}
"""Libraries without an instrumentor that make spans themselves, by the dialect that reads these:
module, distributions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """One library.

    Attributes:
        name: As in ``frameworks=``, or the dialect's.
        module: What is imported.
        distribution: What is installed; empty where nothing is.
        version: Of that; empty where it is unknown.
        way: ``hook``: an instrumentor of ours; ``listening``: the spans of others; empty where it
            is not watched.
        problem: Why it is not watched though it is here.
        others: Installed instrumentors of others for it, as ``distribution version``.
        native: Whether it makes spans itself, always or when asked to.
        covers: Libraries below whose model calls are part of this one's.
        covered_by: The other way round, as far as those are here.
    """

    name: str
    module: str
    distribution: str = ""
    version: str = ""
    way: Way = ""
    problem: str = ""
    others: tuple[str, ...] = ()
    native: bool = False
    covers: tuple[str, ...] = ()
    covered_by: tuple[str, ...] = ()

    @property
    def installed(self) -> str:
        """Distribution and version, for people."""
        return f"{self.distribution} {self.version}".strip()

    @property
    def tracers(self) -> tuple[str, ...]:
        """Who else traces it, for people."""
        return (*self.others, *(("its own tracing",) if self.native else ()))

    def as_json(self) -> dict[str, Any]:
        """Its fields as JSON holds them."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def libraries() -> list[Library]:
    """Those with an instrumentor, by name; then those that are known by spans alone, if here."""
    from mastwatch import registry, settings

    chosen = settings.load()
    kinds = {
        plugin.name: plugin.loaded
        for plugin in registry.plugins(registry.INSTRUMENTATIONS)
        if plugin.loaded is not None
    }
    producers = dict(_producers())
    found = [
        hooked(name, kind, kinds, producers, chosen.frameworks) for name, kind in kinds.items()
    ]
    taken = {target for kind in kinds.values() for target in kind.producers}
    rest = {target: who for target, who in producers.items() if target not in taken}
    return [*found, *_listened(set(kinds), rest, chosen.bridge)]


def hooked(
    name: str,
    kind: type[Instrumentor],
    kinds: dict[str, type[Instrumentor]],
    producers: dict[str, str],
    chosen: Iterable[str] | None,
) -> Library:
    """What is known of a library that has an instrumentor."""
    version = kind.version()
    present = kind.present()
    problem = kind.too_old() if present else ""
    if version is not None and not present:
        problem = f"{version[0]} {version[1]} brings no module {kind.library}"
    elif present and chosen is not None and name not in chosen:
        problem = "not among the chosen frameworks (settings)"
    here = [n for n, k in kinds.items() if name in k.supersedes and k.present()]
    return Library(
        name=name,
        module=kind.library,
        distribution=version[0] if version else "",
        version=version[1] if version else "",
        way="" if problem or not present else "listening" if kind.listens else "hook",
        problem=problem,
        others=tuple(producers[target] for target in kind.producers if target in producers),
        native=kind.native or kind.listens,
        covers=kind.supersedes,
        covered_by=tuple(here),
    )


def _listened(hooked: set[str], producers: dict[str, str], bridge: bool) -> Iterator[Library]:
    """What is watched by its own spans, or by those of a producer of which we have no hook."""
    way: Way = "listening" if bridge else ""
    problem = "" if bridge else "reading the spans of others is switched off (settings)"
    for name, (module, distributions) in _NATIVE.items():
        version = next((v for d in distributions if (v := _version(d))), None)
        if name not in hooked and (version is not None or _present(module)):
            yield Library(
                name=name,
                module=module,
                distribution=version[0] if version else "",
                version=version[1] if version else "",
                way=way,
                problem=problem,
                native=True,
            )
    for name, who in sorted(_unhooked(producers)):
        if name not in hooked and name not in _NATIVE:
            yield Library(name=name, module=name, way=way, problem=problem, others=(who,))


def _unhooked(producers: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Libraries that an installed producer traces in a dialect that we read."""
    from mastwatch.spans.dialects import by_scope

    for target, who in producers.items():
        scope = target.partition(":")[0]
        dialect = by_scope(scope, "")
        if dialect is not None:
            yield dialect.library(scope), who


def _producers() -> Iterator[tuple[str, str]]:
    """Installed instrumentors of OpenTelemetry's kind, ours left out: target, and who brings it."""
    for point in metadata.entry_points(group="opentelemetry_instrumentor"):
        if point.dist is not None and point.dist.name != "mastwatch":
            yield point.value, f"{point.dist.name} {point.dist.version}"


def _version(distribution: str) -> tuple[str, str] | None:
    try:
        return distribution, metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _present(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
