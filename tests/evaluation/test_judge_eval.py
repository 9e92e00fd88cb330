"""Scripted judges score what theory says: offline, on the set that a live model would get."""

from __future__ import annotations

import asyncio
import json
import math
import re
import stat
from pathlib import Path

import pytest

from mastwatch import cli, taxonomy
from mastwatch.evaluation.hosts import hosts
from mastwatch.evaluation.injections import INJECTIONS, Flips, flips, plant, talked_to
from mastwatch.evaluation.judge import Hopeless, Kept, judge_all, plan
from mastwatch.evaluation.judge_cases import cases
from mastwatch.evaluation.judge_score import score
from mastwatch.evaluation.judges import JUDGES, scripted
from mastwatch.evaluation.pool import detectors
from mastwatch.evaluation.views_judge import tables
from mastwatch.judge.client import ModelError
from mastwatch.judge.judge import Judge
from mastwatch.judge.labels import SCHEMES
from mastwatch.judge.prompt import user
from mastwatch.judge.settings import JudgeSettings
from mastwatch.judge.windows import plan as windows
from mastwatch.store import Report, Verdict
from mastwatch.testing import ScriptedModelServer

BETWEEN_AGENTS = ("FM-2.2", "FM-2.4", "FM-2.5")
NOISE = 0.15


@pytest.fixture(scope="module")
def made():
    return cases(hosts(), detectors(), per_mode=15, clean=30)


def evaluated(made, name, *, repeats=1, flip_cases=0, **settings):
    what = plan(made, repeats=repeats, flip_cases=flip_cases)
    make, kept = scripted(name), Kept()
    how = JudgeSettings(retries=0, cache=False, **settings)
    judge_for = lambda case, time: Judge(make(case, str(time)), how)  # noqa: E731
    asyncio.run(judge_all(what, judge_for, kept))
    result = score(what, kept.reports)
    assert result["missing"] == 0
    assert result["unverified_present"] == 0
    assert result["not_evaluated"] == {}
    assert result["coverage_least"] == 1.0
    return result


# The set.


def test_the_set_has_every_mode_and_clean_runs(made):
    count = {mode.code: sum(case.mode == mode.code for case in made) for mode in taxonomy.MODES}
    assert set(count.values()) == {15}
    assert sum(not case.mode for case in made) == 30
    assert len({case.trace.run_id for case in made}) == len(made)
    assert {case.language for case in made} == {"en", "zh", "ja", "mixed"}


def test_truth_is_the_planted_mode_and_nothing_is_claimed_of_what_it_brings_along(made):
    for case in made:
        assert [slug for slug, value in case.truth.items() if value] == [case.slug] * bool(
            case.mode
        )
        assert len(case.truth) == 14 or case.mode
    over = next(case for case in made if case.mode == "FM-1.5")
    assert "step_repetition" not in over.truth


def test_the_judge_never_sees_the_answer_sheet(made):
    for case in made[::7]:
        assert case.trace.extra == {}
        for window in windows(case.trace, 50_000):
            shown = user(window, "word")
            assert not case.what or case.what not in shown
            assert not case.injector or case.injector not in shown


# The judges.


def test_a_perfect_judge_has_one_everywhere(made):
    result = evaluated(made, "perfect", repeats=2, flip_cases=2)
    assert result["macro_f1"] == 1.0
    for row in result["modes"]:
        assert (row["tp"], row["fp"], row["fn"]) == (15, 0, 0)
        assert (row["kappa"], row["ac1"], row["pabak"]) == (1.0, 1.0, 1.0)
        assert row["repeat_kappa"] == 1.0
    assert result["clean"]["flagged"] == 0
    assert (result["flips"]["rate"], result["flips"]["own"]["rate"]) == (0.0, 0.0)


def test_a_lazy_judge_finds_nothing_and_no_accuracy_says_otherwise(made):
    result = evaluated(made, "lazy")
    assert {row["recall"] for row in result["modes"]} == {0.0}
    assert {row["kappa"] for row in result["modes"]} == {0.0}
    assert {row["precision"] for row in result["modes"]} == {None}
    assert result["macro_f1"] == 0.0
    assert result["clean"]["flagged"] == 0
    # It is right in more than nine of ten cells, which is why nobody is told.
    right = sum(row["tn"] + row["tp"] for row in result["modes"])
    assert right / sum(row["n"] for row in result["modes"]) > 0.9
    shown = json.dumps(result).casefold()
    assert "accuracy" not in shown
    assert "observed" not in shown


def test_a_lying_judge_is_believed_nothing(made):
    result = evaluated(made[::4], "lying")
    assert result["evidence"]["verified"] == result["evidence"]["repaired"] == 0
    assert result["evidence"]["rejected"] > 0
    assert all((row["tp"], row["fp"]) == (0, 0) for row in result["modes"])
    assert result["clean"]["flagged"] == 0
    assert all(row["unsure"] == row["n"] for row in result["modes"])


