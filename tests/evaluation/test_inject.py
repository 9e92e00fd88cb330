"""Planting faults: the records, the seeds, and what a user of the package can add."""

import copy
import io
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mastwatch.evaluation.hosts import hosts
from mastwatch.evaluation.inject import (
    INJECTORS,
    Host,
    Injector,
    Planted,
    generate,
    inject,
    injector,
    is_host,
)
from mastwatch.evaluation.inject.records import say
from mastwatch.events import MessageSent
from mastwatch.formats import RecordedRun, read_runs

LANGUAGES = ("en", "zh", "ja", "mixed")


def some_hosts(per_language=4):
    return [run for name in LANGUAGES for run in list(hosts(name))[::3][:per_language]]


@pytest.fixture(scope="module")
def planted():
    """Two records of every variant of every injector, from hosts in all languages."""
    return list(generate(some_hosts(), limit=2))


def read(record):
    (run,) = read_runs(io.BytesIO(json.dumps(record).encode()), "record")
    assert isinstance(run, RecordedRun), run
    return run


def test_every_injector_has_a_description_and_finds_a_place_in_some_host(planted):
    assert {run["injection"]["injector"] for run in planted} == set(INJECTORS)
    assert all(one.description.endswith((".", ":")) for one in INJECTORS.values())


def test_every_variant_plants_somewhere():
    found = {
        (run["injection"]["injector"], json.dumps(run["injection"]["params"]))
        for run in generate(hosts(), limit=1)
    }
    every = {(i.name, json.dumps(p)) for i in INJECTORS.values() for p in i.variants}
    longer_runs = json.dumps({"k": 5, "gap": 3})  # takes 15 steps after the one repeated
    assert every - found == {("exact_message", longer_runs), ("exact_call", longer_runs)}


def test_records_can_be_read_and_no_message_is_taken_for_a_replayed_one(planted):
    for record in planted:
        run = read(record)
        assert run.id == record["id"]
        rows = record["messages"]
        assert [row["index"] for row in rows] == list(range(len(rows)))
        assert len({row["id"] for row in rows}) == len(rows)
        assert [row["ts"] for row in rows] == sorted({row["ts"] for row in rows})
        calls = [c["id"] for row in rows for c in row.get("tool_calls") or () if "id" in c]
        assert len(calls) == len(set(calls))
        messages = [event for event in run.events if isinstance(event, MessageSent)]
        assert len(messages) == sum(row["role"] != "tool" for row in rows)


def test_every_result_names_the_call_before_it(planted):
    for record in planted:
        open_calls = set()
        for row in record["messages"]:
            if row["role"] == "tool":
                assert row["tool_call_id"] in open_calls
            else:
                open_calls = {call["id"] for call in row.get("tool_calls") or ()}


def test_injection_says_what_was_done(planted):
    for record in planted:
        told = record["injection"]
        one = INJECTORS[told["injector"]]
        assert told["mode"] == one.mode
        assert told["params"] in one.variants
        assert 0 <= told["onset"] <= told["earliest"] < len(record["messages"])
        assert record["id"].startswith(told["host"] + "+" + told["injector"])
        assert not (record.get("control") and told["target"])


def test_ids_of_records_are_unique(planted):
    assert len({record["id"] for record in planted}) == len(planted)


def test_same_seed_same_record_and_another_seed_another_one():
    run = next(hosts("en"))
    assert inject(run, "exact_message", k=3) == inject(run, "exact_message", k=3)
    onsets = {inject(run, "exact_message", seed=n, k=2)["injection"]["onset"] for n in range(12)}
    assert len(onsets) > 1


def test_records_do_not_depend_on_the_process():
    code = (
        "import json; from mastwatch.evaluation.hosts import hosts;"
        "from mastwatch.evaluation.inject import generate;"
        "print(json.dumps(list(generate(list(hosts('ja'))[:2], limit=1))))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": salt},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for salt in ("1", "2")
    }
    assert len(runs) == 1


def test_hosts_are_not_changed():
    runs = some_hosts(2)
    before = copy.deepcopy(runs)
    list(generate(runs))
    assert runs == before


def test_a_host_without_a_place_gives_none():
    run = {"id": "short", "messages": [say("a", "Hello there."), say("b", "Hello to you.")]}
    assert inject(run, "exact_call", k=2) is None
    assert list(generate([run], injectors=["exact_call", "cycle"])) == []


def test_limit_counts_records_of_each_variant_and_draws_hosts_by_the_seed():
    runs = list(hosts("en"))
    first = [r["id"] for r in generate(runs, injectors=["goodbye_loop"], limit=3)]
    assert len(first) == 9
    assert first != [r["id"] for r in generate(runs, seed=1, injectors=["goodbye_loop"], limit=3)]


