from mastwatch_unknown_tools import UnknownTools

from mastwatch.testing import Script, check_detector, findings


def test_it_keeps_the_contract():
    check_detector(UnknownTools, events=pilot(3))


def pilot(calls: int, answer: str = "Error: fly is not a valid tool, try one of [sail].") -> Script:
    run = Script().task("Bring the ship to the southern harbour.")
    for _ in range(calls):
        run.call("fly", {"to": "south"}, answer, agent="pilot")
    return run


def test_second_call_of_an_unknown_tool_is_suspect():
    found = findings(pilot(5), UnknownTools)
    assert [(f.severity.label, f.agent, f.message_index) for f in found] == [
        ("suspect", "pilot", 2)
    ]


def test_other_failures_and_a_single_slip_are_silent():
    assert findings(pilot(1), UnknownTools) == []
    assert findings(pilot(5, "Error: the harbour is closed"), UnknownTools) == []
    assert findings(pilot(5, "Error: file not found"), UnknownTools) == []
