"""The corpus' healthy runs: much of what looks like a fault and is none."""

from __future__ import annotations

from collections.abc import Callable

from mastwatch.events import Contract, Role, ToolRequest
from mastwatch.testing.script import Script

TASK = (
    "Plan a voyage from the northern harbour to the southern harbour that passes both "
    "lighthouses, needs no pilot and ends before the evening tide turns."
)
LEGS = [
    "Chart seven shows both lighthouses; the first leg runs three miles along the eastern shoal.",
    "Past the shoal a course of 140 degrees leads to the white light in ninety minutes.",
    "Between the lights there are 12 fathoms everywhere, so no leadsman is wanted on deck.",
    "Off the red light the ebb sets west at two knots; we allow eleven degrees for it.",
    "The bar of the southern harbour carries four metres until half past six tonight.",
]
CHINESE = [
    "请先查一下北港今天的潮汐表，然后告诉我什么时候可以出发。",
    "潮汐表显示上午九点半水深四米，因此建议十点以前离港。",
    "从北港到红灯塔大约十二海里，按六节航速需要两个小时。",
    "到达南港时潮水仍在上涨，吃水三米的船可以安全进港。",
    "航行计划已经完成，全程五个小时，不需要引水员。TERMINATE",
]
DONE = "The voyage takes five hours and ends at five. TERMINATE"
ENDING = Contract(tokens=("TERMINATE",), max_messages=40)


def history(length: int) -> list[tuple[Role, str | None]]:
    """A request: system prompt, task and so many messages."""
    start: list[tuple[Role, str | None]] = [("system", "You navigate."), ("user", TASK)]
    return start + [
        ("assistant", f"Mark {n} lies {n * 3} cables off buoy {n * 7}.") for n in range(length)
    ]


def _chat(script: Script) -> Script:
    script.start(TASK, contract=ENDING, prompts={"mate": "You plan. End with TERMINATE."})
    script.task(TASK)
    for n, leg in enumerate(LEGS):
        script.say(("mate", "navigator")[n % 2], leg)
    return script.say("mate", DONE).end()


def _tools(script: Script) -> Script:
    script.start(TASK).task(TASK)
    for n, leg in enumerate(LEGS):
        script.asks("mate", *history(2 * n))
        script.say("mate", leg, calls=[ToolRequest(name="open_chart", arguments={"number": n})])
        script.call("open_chart", {"number": n}, f"chart {n}: {n * 9 + 4} soundings", agent="mate")
    script.call("log_course", {"degrees": 140}, "logged", agent="mate", mutating=True)
    script.call("check_course", {"degrees": 140}, "clear of all shoals", agent="mate")
    return script.say("mate", DONE).end()


def _polling(script: Script) -> Script:
    script.start("Tell me when lock four opens.").task("Tell me when lock four opens.")
    for n in range(8):
        script.call("lock_state", {"lock": 4}, f"{n * 12} per cent open", agent="mate", poll=True)
        script.call("sleep", {"seconds": 30}, "", agent="mate")
    return script.say("mate", "Lock four stands open now. TERMINATE").end()


def _pages(script: Script) -> Script:
    script.start("List all berths.").task("List all berths.")
    for n in range(6):
        listed = ", ".join(f"berth {k} of {k * 3 + 20} metres" for k in range(9 * n, 9 * n + 9))
        script.call("list_berths", {"offset": 9 * n}, listed, agent="clerk")
    return script.say("clerk", "These were all fifty-four of them. TERMINATE").end()


def _people(script: Script) -> Script:
    script.start(TASK).task(TASK).say("mate", LEGS[0]).human("Rather by the western channel.")
    script.say("mate", LEGS[1]).end("paused").approves().start(resumed=True)
    script.say("mate", LEGS[2]).hands_off("mate", "navigator").say("navigator", LEGS[3])
    return script.say("navigator", DONE).human("And back again?").say("mate", LEGS[4]).end()


def _branches(script: Script) -> Script:
    script.start(TASK).task(TASK).say("mate", LEGS[0])
    for n, name in enumerate(("east", "west")):
        part = Script(script.run, branch=name)
        part.start("Sound your side of the channel.").task("Sound your side of the channel.")
        part.asks("leadsman", *history(0)).call("sound", {"side": name}, f"{n + 7} fathoms")
        script.events += part.say("leadsman", f"On the {name} side are {n + 7} fathoms.").end()
    return script.say("mate", LEGS[1]).say("mate", DONE).end()


def _withheld(script: Script) -> Script:
    script.start()
    for n in range(8):
        script.say(("mate", "navigator")[n % 2], None).call("open_chart", {"number": n}, None)
        script.asks("mate", *[(role, None) for role, _ in history(n)])
    return script.end()


def _chinese(script: Script) -> Script:
    script.start(CHINESE[0]).task(CHINESE[0])
    for n, text in enumerate(CHINESE[1:]):
        script.say(("大副", "领航员")[n % 2], text)
    return script.end()


def _old_log(script: Script) -> Script:
    return _chat(Script(script.run, ids=False))


HEALTHY: dict[str, Callable[[Script], Script]] = {
    "chat": _chat,
    "tools": _tools,
    "polling": _polling,
    "pages": _pages,
    "people": _people,
    "branches": _branches,
    "withheld texts": _withheld,
    "chinese chat": _chinese,
    "old log": _old_log,
}
