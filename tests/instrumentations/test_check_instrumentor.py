"""Every registered instrumentor keeps the contract; the kit catches those that do not."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import mastwatch
from mastwatch import registry
from mastwatch.testing import check_instrumentor

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "own_instrumentor" / "tests"
PLUGINS = registry.plugins(registry.INSTRUMENTATIONS)
OURS = [p for p in PLUGINS if p.distribution == "mastwatch"]


def loaded(name: str, file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


faulty = loaded("faulty_instrumentors", HERE / "faulty.py")
AcmeExercise = loaded("exercise_of_acme", EXAMPLE / "exercise.py").Exercise
AcmeInstrumentor, BAD = faulty.AcmeInstrumentor, faulty.BAD


def exercise(plugin: registry.Plugin) -> Any:
    folder = plugin.target.partition(":")[0].rpartition(".")[2]
    file = HERE / folder / "exercise.py"
    if not file.exists():
        pytest.skip(f"there is no {folder}/exercise.py yet")
    return loaded(f"exercise_of_{folder}", file).Exercise()


@pytest.mark.slow
@pytest.mark.parametrize("plugin", OURS, ids=lambda plugin: plugin.name)
def test_registered_instrumentor_keeps_the_contract(plugin: registry.Plugin) -> None:
    assert plugin.loaded is not None, plugin.problem
    if not plugin.loaded.present() or plugin.loaded.too_old():
        pytest.skip(plugin.loaded.too_old() or f"{plugin.loaded.library} is not installed")
    check_instrumentor(plugin.loaded, exercise(plugin))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a class be found as if its package were installed."""

    def register(kind: Any, name: str = "") -> None:
        plugin = registry.Plugin(
            registry.INSTRUMENTATIONS, name or kind.name, "mastwatch-acme", "1", "m:Acme", kind
        )
        found = {registry.INSTRUMENTATIONS: [plugin]}
        monkeypatch.setattr(registry, "plugins", lambda group=None: found.get(group, []))

    return register


def breaches(kind: Any, exercise: Any = None) -> list[str]:
    try:
        check_instrumentor(kind, exercise or AcmeExercise())
    except AssertionError as error:
        return str(error).split("\n- ")[1:]
    return []


def test_a_good_instrumentor_passes(registered: Any) -> None:
    registered(AcmeInstrumentor)
    check_instrumentor(AcmeInstrumentor, AcmeExercise())


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "words"), BAD, ids=[kind.__name__ for kind, _ in BAD])
def test_each_breach_is_caught_and_named(
    registered: Any, monkeypatch: pytest.MonkeyPatch, kind: Any, words: tuple[str, ...]
) -> None:
    registered(kind)
    for name, frame in getattr(kind, "frames", {}).items():
        monkeypatch.setattr(faulty.mastwatch_acme, name, frame)
    told = breaches(kind)
    for left in reversed(getattr(kind, "made", ())):
        faulty.Own.uninstall(left)
    for word in words:
        assert any(word in breach for breach in told), told


def test_a_missing_entry_point_is_told_with_the_line_to_add(registered: Any) -> None:
    registered(object, "acme")
    [told] = breaches(AcmeInstrumentor)
    assert told.endswith('write: acme = "mastwatch_acme:AcmeInstrumentor"')
    registered(AcmeInstrumentor, "other")
    assert breaches(AcmeInstrumentor) == ["its entry point is called other, its name is acme"]


def test_an_exercise_that_is_no_use_is_told(registered: Any) -> None:
    registered(AcmeInstrumentor)

    class Short(AcmeExercise):
        texts = ("short",)

    class Varying(AcmeExercise):
        def run(self) -> object:
            return object()

    class Idle(AcmeExercise):
        async def cancel(self) -> None:
            raise asyncio.CancelledError

    assert breaches(AcmeInstrumentor, Short()) == [
        "the exercise's text 'short' is shorter than 12 characters"
    ]
    with pytest.raises(AssertionError, match="run\\(\\) gives another value each time"):
        check_instrumentor(AcmeInstrumentor, Varying())
    assert "a cancelled run ends as nothing" in breaches(AcmeInstrumentor, Idle())


def test_it_refuses_where_mastwatch_is_at_work(registered: Any) -> None:
    registered(AcmeInstrumentor)
    with (
        mastwatch.instrument(metrics="none", frameworks=[]),
        pytest.raises(RuntimeError, match="uninstrument"),
    ):
        check_instrumentor(AcmeInstrumentor, AcmeExercise())
