"""The corpus' faulty runs: one for each way to go wrong that detectors know."""

from __future__ import annotations

from collections.abc import Callable

from mastwatch.events import ToolRequest
from mastwatch.testing.healthy import CHINESE, ENDING, LEGS, TASK, history
from mastwatch.testing.script import Script

PRAISE = [
    "I agree with that sum, well done.",
    "Splendid teamwork, the sum is right.",
    "Everything is confirmed, thank you all.",
    "We all agree; a pleasure to work with you.",
]


def _loop(script: Script) -> Script:
    script.start(TASK).task(TASK)
    for _ in range(12):
        script.say("mate", "Please read the depth over the bar from the harbour book once more.")
        script.call("read_book", {"about": "the bar of the southern harbour"}, "four metres")
    return script.end("limit")


def _chinese_loop(script: Script) -> Script:
    script.start(CHINESE[0]).task(CHINESE[0])
    for _ in range(8):
        script.say("大副", CHINESE[1]).say("领航员", CHINESE[2])
    return script.end("limit")


def _circle(script: Script) -> Script:
    script.start(TASK).task(TASK)
    for _ in range(8):
        for agent, leg in zip(("mate", "navigator", "pilot"), LEGS, strict=False):
            script.say(agent, leg)
    return script.end("limit")


def _overrun(script: Script) -> Script:
    task = "There are 12 berths north and 19 south; how many are there in both moles?"
    script.start(task, contract=ENDING).task(task)
    script.say("solver", r"12 and 19 make \boxed{31}. TERMINATE")
    for n in range(12):
        script.say("abc"[n % 3], PRAISE[n % 4]).proxy("Go on until the question is answered.")
    return script.end("limit")


def _restart(script: Script) -> Script:
    script.start(TASK).task(TASK)
    for n, leg in enumerate((*LEGS, *LEGS[:3])):
        script.asks("mate", *history(2 * (n % len(LEGS)))).say("mate", leg)
        number = n % len(LEGS)
        script.call("open_chart", {"number": number}, f"chart {number} opened", agent="mate")
    return script.end()


def _loss(script: Script) -> Script:
    """The head of the history goes, and what was known is looked up again."""
    script.start(TASK).task(TASK)
    for n in range(6):
        script.asks("mate", *history(2 * n)).say("mate", LEGS[n % len(LEGS)])
        script.call("sound", {"at": n}, f"{n * 3 + 5} fathoms of grey sand", agent="mate")
    cut = [*history(0)[:1], *history(12)[-5:]]
    for n in range(3):
        script.asks("mate", *cut, ("user", f"sounding number {n}"))
        script.call("sound", {"at": n}, f"{n * 3 + 5} fathoms of grey sand", agent="mate")
    return script.end()


def _strangers(script: Script) -> Script:
    """Tools that nobody has, and failures of a tool that changes the world."""
    script.start(TASK).task(TASK)
    for n in range(4):
        script.call("fly", {"to": n}, None, agent="mate", error="ToolNotFound")
        script.call("book_berth", {"berth": 9}, "no such berth", agent="mate", error="ValueError")
    return script.end("error")


def _careless(script: Script) -> Script:
    """Says one thing and does another, mends what it has not tested, and stops after an error."""
    script.start("Mend the tide table and test it.").task("Mend the tide table and test it.")
    script.say("coder", "Now I run the tests with `run_tests`.", calls=[_edit(1)])
    script.call("edit_file", {"path": "tide.py", "line": 1}, "ok", agent="coder", mutating=True)
    script.call("run_tests", {}, "3 failed", agent="coder", error="AssertionError")
    script.say("coder", "All tests passed, so one edit is left.", calls=[_edit(2)])
    script.call("edit_file", {"path": "tide.py", "line": 2}, "ok", agent="coder", mutating=True)
    script.call("write_file", {"path": "a.txt"}, None, agent="coder", error="OSError")
    return script.say("coder", "The table is mended and tested. TERMINATE").end()


def _edit(line: int) -> ToolRequest:
    return ToolRequest(name="edit_file", arguments={"path": "tide.py", "line": line})


def _deaf(script: Script) -> Script:
    """A colleague keeps to himself what he is asked for, and does not hear a correction."""
    script.start(TASK).task(TASK)
    log = "wreck Aurora, buoy mark: K-4471, depth at low water: 2750 millimetres"
    script.call("read_log", {"day": 3}, log, agent="mate")
    script.say("navigator", "Which buoy mark does the log give for the wreck, and which depth?")
    for _ in range(4):
        script.say("mate", "The channel is clear and well lit; we can sail whenever we like to.")
        script.say("navigator", "That is wrong: give me the depth of the wreck Aurora at K-4471!")
    return script.end()


FAULTY: dict[str, Callable[[Script], Script]] = {
    "loop": _loop,
    "chinese loop": _chinese_loop,
    "circle": _circle,
    "overrun": _overrun,
    "restart": _restart,
    "history loss": _loss,
    "unknown tools": _strangers,
    "careless work": _careless,
    "deaf colleagues": _deaf,
}
