"""Runs a detector in another process with another hash seed: keys and order must not change."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from types import ModuleType
from typing import Any

from mastwatch.detector import Detector
from mastwatch.testing.trial import Subject, verdicts

SECONDS = 120
INSIDE = "MASTWATCH_CHECKED_AFRESH"
_CHILD = "from mastwatch.testing.fresh import main; main()"


def agrees_in_a_fresh_process(subject: Subject) -> Iterator[str]:
    """The same verdicts where ``hash()`` of strings is another."""
    runs = [events for _, events, _ in subject.samples]
    here = [[repr(verdict) for verdict in verdicts(subject.make, events)] for events in runs]
    make = subject.make
    where = (make.__module__, _file(make), make.__qualname__)
    try:
        parcel = pickle.dumps((where, runs))
    except Exception as error:  # of whatever stands in the arguments of somebody's events
        yield f"the events cannot be sent to another process: {type(error).__name__}: {error}"
        return
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=parcel,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path, INSIDE: "1"},
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        yield f"it did not come to an end within {SECONDS} seconds in a fresh process"
        return
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        yield (
            f"it could not run in a fresh process ({reason}); it must stand at the top level of a "
            "module that can be imported"
        )
    elif json.loads(done.stdout.splitlines()[-1]) != here:
        yield (
            "it gives other findings in a fresh process: a key or an order rests on hash(), "
            "which Python salts anew in each process; use hashlib and sorted()"
        )


def refuse_to_nest() -> None:
    """A script that checks its own class would do so again in every fresh process it starts.

    Raises:
        RuntimeError: This is such a process.
    """
    if os.environ.get(INSIDE):
        raise RuntimeError("check_detector() runs when the module is imported: call it in a test")


def _file(make: type[Detector]) -> str:
    try:
        return inspect.getfile(make)
    except (TypeError, OSError):  # typed into a console
        return ""


def main() -> None:
    """The other process: a class and runs come in, what it says of them goes out."""
    (module, file, qualname), runs = pickle.load(sys.stdin.buffer)
    make = find(module, file, qualname)
    said = [[repr(verdict) for verdict in verdicts(make, events)] for events in runs]
    sys.stdout.write("\n" + json.dumps(said) + "\n")


def find(module: str, file: str, qualname: str) -> Any:
    """A class that another process named."""
    return reduce(getattr, qualname.split("."), _module(module, file))


def _module(name: str, file: str) -> ModuleType:
    """By name; from its file where the name leads nowhere, as that of a test or script may."""
    if name != "__main__":
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            pass
    spec = importlib.util.spec_from_file_location(f"on_trial_{len(sys.modules)}", file)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module {name}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
