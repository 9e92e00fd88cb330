"""Failed runs of our own with a labelled step, in both forms: published files and our record."""

from __future__ import annotations

import json

from mastwatch.evaluation.attribution.cases import load

BAKERY = (
    ("Baking_Expert", "Please work out how many loaves fit into the oven at once."),
    ("Sums_Expert", "I reckon with trays of six and take the oven for three trays deep."),
    ("Computer_terminal", "exitcode: 0 (execution succeeded)\nCode output: 18"),
    ("Baking_Expert", "The oven of the task has four trays, yet eighteen sounds about right."),
    ("Sums_Expert", "The answer is 18. TERMINATE"),
)
HARBOUR = (
    ("human", "Which ferry leaves the old harbour last on a Sunday?"),
    ("Orchestrator (thought)", "Initial plan: look for the timetable of the old harbour."),
    ("Orchestrator (-> WebSurfer)", "Please open the timetable of the ferries."),
    ("WebSurfer", "I opened the page of the new harbour; the last ferry leaves at nine."),
    ("Orchestrator (thought)", "The ledger says that the request is satisfied."),
    ("Orchestrator (termination condition)", "The request is satisfied."),
    ("WebSurfer", "Shall I look at anything else while I am on this page?"),
)


def generated(step=1, agent="Sums_Expert", rows=BAKERY, **more):
    """A generated log as it is published."""
    history = [{"content": text, "name": name, "role": "user"} for name, text in rows]
    return _labelled(history, step, agent, "How many loaves fit?", "24", more)


def crafted(step=3, agent="WebSurfer", rows=HARBOUR, **more):
    """A hand-crafted log as it is published."""
    history = [{"content": text, "role": role} for role, text in rows]
    return _labelled(history, step, agent, "Which ferry leaves last?", "the 21:40", more)


def _labelled(history, step, agent, question, truth, more):
    return {
        "is_correct": False,
        "question": question,
        "ground_truth": truth,
        "history": history,
        "mistake_agent": agent,
        "mistake_step": str(step),
        "mistake_reason": "told by us",
        **more,
    }


def record(id, log, subset, **labels):
    """The same log as our own record."""
    messages = []
    for index, row in enumerate(log["history"]):
        told = row.get("name") or row["role"]
        agent = told.partition(" (")[0]
        raw = {} if agent == told else {"raw_role": told}
        text = row["content"]
        messages.append(
            {"index": index, "agent": agent, "role": "assistant", "content": text, **raw}
        )
    said = {"mistake_agent": log["mistake_agent"], "mistake_step": int(log["mistake_step"])}
    return {
        "id": id,
        "framework": "custom",
        "task": log["question"],
        "success": False,
        "ground_truth": log["ground_truth"],
        "raw_format": f"whowhen_{subset}",
        "labels": {**said, **labels},
        "messages": messages,
    }


def published(folder, **logs):
    """A folder of published files, by name; ``g1`` and the like are generated, others crafted."""
    for name, log in logs.items():
        kind = "Algorithm-Generated" if name.startswith("g") else "Hand-Crafted"
        (folder / kind).mkdir(parents=True, exist_ok=True)
        (folder / kind / f"{name}.json").write_text(json.dumps(log, indent=4), encoding="utf-8")
    return str(folder)


def steps(folder, count):
    """A folder of generated runs of eight rows, the labelled step going round."""
    talk = [(f"{who}_Expert", f"{who} says word number {n} of the whole long story.")
            for n, who in enumerate(["Ann", "Bob"] * 4)]  # fmt: skip
    logs = {f"g{n}": generated(n % 8, talk[n % 8][0], talk) for n in range(count)}
    return published(folder, **logs)


def cases(file):
    """The labelled runs of a file, nothing wrong with any."""
    return list(load(str(file)))
