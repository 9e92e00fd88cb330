"""Healthy runs of our own making in English, Chinese, Japanese and Chinese mixed with English.

Recorded runs are almost all English. These serve as hosts for planted faults in other scripts, with
English twins so that the figures compare: every language tells the same scenarios, with the same
agents, tools and numbers. ``scenarios.json`` holds who speaks, which tools are called and the
numbers of each case; ``<language>.json`` the words, usually in two versions a turn. Add a language
with one file, a scenario with an entry in each.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from importlib import resources
from typing import Any

LANGUAGES = ("en", "zh", "ja", "mixed")
"""In the order in which ``hosts`` gives them."""


def hosts(language: str | None = None, *, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Compose all runs, or those of one language; the same in every process.

    Args:
        language: One of ``LANGUAGES``.
        seed: Draws the version of each turn, and whether an aside is made.

    Yields:
        Records (docs/record-format.md) with ``language`` and ``success``.

    Raises:
        ValueError: The language is unknown.

    >>> run = next(hosts("zh"))
    >>> run["language"], run["success"], run["messages"][0]["role"]
    ('zh', True, 'user')
    """
    if language is not None and language not in LANGUAGES:
        raise ValueError(f"{language!r} is no language here; known: {', '.join(LANGUAGES)}")
    scenarios = _load("scenarios")
    for chosen in LANGUAGES if language is None else (language,):
        for name, told in _load(chosen).items():
            for case in range(len(scenarios[name]["cases"])):
                yield _compose(name, scenarios[name], told, chosen, case, seed)


def _load(name: str) -> dict[str, Any]:
    file = resources.files(__package__) / f"{name}.json"
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


def _compose(
    name: str,
    scenario: Mapping[str, Any],
    told: Mapping[str, Any],
    language: str,
    case: int,
    seed: int,
) -> dict[str, Any]:
    # Twins draw alike: the language is no part of the seed.
    rng = random.Random(blake2b(f"{seed}:{name}:{case}".encode(), digest_size=8).digest())
    values = {**scenario["cases"][case], **told["values"][case]}
    asides = rng.random() < 0.6
    texts = iter(told["turns"])
    messages: list[dict[str, Any]] = []
    for turn in scenario["turns"]:
        if isinstance(turn, dict):
            messages += _call(turn, scenario["agents"], values)
            continue
        text = rng.choice(next(texts))
        if asides or not turn.endswith("?"):
            agent, role = scenario["agents"][turn[0]]
            messages.append({"agent": agent, "role": role, "content": _filled(text, values)})
    for index, message in enumerate(messages):
        message["index"] = index
    return {
        "id": f"own:{language}:{name}:{case}",
        "source": "mastwatch",
        "framework": scenario["framework"],
        "benchmark": scenario["benchmark"],
        "language": language,
        "task": messages[0]["content"],
        "success": True,
        "labels": {"scheme": "composed healthy"},
        "messages": messages,
    }


def _call(
    turn: Mapping[str, Any], agents: Mapping[str, Any], values: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A bare call and its result, which a proxy's code execution brings under the proxy's name."""
    agent, role = agents[turn["by"]]
    back = agents[turn["back"]][0] if "back" in turn else turn["call"]
    result = _filled(turn["result"], values)
    content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    call = {"name": turn["call"], "arguments": _filled(turn["args"], values)}
    return [
        {"agent": agent, "role": role, "content": "", "tool_calls": [call]},
        {"agent": back, "role": "tool", "content": content, "tool_name": turn["call"]},
    ]


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """Put the case's values into a text, or into the texts of a JSON value."""
    if isinstance(value, str):
        for key, told in values.items():
            value = value.replace("{" + key + "}", told)
        return value
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    return value
