"""``mastwatch doctor``, ``plugins`` and the command itself."""

from __future__ import annotations

import json
import re
import socket
from importlib import metadata
from types import SimpleNamespace

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
        ("1.4.2", "ok", "known-lib 1.4.2, watched by hook"),
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
    assert json.loads(capsys.readouterr().out.splitlines()[0])["loaded"] is False


class Above(Instrumentor):
    name = "above"
    library = "json"
    distributions = ("above-lib",)
    minimum = {"above-lib": "1"}  # noqa: RUF012
    supersedes = ("known",)
    producers = ("their.above:AboveInstrumentor",)
    scopes = ("their.above", "above.tracing")
    native = True


@pytest.fixture
def traced(monkeypatch):
    """Whose instrumentors are installed."""
    real = metadata.entry_points

    def install(**targets):
        points = [
            SimpleNamespace(
                value=value.replace("__", "."),
                dist=SimpleNamespace(name=f"otel-{name}", version="3"),
            )
            for name, value in targets.items()
        ]
        monkeypatch.setattr(
            metadata,
            "entry_points",
            lambda group: points if group == "opentelemetry_instrumentor" else real(group=group),
        )
        return points

    return install


def above():
    return registry.Plugin(registry.INSTRUMENTATIONS, "above", "dist", "2", "m:Above", Above)


def test_who_else_traces_a_library_and_what_covers_what(capsys, only, versions, traced):
    only(above(), plugin())
    versions.update({"known-lib": "1.5", "above-lib": "2.0"})
    traced(above="their.above:AboveInstrumentor")
    found = doctor(capsys)[1]
    assert found["above", "ok"] == (
        "above-lib 2.0, watched by hook; also traced, where switched on, by otel-above 3, its own "
        "tracing; covers known"
    )
    assert found["known", "ok"] == (
        "known-lib 1.5, watched by hook; a call made by above is theirs"
    )
    assert cli.main(["plugins", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    library = next(row["library"] for row in rows if row["name"] == "above")
    assert (library["way"], library["version"], library["others"]) == (
        "hook",
        "2.0",
        ["otel-above 3"],
    )
    assert (library["native"], library["covers"]) == (True, ["known"])
    assert cli.main(["plugins"]) == 0
    out = capsys.readouterr().out
    assert "library" in out
    assert re.search(r"^above +above-lib 2.0 +by hook +known +otel-above 3, its own", out, re.M)


def test_what_is_known_by_its_spans_alone(capsys, only, versions, traced, monkeypatch):
    only()
    versions["strands-agents"] = "1.62"
    traced(
        bedrock="opentelemetry.instrumentation.genai.bedrock:BedrockInstrumentor",
        flask="opentelemetry.instrumentation.flask:FlaskInstrumentor",
    )
    found = doctor(capsys)[1]
    assert found["strands", "ok"] == (
        "strands-agents 1.62, watched by listening to spans (its own tracing)"
    )
    assert found["bedrock", "ok"] == "watched by listening to spans (otel-bedrock 3)"
    assert not any(name == "flask" for name, _ in found)
    monkeypatch.setenv("MASTWATCH_BRIDGE", "false")
    assert "switched off" in doctor(capsys)[1]["strands", "info"]


def test_a_library_that_is_not_chosen(capsys, only, versions, traced, monkeypatch):
    only(plugin())
    versions["known-lib"] = "1.5"
    monkeypatch.setenv("MASTWATCH_FRAMEWORKS", "other")
    assert "not among the chosen" in doctor(capsys)[1]["known", "info"]


def test_frameworks_have_no_line_among_the_extras(capsys):
    """The list of what is a framework is nobody's to keep by hand."""
    names = {name.removeprefix("extra ") for name, _ in doctor(capsys)[1] if "extra " in name}
    known = {name.replace("-", "_") for name in names}
    assert "live" in known
    assert not known & {plugin.name for plugin in registry.plugins(registry.INSTRUMENTATIONS)}


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
