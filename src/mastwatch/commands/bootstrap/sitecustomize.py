"""Loaded by Python itself before the program that ``mastwatch run`` was given.

It removes itself first: the program, and every process it starts, finds path and environment as if
we had never been there (``--children`` keeps it for the processes). Another sitecustomize, if there
is one, comes next, then ``mastwatch.instrument()``. Nothing here may stop the program. Any Python
may have to read this file, so it keeps to old syntax.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_OPTIONS = "_MASTWATCH_RUN"


def _withdraw() -> dict[str, Any] | None:
    """Take ourselves out of path and environment; return the options, or None without any."""
    import json

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    text = os.environ.get(_OPTIONS)
    if not text:
        return None
    options: dict[str, Any] = json.loads(text)
    if options["children"]:
        # One view of a terminal is enough.
        os.environ[_OPTIONS] = json.dumps(dict(options, live=False))
    else:
        del os.environ[_OPTIONS]
        if options["path"] is None:
            os.environ.pop("PYTHONPATH", None)
        else:
            os.environ["PYTHONPATH"] = options["path"]
    return options


def _run_other() -> None:
    """Run the sitecustomize that ours stands in front of, as ``site`` would have done."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = sys.modules["sitecustomize"] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        told = "Error in sitecustomize; set PYTHONVERBOSE for traceback"
        sys.stderr.write(f"{told}:\n{type(error).__name__}: {error}\n")


def _instrument(options: dict[str, Any]) -> None:
    try:
        import mastwatch
    except ImportError as error:
        _say(f"{sys.executable} cannot import mastwatch ({error}); the program runs unwatched")
        return
    handle = mastwatch.instrument(**options["keywords"])
    if options["live"]:
        import atexit

        from mastwatch import live

        live.start(handle)
        # Before the view writes its summary: these runs end with the process.
        atexit.register(handle.emitter.histories.close)


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"mastwatch run: {text}\n")


def _main() -> None:
    options = _withdraw()
    _run_other()
    if options is None:
        return
    try:
        _instrument(options)
    except Exception as error:
        _say(f"{type(error).__name__}: {error}; the program runs unwatched")


_main()