def test_a_noisy_judge_scores_what_its_noise_predicts(made):
    result = evaluated(made, f"noisy:{NOISE}", repeats=2, profile="fast")
    inside = 0
    for row in result["modes"]:
        if row["mode"] in BETWEEN_AGENTS:
            # Where a run has one agent our own rule takes a false alarm down: better than noise.
            continue
        positives, negatives = row["positives"], row["n"] - row["positives"]
        true, false = positives * (1 - NOISE), negatives * NOISE
        predicted = {
            "recall": 1 - NOISE,
            "precision": true / (true + false),
            "f1": 2 * true / (true + false + positives),
        }
        for name, value in predicted.items():
            inside += row[f"{name}_low"] <= value <= row[f"{name}_high"]
        spread = 4 * math.sqrt(NOISE * (1 - NOISE) / negatives)
        assert row["fp"] / negatives == pytest.approx(NOISE, abs=spread)
        # Two independent draws: the same verdict with (1-p)^2 + p^2.
        same = (1 - NOISE) ** 2 + NOISE**2
        assert row["repeat_agreement"] == pytest.approx(same, abs=0.09)
    # 95 % intervals: of 33 figures two or so may lie outside, four or more hardly ever.
    assert inside >= 29


def test_noise_flips_verdicts_as_often_without_a_planted_text(made):
    result = evaluated(made, "noisy:0.15", repeats=2, flip_cases=4, profile="fast")
    own, planted = result["flips"]["own"], result["flips"]
    assert planted["rate"] == pytest.approx(own["rate"], abs=0.08)


def test_a_copy_of_the_detectors_finds_what_they_find(made):
    rows = {row["mode"]: row for row in evaluated(made, "detectors")["modes"]}
    assert all(rows[mode]["recall"] > 0.9 for mode in ("FM-1.3", "FM-1.5", "FM-2.1"))
    assert all(rows[mode]["recall"] < 0.3 for mode in ("FM-1.2", "FM-2.2", "FM-2.3", "FM-3.3"))


def test_an_obedient_judge_is_silenced_and_the_flip_rate_shows_it(made):
    flipped = evaluated(made, "obedient", flip_cases=3)["flips"]
    rows = {row["text"]: row for row in flipped["by_text"]}
    assert set(rows) == {injection.name for injection in INJECTIONS}
    assert all(row["silenced_rate"] == 1.0 for name, row in rows.items() if name != "accuse")
    assert rows["accuse"]["silenced"] == 0
    assert rows["accuse"]["rate"] > 0.8


def test_an_unknown_judge_is_refused():
    for name in ("friendly", "noisy:2", "noisy:x"):
        with pytest.raises(ValueError, match="is no scripted judge; known: perfect"):
            scripted(name)


# Texts that talk to the judge.


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda i: i.name)
def test_a_planted_text_changes_no_row_but_its_own(made, injection):
    case = made[3]
    talking = talked_to(case, injection)
    before, after = case.trace.rows, talking.trace.rows
    assert len(before) == len(after)
    changed = sum(one != other for one, other in zip(before, after, strict=True))
    assert changed == (injection.where != "task")
    assert talking.truth == case.truth
    assert talking.trace.run_id != case.trace.run_id


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda i: i.name)
def test_no_disguise_reaches_the_judge_as_anything_but_data(made, injection):
    trace = plant(made[3].trace, injection)
    (window,) = windows(trace, 50_000)
    shown = user(window, "the-word")
    assert shown.count("the-word") == 2
    assert re.findall(r"^\[#(\d+) ", shown, re.MULTILINE) == [str(r.index) for r in trace.rows]
    assert not re.search("[\x00-\x08\x1b\u200b\U000e0000-\U000e007f]", shown)
    inside = shown.split("\n")[1:-1]
    heads = ("[#", "| ", "Task:", "Agents:", "Tools ", "Ended:", "Rows", "System", "Ends when")
    assert all(line.startswith(heads) or not line for line in inside)


def test_flips_compare_what_both_runs_were_judged_on():
    def report(*words):
        slugs = [mode.slug for mode in taxonomy.MODES]
        return Report(
            run_id="r",
            verdicts={s: Verdict(slug=s, mode="", verdict=w)
                      for s, w in zip(slugs, words, strict=False)},
        )  # fmt: skip

    without = report("present", "present", "absent", "absent", "not_evaluated")
    with_text = report("absent", "present", "absent", "present", "absent")
    assert flips(without, with_text) == Flips(compared=4, flipped=2, present=2, silenced=1)


# Going on, and the command.


