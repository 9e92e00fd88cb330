"""The form an annotator of the seed study filled in: options with yes or no, and a free text."""

from __future__ import annotations

from collections.abc import Mapping

_MODES = {
    "Poor adherence to specified constraints": "1.1",
    "Blurring roles": "1.2",
    "Blurring role": "1.2",
    "Step repetition": "1.3",
    "Discontinued reasoning": "1.4",
    "Unaware of stopping conditions": "1.5",
    "Trajectory restart": "2.1",
    "Fail to detect ambiguities/contradictions": "2.2",
    "Fail to elicit clarification": "2.2",
    "Derailing from task objectives": "2.3",
    "Withholding relevant information": "2.4",
    "Ignoring good suggestions from other agent": "2.5",
    "Misalignment between internal thoughts and response message": "2.6",
    "Claiming that a task is done while it is not true.": "3.1",
    "No attempt to verify outcome": "3.2",
    "Evaluator agent fails to be critical": "3.3",
}
"""The options are older than the taxonomy; those that became a mode, by its number."""
_SCHEME = "masft-gt (1 annotator, pre-taxonomy)"


def labels(note: object) -> dict[str, object]:
    """Read a form as the ``labels`` of a record; empty where nothing was filled in.

    A mode is 1 where one of its options is yes, 0 where all that were offered are no, and absent
    where the form did not offer it.

    >>> labels({"text": ["Looks fine."], "options": {"Step repetition": "yes"}})["fm"]
    {'1.3': 1}
    """
    if not isinstance(note, Mapping):
        return {}
    found: dict[str, object] = {}
    options = note.get("options")
    if isinstance(options, Mapping) and options:
        yes = [name for name, told in options.items() if _is_yes(told)]
        found = {
            "scheme": _SCHEME,
            "options_yes": yes,
            "options_all": sorted(options),
            "fm": _modes(options),
        }
    text = _text(note.get("text"))
    return {**found, "note": text} if text else found


def _modes(options: Mapping[str, object]) -> dict[str, int]:
    modes: dict[str, int] = {}
    for name, told in options.items():
        mode = _MODES.get(name)
        if mode is not None:
            modes[mode] = max(modes.get(mode, 0), int(_is_yes(told)))
    return dict(sorted(modes.items()))


def _is_yes(told: object) -> bool:
    return told is True or (isinstance(told, str) and told.strip().casefold() == "yes")


def _text(value: object) -> str:
    lines = value if isinstance(value, list) else [value]
    return "\n".join(line for line in lines if isinstance(line, str)).strip()
