"""The base class of framework instrumentors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from mastwatch.spans.emit import Emitter


class DidNotEnable(ModuleNotFoundError):
    """A library cannot be instrumented here: it is absent, too old, or not what we know.

    A ModuleNotFoundError, so that OpenTelemetry's loader skips it and goes on with the others.
    """


class Instrumentor:
    """Attaches mastwatch to one library.

    The contract, in points:

    1. ``install`` is called once the library is imported, never before, and imports nothing that
       the app would not import itself. It raises DidNotEnable when it cannot attach.
    2. A hook observes: same return value, same exception object, same laziness. The host's call is
       never inside our guard: prepare (guarded), call (bare), record (guarded).
    3. Agents and graphs made before ``install`` are seen too: patch classes, not instances.
    4. ``uninstall`` first makes every hook inert, then unwraps what is still on top; it never
       removes what others put there after us.
    5. The instrumentor tells the Emitter what happened and knows nothing of failure modes.

    Attributes:
        name: As in ``instrument(frameworks=[...])`` and the metric label ``framework``.
        frameworks: Values of the label ``framework`` on its runs; its name by default.
        library: Top-level import name; its presence is looked up without importing it.
        trigger: Module after whose import ``install`` runs; the library itself by default.
        distributions: Names on the package index that provide the library, newest first.
        minimum: Oldest supported version by distribution, ``{"autogen": "0.14"}``.
        supersedes: Names of instrumentors whose events this one already covers: a model call that
            it has open is the same call when it reaches the library below.
        producers: Others' instrumentors of the same library, ``"package.module:Class"``. Where one
            is active, spans are left to it (see ``traced_by``).
        scopes: Instrumentation scopes of the spans that others, or the library itself, make for
            it: the bridge leaves these alone while our hooks are in place.
        native: The library has tracing of its own.
        listens: It only switches on the library's own tracing, whose spans the bridge reads.
    """

    name: ClassVar[str]
    frameworks: ClassVar[tuple[str, ...]] = ()
    library: ClassVar[str]
    trigger: ClassVar[str] = ""
    distributions: ClassVar[tuple[str, ...]] = ()
    minimum: ClassVar[dict[str, str]] = {}
    supersedes: ClassVar[tuple[str, ...]] = ()
    producers: ClassVar[tuple[str, ...]] = ()
    scopes: ClassVar[tuple[str, ...]] = ()
    native: ClassVar[bool] = False
    listens: ClassVar[bool] = False

    def install(self, emitter: Emitter) -> None:
        """Attach to the imported library.

        Raises:
            DidNotEnable: The library cannot be instrumented; the text says why.
        """
        raise NotImplementedError

    def uninstall(self) -> None:
        """Detach; harmless when not installed."""
        raise NotImplementedError

    def intervene(self) -> tuple[str, ...]:
        """Get ready to act on runs: to carry out what ``emitter.interventions`` orders.

        Called at most once, after ``install``, and only where the host lets us act: a hook that
        serves nothing else is put in place here.

        Returns:
            What it can do to its runs: ``halt``, ``nudge``.
        """
        return ()

    def hooks(self) -> dict[str, bool]:
        """Each hook's name and whether it is in place, for ``mastwatch_hook_status``."""
        return {}

    @classmethod
    def traced_by(cls) -> tuple[str, ...]:
        """Which of ``producers`` are active at this moment; looking imports nothing.

        Ask when a run starts: producers come and go while the app runs.
        """
        return tuple(producer for producer in cls.producers if _instruments(producer))

    @classmethod
    def present(cls) -> bool:
        """Whether the library can be imported here; nothing is imported to find out."""
        from importlib import util

        try:
            return util.find_spec(cls.library) is not None
        except (ImportError, ValueError):
            return False

    @classmethod
    def version(cls) -> tuple[str, str] | None:
        """Distribution and version that provide the library, or None."""
        from importlib import metadata  # loads the email package: not at import time

        for distribution in cls.distributions:
            try:
                return distribution, metadata.version(distribution)
            except metadata.PackageNotFoundError:
                continue
        return None

    @classmethod
    def too_old(cls) -> str:
        """Why the installed version is not supported; empty when it is, or is unknown."""
        found = cls.version()
        minimum = cls.minimum.get(found[0]) if found else None
        if found is None or minimum is None or not older(found[1], minimum):
            return ""
        return f"{found[0]} {found[1]} is too old, {minimum} or later is needed"


def _instruments(producer: str) -> bool:
    """Whether an instrumentor of OpenTelemetry's kind is switched on."""
    import sys

    module, _, name = producer.partition(":")
    kind = getattr(sys.modules.get(module), name, None)
    # They are singletons; looking at the one there is makes none.
    made = getattr(kind, "_instance", None)
    return bool(getattr(made, "is_instrumented_by_opentelemetry", False))


def older(version: str, minimum: str) -> bool:
    """Whether a version is below a minimum; by its numbers, pre-release marks left aside.

    >>> older("0.9.10", "0.14"), older("1.10", "1.9"), older("1.0rc1", "1.0")
    (True, False, False)
    """
    return _numbers(version) < _numbers(minimum)


def _numbers(version: str) -> tuple[int, ...]:
    import re

    leading = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in leading.group().split(".")] if leading else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