def test_sisters_are_other_runs_of_the_same_task():
    seen = []

    def plant(host, rng):
        seen.append([run["id"] for run in host.sisters])

    mine = Injector("mine", "FM-1.5", "Looks at the sisters.", ({},), plant)
    runs = [{"id": n, "task": t, "messages": []} for n, t in (("a", "x"), ("b", "x"), ("c", "y"))]
    assert list(generate(runs, injectors=[mine])) == []
    assert seen == [["b"], ["a"], []]


def test_own_injectors_are_passed_or_registered():
    def plant(host: Host, rng: random.Random, *, text: str) -> Planted:
        row = say(host.lead, text)
        return Planted([*host.rows, row], row, row)

    run = next(hosts("en"))
    mine = Injector("mine", "FM-2.4", "Adds a line.", ({"text": "hm"},), plant)
    record = inject(run, mine)
    assert record["messages"][-1]["content"] == "hm"
    assert record["injection"]["onset"] == len(run["messages"])
    try:
        injector("FM-2.4", variants=({"text": "a"}, {"text": "b"}), name="registered")(plant)
        assert len(list(generate([run], injectors=["registered"]))) == 2
        with pytest.raises(ValueError, match="registered already"):
            injector("FM-2.4", name="registered")(plant)
    finally:
        INJECTORS.pop("registered", None)


def test_wrong_names_say_what_is_known():
    run = next(hosts("en"))
    with pytest.raises(ValueError, match=r"'loop' is no injector; known: .*cycle"):
        inject(run, "loop")
    with pytest.raises(ValueError, match=r"'FM-9\.9' is no failure mode; known: FM-1\.1"):
        injector("FM-9.9")
    with pytest.raises(ValueError, match="known are reset"):
        inject(run, "history", change="gone")


def test_an_onset_outside_the_rows_is_told():
    astray = Injector("astray", "FM-2.4", "Copies.", ({},), lambda host, rng: Planted([], {}, {}))
    with pytest.raises(ValueError, match="injector 'astray': its onset or earliest is none"):
        inject(next(hosts("en")), astray)


def test_requests_of_a_host_keep_their_places():
    run = copy.deepcopy(next(hosts("en")))
    run["requests"] = [
        {"before": n, "agent": "a", "messages": []} for n in (1, len(run["messages"]) - 1)
    ]
    record = inject(run, "exact_message", k=2)
    last = record["requests"][1]["before"]
    assert last == len(record["messages"]) - 1
    assert record["requests"][0]["before"] == 1


def healthy(texts, **more):
    rows = [say(f"agent{n % 2}", text) for n, text in enumerate(texts)]
    return {"id": "h", "success": True, "messages": rows, **more}


WORK = [
    "First I look up what the supplier charges for a pallet.",
    "The supplier takes 320 euros, delivery excluded.",
    "Then ask about transport to the building site, please.",
    "It costs 45 euros and they come on Thursday.",
    "That fits the budget, so place the order today.",
    "The order went out and was confirmed for nine o'clock.",
]


def test_a_host_succeeded_is_long_enough_and_does_not_repeat_itself():
    assert is_host(healthy(WORK))
    assert not is_host(healthy(WORK[:4]))
    assert not is_host({**healthy(WORK), "success": None})
    assert not is_host(healthy([*WORK, WORK[0], "Fine.", WORK[0]]))
    assert not is_host(healthy(WORK, labels={"turn_cap": 6}))
    assert not is_host(healthy(WORK, labels={"fm": {"1.5": 1}}))
    call = {**say("agent0", ""), "tool_calls": [{"name": "f", "arguments": {"x": 1}}]}
    twice = [call, say("f", "7", "tool"), call, say("f", "7", "tool")]
    assert not is_host({"success": True, "messages": [*healthy(WORK)["messages"], *twice]})


def test_the_examples_of_the_page_run():
    page = (Path(__file__).parents[2] / "docs" / "fault-injection.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    known = set(INJECTORS)
    names: dict[str, object] = {}
    try:
        for block in blocks:
            exec(block, names)
        assert names["broken"]["injection"]["onset"] > 0
        assert names["run"]["injection"]["injector"] == "swallowed_results"
    finally:
        for name in set(INJECTORS) - known:
            del INJECTORS[name]


def test_the_page_names_every_injector():
    page = (Path(__file__).parents[2] / "docs" / "fault-injection.md").read_text("utf-8")
    assert [name for name in INJECTORS if f"`{name}`" not in page] == []


def test_code_of_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "fault-injection.md"
    first, own = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    shown: dict = {}
    exec(first, shown)
    assert shown["run"]["language"] == "zh"
    assert shown["broken"]["injection"]["onset"] == shown["onset"]
    try:
        exec(own.replace("    ...", "    found = run"), shown)
        assert shown["found"]["injection"]["injector"] == "swallowed_results"
    finally:
        INJECTORS.pop("swallowed_results", None)
