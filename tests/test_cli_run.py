"""``mastwatch run``: the app does not notice; exit status, output and traceback are its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RUN = [sys.executable, "-m", "mastwatch.cli", "run"]
PYTHON = [sys.executable]

APP = """\
import atexit, os, sys
print(sys.argv, sys.path[0], __name__, __file__, __spec__ is None)
print(sys.modules["__main__"].__dict__ is globals())
print(sorted(name for name in os.environ if "MASTWATCH" in name), os.environ.get("PYTHONPATH"))
print([entry for entry in sys.path if "bootstrap" in entry])
atexit.register(print, "bye")
def fail():
    raise ValueError("boom")
what = sys.argv[1] if len(sys.argv) > 1 else ""
if what == "raise":
    fail()
if what == "exit":
    sys.exit(7)
if what == "words":
    sys.exit("a message")
if what == "interrupt":
    raise KeyboardInterrupt
if what == "kill":
    sys.stdout.flush()
    os.kill(os.getpid(), 15)
if what == "stdin":
    print(input())
"""
WATCHED = "import mastwatch._instrument as i; print(i.active() is not None)"


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for name in [name for name in os.environ if "MASTWATCH" in name]:
        monkeypatch.delenv(name)
    # Kept out of the comparison by its own name: a real variable of a user.
    monkeypatch.setenv("MASTWATCH_PROMETHEUS_PORT", "0")
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


def call(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


@pytest.mark.parametrize(
    "args", [[], ["raise"], ["exit"], ["words"], ["interrupt"], ["kill"], ["--live", "-m", "x"]]
)
def test_a_script_runs_as_python_would_run_it(app, args):
    bare, watched = call(*PYTHON, "app.py", *args), call(*RUN, "app.py", *args)
    assert watched.returncode == bare.returncode
    assert watched.stdout == bare.stdout
    assert watched.stderr.endswith(bare.stderr)
    assert watched.stderr.count("Traceback") == bare.stderr.count("Traceback")


def test_stdin_is_the_app_s(app):
    assert call(*RUN, "app.py", "stdin", input="hello\n").stdout.endswith("hello\nbye\n")


def test_a_module_runs_as_python_would_run_it(app):
    package = app / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(APP + "print(__package__, __spec__.name)")
    bare, watched = call(*PYTHON, "-m", "pack", "-x"), call(*RUN, "-m", "pack", "-x")
    assert "['" in bare.stdout
    assert watched.stdout == bare.stdout
    assert call(*RUN, "pack").stdout == call(*PYTHON, "pack").stdout
    assert call(*RUN, "-m", "no_such").returncode == call(*PYTHON, "-m", "no_such").returncode


def test_the_app_is_watched(app):
    (app / "asks.py").write_text(WATCHED)
    assert call(*PYTHON, "asks.py").stdout == "False\n"
    assert call(*RUN, "asks.py").stdout == "True\n"


def test_options_reach_the_settings(app):
    (app / "asks.py").write_text(
        "import mastwatch, os; s = mastwatch.instrument().settings;"
        "print(s.detectors, s.prometheus_port, s.release, os.environ['OTEL_SERVICE_NAME'])"
    )
    options = ["--detectors", "a,b", "--metrics-port", "0", "--release", "1.2"]
    out = call(*RUN, *options, "--service-name", "shop", "asks.py").stdout
    assert out == "('a', 'b') 0 1.2 shop\n"


def test_any_program_is_watched_beyond_a_shell(app):
    (app / "asks.py").write_text(WATCHED)
    start = app / "start"
    start.write_text(f"#!/bin/sh\necho started\nexec {sys.executable} asks.py\n")
    start.chmod(0o755)
    assert call(*RUN, "./start").stdout == "started\nTrue\n"


def test_console_scripts_are_found_beside_our_python(app):
    done = call(*RUN, "mastwatch", "--version", env={**os.environ, "PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stdout[:10]) == (0, "mastwatch ")


def test_child_processes_are_left_alone_unless_asked_for(app):
    (app / "child.py").write_text(WATCHED)
    (app / "parent.py").write_text(
        "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])"
    )
    assert call(*RUN, "parent.py").stdout == "False\n"
    assert call(*RUN, "--children", "parent.py").stdout == "True\n"


def test_another_sitecustomize_and_pythonpath_stay(app):
    other = app / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("print('other', __name__)\nimport os\nos.own = 5\n")
    (app / "asks.py").write_text(
        "import os, sys, sitecustomize; print(os.own, os.environ['PYTHONPATH'], sys.path[1]);"
        "print(sitecustomize.__file__)\n" + WATCHED
    )
    env = {**os.environ, "PYTHONPATH": str(other)}
    bare, watched = call(*PYTHON, "asks.py", env=env), call(*RUN, "asks.py", env=env)
    # ``mastwatch run`` is itself a Python that has this sitecustomize.
    assert watched.stdout == "other sitecustomize\n" + bare.stdout.replace("False", "True")


def test_a_broken_sitecustomize_of_others_is_told_as_python_tells_it(app):
    other = app / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("1 / 0")
    env = {**os.environ, "PYTHONPATH": str(other)}
    bare, watched = call(*PYTHON, "app.py", env=env), call(*RUN, "app.py", env=env)
    assert (watched.returncode, watched.stdout) == (bare.returncode, bare.stdout)
    assert bare.stderr in watched.stderr


def test_a_python_without_mastwatch_says_so_and_runs(app):
    done = call(*RUN, sys.executable, "-S", "-c", "import sitecustomize; print('ran')")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "cannot import mastwatch" in done.stderr


@pytest.mark.parametrize(
    ("options", "deaf"), [(["-I"], True), (["-uE"], True), (["-u"], False), (["-c", "-I"], False)]
)
def test_a_python_that_ignores_the_environment_is_told(app, options, deaf):
    command = (
        [sys.executable, *options] if "-c" in options else [sys.executable, *options, "app.py"]
    )
    assert ("unwatched" in call(*RUN, *command).stderr) is deaf


@pytest.mark.parametrize(
    ("first_line", "deaf"), [("{python} -I", True), ("/usr/bin/env -S {python} -u", False)]
)
def test_a_script_s_first_line_may_ignore_the_environment(app, first_line, deaf):
    script = app / "tool"
    script.write_text(f"#!{first_line.format(python=sys.executable)}\nprint('ran')\n")
    script.chmod(0o755)
    done = call(*RUN, "./tool")
    assert done.stdout == "ran\n"
    assert ("unwatched" in done.stderr) is deaf


def test_a_bad_option_value_does_not_stop_the_app(app):
    done = call(*RUN, "--metrics-port", "99999999", "app.py", "exit")
    assert done.returncode == 7


@pytest.mark.parametrize(
    ("args", "status"), [([], 2), (["-m"], 2), (["no_such_program"], 127), (["none.py"], 2)]
)
def test_what_cannot_run_is_said(app, args, status):
    done = call(*RUN, *args)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr


def test_live_keeps_stdout_the_app_s(app):
    bare, watched = call(*PYTHON, "app.py"), call(*RUN, "--live", "app.py")
    assert (watched.returncode, watched.stdout) == (bare.returncode, bare.stdout)
    assert "Traceback" not in watched.stderr
