"""The words of a nudge, by failure mode, where the host gives none of its own."""

from __future__ import annotations

from mastwatch.findings import Finding

SPEAKER = "mastwatch"
"""The name a nudge is signed with; by it our own hooks tell it from what the host sends."""
MAX_TASK_CHARS = 4_000
"""Of a task that is said again."""

_RESTATE = "This is the task: {task}"
_BY_MODE = {
    "FM-1.1": f"{_RESTATE}\nRead it again, say which of its requirements are not met yet, and "
    "meet them before anything else.",
    "FM-1.2": "Keep to your own role. What belongs to another role goes to the agent that has it.",
    "FM-1.3": "The same step has been taken several times with the same outcome. Do not take it "
    "again. Say in one sentence what it has shown, then do something different: change the "
    "inputs, use another tool, ask for what is missing, or end with what is known.",
    "FM-1.4": f"{_RESTATE}\nParts of this conversation may be missing. Say what has been settled "
    "so far, ask for what you cannot see, and go on from there.",
    "FM-1.5": f"{_RESTATE}\nCheck now whether it is done. If it is, give the final answer and end "
    "the conversation. If it is not, say what is left and do only that.",
    "FM-2.1": f"{_RESTATE}\nThe conversation has started over. Do not begin again: say what has "
    "been done already, and continue after it.",
    "FM-2.2": "Something is unclear. Ask the one question whose answer you need, instead of "
    "assuming it.",
    "FM-2.3": f"{_RESTATE}\nThe conversation has moved away from it. Drop what does not serve it "
    "and return to the next open step.",
    "FM-2.4": "Tell the others what you know that they need: results, limits, formats and "
    "requirements you have seen and they have not.",
    "FM-2.5": "Another agent's input has been passed over. Read the last contributions again, and "
    "answer each: taken up, or not and why.",
    "FM-2.6": "What was said and what was done do not agree. Say what you intend, then do exactly "
    "that.",
    "FM-3.1": f"{_RESTATE}\nDo not end yet: list what it asks for and has not been delivered, and "
    "deliver it.",
    "FM-3.2": "Before this ends, let another agent or a person check the result against the task, "
    "by running or reading it and not by its description.",
    "FM-3.3": "The check so far does not show that the result is right. Hand it to another agent "
    "or a person: test it against every requirement of the task, and report what fails.",
}


def words(finding: Finding, own: str, task: str) -> str:
    """The text of a nudge.

    Args:
        finding: What it is about.
        own: The host's own words; ``{task}``, ``{agent}``, ``{tool}`` and ``{mode}`` are filled in.
        task: What the run was asked to do, for the places where it is said again.

    >>> one = Finding(mode="FM-2.2", severity=4, detector="d", run_id="r", agent="Ann",
    ...               message_index=3, evidence=(), explanation="", fingerprint="f")
    >>> words(one, "{agent}, please ask a person.", "")
    'Ann, please ask a person.'
    """
    text = own or _BY_MODE[finding.mode]
    values = {
        "{task}": task[:MAX_TASK_CHARS] or "what you were asked at the beginning",
        "{agent}": finding.agent or "everyone",
        "{tool}": finding.tool,
        "{mode}": finding.mode,
    }
    for place, value in values.items():
        text = text.replace(place, value)
    return text
