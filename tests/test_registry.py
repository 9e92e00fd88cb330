"""Plug-ins are found by their entry points, and a broken one stops nobody."""

from __future__ import annotations

from importlib import metadata

from mastwatch import registry
from mastwatch.registry import DETECTORS


def point(name: str, value: str) -> metadata.EntryPoint:
    return metadata.EntryPoint(name, value, DETECTORS)


def test_our_own_plugins_are_declared_and_load() -> None:
    problems = [p for p in registry.plugins() if p.problem]
    assert problems == []
    assert {p.name for p in registry.plugins()} >= {
        "autogen",
        "langchain",
        "step_repetition",
        "termination_unawareness",
        "conversation_reset",
    }


def test_a_broken_plugin_is_told_and_the_rest_loads(monkeypatch) -> None:
    points = [
        point("absent", "no_such_module_anywhere:X"),
        point("foreign", "json:JSONDecoder"),
        point("good", "mastwatch_detectors.step_repetition:StepRepetition"),
    ]
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: points if group == DETECTORS else []
    )
    rows = {p.name: p for p in registry.plugins(DETECTORS)}
    assert "no_such_module_anywhere" in rows["absent"].problem
    assert "no subclass" in rows["foreign"].problem
    assert [d.name for d in registry.detectors()] == ["step_repetition"]
