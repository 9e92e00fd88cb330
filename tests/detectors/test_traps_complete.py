"""The catalogue of false-alarm traps: every one is played, with all detectors on.

A trap's tests are known by their number: at the start of a case's id (``18 circle``, ``5a stub``),
or in the docstring (``Trap 18: ...``). The cases stand in ``test_traps_*.py``, by mode.

Of trap 14 they play doubled records. The other half, two instrumentations of one library that nest
or speak other dialects, is settled before there are Events: one hook supersedes the other, and a
span that belongs to a watched run is not read again. Events cannot show it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mastwatch.events import Event
from mastwatch.findings import Severity
from mastwatch.testing import Script, watched

from . import test_traps_repetition, test_traps_reset, test_traps_termination

FOLDER = Path(__file__).parent
TRAPS: dict[int, tuple[str, int]] = {
    1: ("one call again and again, its result changes: polling", 3),
    2: ("polling with a sleep between", 1),
    3: ("a call without purpose whose result is always new must fire", 1),
    4: ("same call and result but for a fresh nonce must fire", 1),
    5: ("results cut off, with a path of their own in the stub", 2),
    6: ("pagination", 1),
    7: ("one file read in windows", 2),
    8: ("retries after 429, 503 or a time-out", 3),
    9: ("tests run again after each edit", 1),
    10: ("a failing call that changes the world, unchanged, must fire", 1),
    11: ("a batch: one edit over many files, many moves", 1),
    12: ("a file read again after a compaction", 1),
    13: ("a retried stream that replays its calls", 2),
    14: ("doubled instrumentation, doubled log records", 2),
    15: ("one utterance under several names", 1),
    16: ("same call with its keys in another order must fire", 1),
    17: ("same call and result with others between must fire", 1),
    18: ("a circle entered at another phase after a pause is one finding", 1),
    19: ("an orchestrator that names the next speaker", 1),
    20: ("narration whose beginning is always the same", 1),
    21: ("empty commands while waiting, empty results", 1),
    22: ("alternation; several messages of one agent; next song", 2),
    23: ("parallel workers with one opening", 1),
    24: ("instructions that hold the completion token", 1),
    25: ("the token in a fence, in quotes, announced", 1),
    26: ("a consensus vote", 1),
    27: ("one echo of a claim; two", 2),
    28: ("a person reopens the run", 1),
    29: ("an answer marker with one round of checking; console noise after a claim", 2),
    30: ("a legitimate farewell", 2),
    31: ("a long run that ends in time", 1),
    32: ("a prompt with a mangled token: run ends; answer restated", 2),
    33: ("a new plan with new actions", 1),
    34: ("a new plan with the old actions must fire", 1),
    35: ("a history cleared before the first turn or between runs; a nested chat", 3),
    36: ("a summariser, title or judge call with a short history", 1),
    37: ("an agent that does not lead and opens all messages alike", 1),
    38: ("a hand-off that raises; interrupt and resume", 2),
    39: ("a limit of 1 never fires on the first", 1),
}
"""What each trap is, and how many tests it takes at least: one for each of its verdicts."""

_COLLECT = """
import json, pytest, sys
class Names:
    def pytest_collection_finish(self, session):
        rows = [(test.nodeid, getattr(test, "obj", None).__doc__ or "") for test in session.items]
        print("\\n" + json.dumps(rows))
sys.exit(pytest.main(["--collect-only", "-p", "no:terminal", *sys.argv[1:]], plugins=[Names()]))
"""

Build = Callable[[], "Script | list[Event]"]
CASES: list[tuple[str, str, Build]] = [
    (case[0], module.MODE, case[1])
    for module in (test_traps_repetition, test_traps_termination, test_traps_reset)
    for case in module.CASES
]


def events_of(build: Build) -> list[Event]:
    return list(build())


@pytest.fixture(scope="module")
def tests_by_trap() -> Counter[int]:
    """How many tests each number has."""
    paths = [str(FOLDER / "test_bounds.py"), *map(str, sorted(FOLDER.glob("test_traps_*.py")))]
    paths.remove(__file__)
    done = subprocess.run(
        [sys.executable, "-c", _COLLECT, *paths], capture_output=True, text=True, cwd=FOLDER
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(done.stdout.strip().splitlines()[-1])
    return Counter(number for node, doc in rows for number in numbers(node, doc))


def numbers(node: str, doc: str) -> set[int]:
    found = re.findall(r"\[(\d+)[a-z]? ", node) + re.findall(r"^Trap (\d+)", doc)
    return {int(number) for number in found}


@pytest.mark.slow
@pytest.mark.parametrize("number", TRAPS, ids=lambda number: f"trap {number}")
def test_every_trap_is_played(number: int, tests_by_trap: Counter[int]) -> None:
    what, least = TRAPS[number]
    assert tests_by_trap[number] >= least, f"trap {number}, {what}: {least} tests at least"


@pytest.mark.parametrize(("mode", "build"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_no_trap_makes_another_mode_warn(mode: str, build: Build) -> None:
    seen = watched(events_of(build))
    others = [f for f in seen.findings if f.mode != mode and f.severity >= Severity.WARN]
    assert others == []


@pytest.mark.parametrize("build", [c[2] for c in CASES], ids=[c[0] for c in CASES])
@pytest.mark.parametrize("times", [2, 3])
def test_every_trap_is_the_same_when_all_is_reported_several_times(
    build: Build, times: int
) -> None:
    """As two instrumentations of one library do: each event comes again with its id."""
    events = events_of(build)
    assert watched(e for event in events for e in [event] * times) == watched(events)
