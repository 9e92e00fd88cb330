"""Errors of ours: swallowed, counted, logged once; everything else passes."""

from __future__ import annotations

import asyncio
import logging

import pytest

from mastwatch import guard


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    guard.reset()
    yield
    guard.reset()


def test_an_error_is_swallowed_counted_and_logged_once_without_its_text(caplog) -> None:
    with caplog.at_level(logging.WARNING, logger="mastwatch"):
        for _ in range(3):
            with guard.guard("here"):
                raise ValueError("the customer's secret")
    assert guard.counts() == {"here": 3}
    assert len(caplog.records) == 1
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
def test_base_exceptions_pass(kind) -> None:
    with pytest.raises(kind), guard.guard("here"):
        raise kind
    assert guard.counts() == {}


def test_a_log_line_that_runs_into_the_recursion_limit_is_swallowed_too(monkeypatch) -> None:
    def too_deep(where: str, error: Exception) -> None:
        raise RecursionError

    monkeypatch.setattr(guard, "report", too_deep)
    with guard.guard("here"):
        raise RecursionError


def test_our_own_suites_see_the_error(monkeypatch) -> None:
    monkeypatch.setenv("MASTWATCH_RAISE_ERRORS", "1")
    with pytest.raises(ValueError, match="x"), guard.guard("here"):
        raise ValueError("x")


def test_an_observer_hears_of_each_and_may_itself_fail() -> None:
    heard = []

    def broken(where: str) -> None:
        raise RuntimeError

    guard.add_observer(broken)
    guard.add_observer(heard.append)
    try:
        with guard.guard("here"):
            raise ValueError
    finally:
        guard.remove_observer(broken)
        guard.remove_observer(heard.append)
    assert heard == ["here"]
