"""Each injector: onset and earliest are where the fault is, and controls are harmless."""

import pytest

from mastwatch.evaluation.hosts import hosts
from mastwatch.evaluation.inject import generate
from mastwatch.evaluation.inject.edit import (
    NEAR,
    PARAPHRASE,
    REOPENED,
    containment,
    jaccard,
    sentences,
)
from mastwatch.evaluation.inject.history import requests
from mastwatch.evaluation.inject.records import Host


def runs_of(*injectors, **params):
    pool = [run for name in ("en", "zh", "ja", "mixed") for run in list(hosts(name))[::3]]
    found = [
        run
        for run in generate(pool, injectors=injectors)
        if params.items() <= run["injection"]["params"].items()
    ]
    assert found
    return found


def places(record):
    told = record["injection"]
    return told["onset"], told["earliest"], told["params"], record["messages"]


def said(row):
    calls = [(call["name"], call["arguments"]) for call in row.get("tool_calls") or ()]
    return row["agent"], row["content"], calls


@pytest.mark.parametrize("gap", [0, 1])
def test_an_exact_message_stands_there_three_times_at_earliest(gap):
    for record in runs_of("exact_message", gap=gap):
        onset, earliest, params, rows = places(record)
        same = [n for n, row in enumerate(rows) if said(row) == said(rows[onset])]
        assert len(same) == params["k"] + 1
        assert same[1:3] == [onset, earliest]
        assert record["injection"]["target"] is (gap == 0)


def test_an_exact_call_has_given_the_same_result_three_times_at_earliest():
    for record in runs_of("exact_call", "same_call_same_result"):
        onset, earliest, params, rows = places(record)
        if record.get("control"):
            continue
        results = [n for n, row in enumerate(rows) if said(row) == said(rows[onset + 1])]
        assert rows[onset]["tool_calls"]
        assert len(results) == params["k"] + 1
        assert results[2] == earliest


def test_polling_gets_another_result_each_time():
    for record in runs_of("same_call_same_result", result="new"):
        onset, _, params, rows = places(record)
        call = [(c["name"], c["arguments"]) for c in rows[onset]["tool_calls"]]
        results = [
            rows[n + 1]["content"]
            for n, row in enumerate(rows)
            if [(c["name"], c["arguments"]) for c in row.get("tool_calls") or ()] == call
        ]
        assert record["control"] is True
        assert len(set(results)) == len(results) == params["k"] + 1


def test_no_person_speaks_between_calls_that_are_made_again():
    for record in runs_of("same_call_same_result", "exact_call"):
        onset, earliest, _, rows = places(record)
        assert not any(row["agent"] == "user" for row in rows[onset:earliest])


@pytest.mark.parametrize(("band", "low", "high"), [("near", *NEAR), ("paraphrase", *PARAPHRASE)])
def test_edited_messages_lie_in_their_band(band, low, high):
    for record in runs_of("near_message"):
        onset, _, params, rows = places(record)
        if params.get("band", "near") != band or params.get("gap"):
            continue
        original = rows[onset - 1]["content"]
        for row in rows[onset : onset + params["k"]]:
            assert low <= jaccard(original, row["content"]) <= high


def test_a_call_in_another_guise_is_the_same_call():
    for record in runs_of("near_call", gap=0):
        onset, _, params, rows = places(record)
        first, copy = rows[onset - 2]["tool_calls"][0], rows[onset]["tool_calls"][0]
        kept = {k: v for k, v in copy["arguments"].items() if k != "request_id"}
        assert kept == first["arguments"]
        changed = rows[onset + 1]["content"] != rows[onset - 1]["content"]
        assert changed is (params["edit"] != "keys")


def test_a_cycle_comes_round_as_often_as_asked():
    for record in runs_of("cycle"):
        onset, earliest, params, rows = places(record)
        p, rounds = params["period"], params["rounds"]
        assert earliest == onset + 2 * p - 1
        assert not any(row["agent"] == "user" for row in rows[onset : onset + rounds * p])
        for n in range(onset, onset + rounds * p):
            before, now = rows[n - p], rows[n]
            assert (now["agent"], now["role"]) == (before["agent"], before["role"])
            if not params.get("near"):
                assert said(now) == said(before)


def test_stagnation_only_says_what_was_said():
    for record in runs_of("stagnation"):
        onset, _, params, rows = places(record)
        before = " ".join(row["content"] for row in rows[:onset])
        for row in rows[onset : onset + params["k"]]:
            assert sum(part in before for part in sentences(row["content"])) >= 3


def test_work_goes_on_right_after_the_claim():
    for record in runs_of("work_after_claim"):
        onset, earliest, _, rows = places(record)
        assert onset == earliest
        assert rows[onset - 1]["content"].endswith("TERMINATE")
        assert said(rows[onset]) in [said(row) for row in rows[: onset - 1]]