def test_an_interrupted_evaluation_goes_on_where_it_was(made, tmp_path):
    few = plan(made[:6], flip_cases=0)
    path = tmp_path / "reports.jsonl"
    asked = []

    def judge_for(case, time):
        if len(asked) == 4:
            raise KeyboardInterrupt
        asked.append(case.trace.run_id)
        return Judge(scripted("perfect")(case, ""), JudgeSettings())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(judge_all(few, judge_for, Kept.load(path, "me"), at_once=1))
    with path.open("a") as file:
        file.write('{"time": 0, "report": {"run": "cut o')
    kept = Kept.load(path, "me")
    assert len(kept.reports) == 4
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    asked[:] = []
    asyncio.run(judge_all(few, judge_for, kept, at_once=1))
    assert len(asked) == 2
    assert score(few, kept.reports)["missing"] == 0
    assert len(Kept.load(path, "me").reports) == 6
    with pytest.raises(ValueError, match="holds no results of this judge"):
        Kept.load(path, "somebody else")


def test_runs_without_any_verdict_are_judged_again(made, tmp_path):
    path = tmp_path / "reports.jsonl"
    kept = Kept.load(path, "me")
    lost = {"a": Verdict(slug="a", mode="A", verdict="not_evaluated", reason="unreachable")}
    kept.add(("r", 0), Report(run_id="r", verdicts=lost))
    assert Kept.load(path, "me").reports == {}


def test_a_server_that_cannot_be_reached_ends_it(made, tmp_path):
    class Nobody:
        provider, model, address = "scripted", "m", "nowhere"

        async def complete(self, ask):
            raise ModelError("unreachable", "nobody answers at nowhere")

        async def close(self):
            pass

    judge = Judge(Nobody(), JudgeSettings(retries=0))
    kept = Kept()
    with pytest.raises(Hopeless, match="nobody answers"):
        asyncio.run(judge_all(plan(made, flip_cases=0), lambda case, time: judge, kept))
    assert kept.reports == {}


def test_too_few_positives_give_no_figure():
    few = cases(hosts("en"), [], per_mode=3, clean=3)
    result = evaluated(few, "perfect")
    assert result["macro_f1"] is None
    (by_mode,) = (t for t in tables(result) if t.title == "Agreement by mode")
    assert all("too few (below 10)" in row for row in by_mode.rows)
    assert "say nothing about any model" in by_mode.note


def test_the_command_prints_and_writes(tmp_path, capsys):
    out, page = tmp_path / "r.json", tmp_path / "r.md"
    arguments = ["evaluate", "judge", "--scripted", "perfect", "--per-mode", "10", "--clean", "5"]
    assert cli.main([*arguments, "--json", str(out), "--markdown", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "macro-F1 over 14 modes" in shown
    assert "say nothing about any model" in shown
    assert json.loads(out.read_text())["macro_f1"] == 1.0
    assert page.read_text().startswith("# A judge, evaluated")


def test_a_dry_run_says_what_it_takes_and_asks_nobody(capsys):
    arguments = ["evaluate", "judge", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    arguments += ["--per-mode", "1", "--clean", "1", "--flip-runs", "0", "--dry-run"]
    assert cli.main([*arguments, "--price", "2", "8"]) == 0
    shown = capsys.readouterr()
    assert re.search(r"15 judgements.*at least \d+ calls.*at most \d+ calls.*USD", shown.err, re.S)
    assert shown.out == ""


def test_a_model_on_a_server_gets_the_same_set_and_table(tmp_path, capsys, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def absent(request):
        form = request["response_format"]["json_schema"]["schema"]
        said = {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": ""}
        slugs = form["properties"]["modes"]["required"]
        return {"modes": dict.fromkeys(slugs, said), "task_completed": "yes"}

    keep = tmp_path / "keep.jsonl"
    with ScriptedModelServer(absent) as server:
        arguments = ["evaluate", "judge", "--model", "m", "--base-url", server.url]
        arguments += ["--per-mode", "1", "--clean", "2", "--flip-runs", "0", "--keep", str(keep)]
        assert cli.main(arguments) == 0
        asked = len(server.requests)
        assert cli.main(arguments) == 0
        assert len(server.requests) == asked
    shown = capsys.readouterr()
    assert "scripted" not in shown.out
    assert "plainer than most real ones" in shown.out
    assert "0 judgements are to be made" in shown.err


def test_a_name_that_is_none_and_a_mode_that_is_none(capsys):
    assert cli.main(["evaluate", "judge", "--scripted", "friendly"]) == 2
    assert "is no scripted judge" in capsys.readouterr().err
    assert cli.main(["evaluate", "judge", "--scripted", "lazy", "--mode", "FM-9.9"]) == 2
    assert "no MAST failure mode" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_set():
    one, again, other = (cases(hosts("en"), [], per_mode=2, clean=2, seed=s) for s in (1, 1, 2))
    assert one == again
    assert [c.trace for c in one] != [c.trace for c in other]


def test_the_page_tells_what_there_is():
    page = (Path(__file__).parents[2] / "docs" / "calibration.md").read_text(encoding="utf-8")
    assert f"each of which {len(INJECTIONS)} texts" in page
    assert all(f"`{name}`" in page for name in (*JUDGES, "noisy:p"))
    assert all(f"`{name}`" in page for name in SCHEMES)
