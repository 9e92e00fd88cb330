"""Another process, in which mastwatch is there before the library is imported."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

from mastwatch._frameworks import Frameworks
from mastwatch.instrumentor import Instrumentor
from mastwatch.testing import fresh
from mastwatch.testing.instrumentors.subject import (
    Subject,
    difference,
    done,
    listening,
    told,
)
from mastwatch.testing.recording import Recording

SECONDS = 180
_CHILD = "from mastwatch.testing.instrumentors.fresh import main; main()"


def refuse_to_nest() -> None:
    """A script that checks its own class would do so again in every fresh process.

    Raises:
        RuntimeError: This is such a process.
    """
    if os.environ.get(fresh.INSIDE):
        raise RuntimeError(
            "check_instrumentor() runs when the module is imported: call it in a test"
        )


def agrees_when_installed_first(subject: Subject) -> Iterator[str]:
    """Waiting for the library's import tells the same; waiting imports nothing."""
    kind, exercise = subject.kind, type(subject.exercise)
    where = [[t.__module__, inspect.getfile(t), t.__qualname__] for t in (kind, exercise)]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        answer = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=json.dumps(where),
            env={**os.environ, "PYTHONPATH": path, fresh.INSIDE: "1"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        yield f"run() did not come to an end within {SECONDS} seconds in a fresh process"
        return
    if answer.returncode:
        reason = answer.stderr.strip().rpartition("\n")[2]
        yield (
            f"it could not run in a fresh process ({reason}); class and exercise must stand at the "
            "top level of a module, and the exercise be made without arguments"
        )
        return
    said = json.loads(answer.stdout.splitlines()[-1])
    if said["imported"]:
        yield f"importing its module imports {subject.kind.library}: import that in install()"
    if not said["enabled"]:
        yield "installed before the library is imported it never comes to life: see trigger"
        return
    there = Counter(tuple(gist) for gist in said["told"])
    here = told(subject.recorded())
    if there != here:
        more = difference(there, here)
        yield f"installed before the library is imported it tells {more}"


def main() -> None:
    """The other process: the classes come in, what is told of a run goes out."""
    (module, file, name), exercise = json.load(sys.stdin)
    kind = fresh.find(module, file, name)
    imported = kind.library in sys.modules
    recording = Recording()
    enabled: list[Instrumentor] = []
    with listening(kind, recording):
        Frameworks(recording.emitter, True, enabled.append).arrange(kind)
        done(fresh.find(*exercise)().run)
    recording.emitter.histories.close()  # nothing but time ends the run of a bare model call
    gists = sorted(told(recording).elements())
    said = {"imported": imported, "enabled": bool(enabled), "told": gists}
    sys.stdout.write("\n" + json.dumps(said) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the library's threads, and what it says at exit, are of no interest
