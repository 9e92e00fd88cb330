"""``import mastwatch`` stays cheap, and frameworks are hooked without being imported."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from mastwatch._imports import ImportHook

HEAVY = (
    "opentelemetry.sdk", "opentelemetry", "prometheus_client", "structlog", "grpc", "openai",
    "pydantic", "autogen", "ag2", "langchain_core", "langgraph", "rich",
)  # fmt: skip


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_importing_mastwatch_imports_nothing_heavy() -> None:
    code = f"import sys, mastwatch; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run(code) == "[]"


def test_every_public_name_is_there() -> None:
    code = "from mastwatch import *; import mastwatch as m; print(Handle.__name__, m.__version__)"
    assert run(code) == "Handle 0.1.0"


def test_instrumenting_imports_no_framework() -> None:
    frameworks = ("autogen", "ag2", "langchain_core", "langgraph", "openai")
    code = (
        "import sys, mastwatch; mastwatch.instrument(prometheus_port=0);"
        f"print([m for m in {frameworks!r} if m in sys.modules])"
    )
    assert run(code) == "[]"


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "hooked_module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "hooked_module"
    sys.modules.pop("hooked_module", None)


def test_the_callback_runs_once_after_the_import_and_leaves_no_trace(module) -> None:
    hook, seen = ImportHook(), []
    before = list(sys.meta_path)
    hook.when_imported(module, lambda: seen.append(sys.modules[module].VALUE))
    imported = importlib.import_module(module)
    assert seen == [1]
    assert type(imported.__spec__.loader).__name__ == "SourceFileLoader"
    assert imported.__loader__ is imported.__spec__.loader
    hook.remove()
    assert sys.meta_path == before


def test_a_module_imported_already_calls_back_at_once() -> None:
    seen = []
    ImportHook().when_imported("json", lambda: seen.append(1))
    assert seen == [1]


def test_a_removed_hook_stays_silent(module) -> None:
    hook, seen = ImportHook(), []
    hook.when_imported(module, lambda: seen.append(1))
    hook.remove()
    importlib.import_module(module)
    assert seen == []


def test_a_callback_that_fails_does_not_break_the_import(module, monkeypatch) -> None:
    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    hook = ImportHook()

    def broken() -> None:
        raise RuntimeError

    hook.when_imported(module, broken)
    assert importlib.import_module(module).VALUE == 1
    hook.remove()
