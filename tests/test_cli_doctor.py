"""``mastwatch doctor``, ``plugins`` and the command itself."""

from __future__ import annotations

import json
import socket
from importlib import metadata

import pytest

from mastwatch import cli, registry
from mastwatch.commands import checks
from mastwatch.instrumentor import Instrumentor


class Known(Instrumentor):
    name = "known"
    library = "json"
    distributions = ("known-lib",)
    minimum = {"known-lib": "1.4"}  # noqa: RUF012 - as the base class has it


@pytest.fixture
def versions(monkeypatch):
    """Installed versions by distribution, as these tests want them."""
    table: dict[str, str] = {}
    real = metadata.version

    def version(name):
        return table.get(name) or real(name)

    monkeypatch.setattr(metadata, "version", version)
    return table


def plugin(kind=Known, problem=""):
    return registry.Plugin(
        registry.INSTRUMENTATIONS, "known", "dist", "2", "m:Known", kind, problem
    )


def doctor(capsys):
    status = cli.main(["doctor", "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return status, {(line["name"], line["status"]): line["text"] for line in lines}


@pytest.fixture
def only(monkeypatch):
    def use(*plugins):
        monkeypatch.setattr(registry, "plugins", lambda group=None: list(plugins))

    return use


@pytest.mark.parametrize(
    ("version", "status", "text"),
    [
        ("1.4.2", "ok", "known-lib 1.4.2, will be watched"),
        ("1.3", "warn", "known-lib 1.3 is too old, 1.4 or later is needed; not watched"),
        (None, "warn", "module json comes from an unknown package; watched if it fits"),
    ],
)
def test_frameworks_by_version(capsys, only, versions, version, status, text):
    only(plugin())
    if version:
        versions["known-lib"] = version
    code, found = doctor(capsys)
    assert (code, found["known", status]) == (0, text)


def test_an_absent_framework_is_no_fault(capsys, only, monkeypatch):
    monkeypatch.setattr(Known, "library", "no_such_module")
    only(plugin())
    assert doctor(capsys)[1]["known", "info"].startswith("no module no_such_module here")


def test_a_distribution_without_its_module_is_told(capsys, only, versions, monkeypatch):
    monkeypatch.setattr(Known, "library", "no_such_module")
    versions["known-lib"] = "3.0"
    only(plugin())
    assert "brings no module" in doctor(capsys)[1]["known", "warn"]


def test_a_plugin_that_does_not_load_fails(capsys, only):
    only(plugin(None, "m:Known cannot be loaded"))
    code, found = doctor(capsys)
    assert code == 1
    assert found["framework known", "fail"] == "m:Known cannot be loaded"
    assert cli.main(["plugins"]) == 1
    assert "NOT LOADED: m:Known cannot be loaded" in capsys.readouterr().out
    assert cli.main(["plugins", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["loaded"] is False


def test_two_owners_of_autogen_are_told(capsys, only, monkeypatch):
    only()
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"autogen": ["ag2", "autogen"]})
    assert doctor(capsys)[1]["conflict", "warn"].startswith("ag2 and autogen both own autogen/")


def test_pyautogen_without_its_module_is_told(capsys, only, versions, monkeypatch):
    only()
    versions["pyautogen"] = "0.10.0"
    monkeypatch.setattr(checks.util, "find_spec", lambda name: None)
    assert "has no `import autogen`" in doctor(capsys)[1]["conflict", "warn"]


def test_a_taken_port_is_told(capsys, only, monkeypatch):
    only()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setenv("MASTWATCH_PROMETHEUS_PORT", str(port))
        found = doctor(capsys)[1]
    assert any(
        name == "metrics" and f"127.0.0.1:{port} is taken" in text
        for (name, _), text in found.items()
    )


def test_unknown_variables_and_bad_values_are_told(capsys, only, monkeypatch):
    only()
    monkeypatch.setenv("MASTWATCH_DETECTOR", "x")
    found = doctor(capsys)[1]["settings", "warn"]
    assert (
        found == "MASTWATCH_DETECTOR is no variable of mastwatch; did you mean MASTWATCH_DETECTORS?"
    )
    monkeypatch.delenv("MASTWATCH_DETECTOR")
    monkeypatch.setenv("MASTWATCH_MAX_RUNS", "many")
    assert "MASTWATCH_MAX_RUNS" in doctor(capsys)[1]["settings", "warn"]


def test_the_environment_s_tracing_is_told_by_name_only(capsys, only, monkeypatch):
    only()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:secret@host")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    status = cli.main(["doctor"])
    out = capsys.readouterr().out
    assert status == 0
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in out
    assert "secret" not in out
    assert "OTEL_SDK_DISABLED=true" in out


def test_a_check_that_breaks_is_a_failed_check(capsys, monkeypatch):
    def broken():
        raise OSError("disk")
        yield

    monkeypatch.setattr("mastwatch.commands.doctor.CHECKS", (broken,))
    code, found = doctor(capsys)
    assert code == 1
    assert found["broken", "fail"] == "the check itself broke: OSError: disk"


def test_version_help_and_nothing(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("mastwatch ")
    assert cli.main([]) == 0
    assert "examples:" in capsys.readouterr().out
    assert cli.main(["nonsense"]) == 2


def test_demo_has_its_own_options(capsys):
    pytest.importorskip("mastwatch.demo.main")
    assert cli.main(["demo", "--help"]) == 0
    assert "--fast" in capsys.readouterr().out
    assert cli.main(["demo", "--nonsense"]) == 2