@pytest.mark.parametrize("name", ["echo_after_claim", "thanks_after_claim"])
def test_one_echo_of_a_claim_is_courtesy(name):
    for record in runs_of(name):
        onset, earliest, _, rows = places(record)
        assert rows[onset - 1]["content"].endswith("TERMINATE")
        assert earliest == onset + 1
        assert rows[onset]["agent"] != rows[onset - 1]["agent"]


def test_goodbyes_alternate_and_nobody_claims():
    for record in runs_of("goodbye_loop"):
        onset, earliest, params, rows = places(record)
        tail = rows[-params["closings"] :]
        assert (onset, earliest) == (len(rows) - len(tail) + 2, len(rows) - len(tail) + 3)
        assert len({row["agent"] for row in tail}) == 2
        assert not any("TERMINATE" in row["content"] for row in tail)
        assert all(len(row["content"]) < 250 and not row.get("tool_calls") for row in tail)


def test_a_nag_is_constant_and_its_replies_differ():
    for record in runs_of("nagger"):
        onset, earliest, params, rows = places(record)
        nags = [n for n, row in enumerate(rows) if said(row) == said(rows[onset])]
        assert len(nags) == params["nags"]
        assert nags[1:3] == [onset, earliest]
        replies = [rows[n + 1]["content"] for n in nags]
        assert len(set(replies)) == len(replies)


def test_without_a_claim_the_run_is_talked_to_its_cap():
    for record in runs_of("no_claim"):
        onset, earliest, _, rows = places(record)
        assert len(rows) == record["labels"]["turn_cap"]
        assert earliest == onset + 3
        assert not any("TERMINATE" in r["content"] for r in rows if r["role"] == "assistant")
        talk = [row["content"] for row in rows[onset:]]
        assert len(set(talk)) == len(talk)


def test_an_opening_is_replayed_by_the_lead():
    for record in runs_of("opening_replay", visible=False):
        onset, earliest, params, rows = places(record)
        own = [row for row in rows if row["agent"] == rows[onset]["agent"]]
        share = containment(own[0]["content"], rows[onset]["content"])
        if params["how"] == "verbatim":
            assert said(rows[onset]) == said(own[0])
        else:
            assert REOPENED[0] <= share <= REOPENED[1]
        assert said(rows[earliest]) == said(own[1])


def test_a_visible_restart_begins_at_the_row_before_its_request():
    for record in runs_of("opening_replay", visible=True):
        onset, earliest, _, rows = places(record)
        cut = next(r for r in record["requests"] if r["before"] == onset + 1)
        first = next(r for r in record["requests"] if r["agent"] == cut["agent"])
        assert onset == earliest
        assert cut["messages"] == first["messages"]
        assert cut["agent"] == rows[onset + 1]["agent"]


def test_a_task_comes_again_with_old_actions_or_as_a_control_with_new_ones():
    for record in runs_of("task_reissue"):
        onset, earliest, params, rows = places(record)
        assert rows[onset]["content"] == record["task"]
        old = [said(row) for row in rows[:onset]]
        assert (said(rows[onset + 1]) in old) is (params["then"] == "old")
        assert record.get("control", False) is (params["then"] == "new")
        assert earliest > onset or params["then"] == "new"


def test_a_question_is_asked_and_answered_again():
    for record in runs_of("asked_again", times=1):
        onset, _, _, rows = places(record)
        again = [n for n, row in enumerate(rows) if said(row) == said(rows[onset])]
        assert again[-1] == onset
        assert said(rows[onset + 1]) == said(rows[again[-2] + 1])


@pytest.mark.parametrize("change", ["reset", "no_system", "no_task", "trim", "compaction"])
def test_a_history_is_cut_from_one_request_on(change):
    for record in runs_of("history", change=change):
        onset, earliest, _, rows = places(record)
        whole = {r["before"]: r for r in requests(Host({**record, "messages": rows}), rows)}
        cut = next(r for r in record["requests"] if r["before"] == onset + 1)
        mine = [r["before"] - 1 for r in record["requests"] if r["agent"] == cut["agent"]]
        assert earliest == (mine[mine.index(onset) + 1] if change == "no_task" else onset)
        assert record.get("control", False) is (change in ("trim", "compaction"))
        for request in record["requests"]:
            mine = request["agent"] == cut["agent"] and request["before"] > onset
            assert (request["messages"] != whole[request["before"]]["messages"]) is mine
        roles = [message["role"] for message in cut["messages"]]
        assert (roles[0] == "system") is (change != "no_system")
        lost = len(whole[onset + 1]["messages"]) - len(cut["messages"])
        assert lost == 1 if change in ("no_system", "no_task") else lost >= 1
