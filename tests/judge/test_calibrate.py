"""Labels in, figures out: whose numbers they are, what too few labels say, and the stamp."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mastwatch import cli
from mastwatch.evaluation.agreement import ac1, pabak
from mastwatch.evaluation.calibration import Rated, by_judge, calibration, measure
from mastwatch.evaluation.scoring import Confusion
from mastwatch.judge.calibrate import BadCalibration, Calibration, Calibrations, beside, digest
from mastwatch.judge.examples import MAX_CHARS, MAX_EXAMPLES, BadExamples, Examples
from mastwatch.judge.labels import SCHEMES, BadLabels, read
from mastwatch.store import Evidence, Report, Verdict
from mastwatch.store.codec import result_to_json
from mastwatch.testing import ScriptedModelServer

SLUG = "step_repetition"


def report(run: str, word: str = "present", confidence: float | None = 0.9, **more: Any) -> Report:
    verdict = Verdict(
        slug=SLUG, mode="FM-1.3", verdict=word, confidence=confidence,
        evidence=(Evidence(message_index=0, quote="x" * 12),) if word == "present" else (),
    )  # fmt: skip
    told = {"model": "m", "prompt_version": "1", **more}
    return Report(run_id=run, verdicts={SLUG: verdict}, **told)


def rated(words: str, truth: str, confidence: str = "") -> list[Rated]:
    """``p`` present, ``a`` absent, ``u`` unsure, ``n`` not evaluated; truth by ``1`` and ``0``."""
    full = {"p": "present", "a": "absent", "u": "unsure", "n": "not_evaluated"}
    return [
        Rated(
            run=f"r{n}",
            truth={SLUG: value == "1"},
            reports=[report(f"r{n}", full[word], float(confidence[n]) / 10 if confidence else 0.9)],
        )
        for n, (word, value) in enumerate(zip(words, truth, strict=True))
    ]


def lines(tmp_path: Path, *values: Any, name: str = "labels.jsonl") -> str:
    path = tmp_path / name
    path.write_text("".join(json.dumps(v) + "\n" for v in values), encoding="utf-8")
    return str(path)


# Labels.


def test_slugs_and_our_codes_need_no_scheme(tmp_path: Path) -> None:
    (found,) = read(lines(tmp_path, {"run": "r", "labels": {SLUG: 1, "FM-3.2": 0}})).found
    assert found.labels == {SLUG: True, "no_or_incomplete_verification": False}


def test_a_bare_number_is_refused_until_somebody_says_whose_it_is(tmp_path: Path) -> None:
    path = lines(tmp_path, {"run": "r", "labels": {"3.2": 1}})
    with pytest.raises(BadLabels, match=r"labels.jsonl:1.*'3.2' means different modes.*agentdash"):
        read(path)
    assert read(path, "mastwatch").found[0].labels == {"no_or_incomplete_verification": True}


def test_the_scheme_of_a_line_wins(tmp_path: Path) -> None:
    path = lines(tmp_path, {"run": "r", "labels": {"3.2": 1}, "source_scheme": "mast-18"})
    assert read(path, "mastwatch").found[0].labels == {"information_withholding": True}


@pytest.mark.parametrize("scheme", ["agentdash", "mast-repository"])
def test_where_3_2_and_3_3_are_not_quite_ours_they_are_marked(tmp_path: Path, scheme: str) -> None:
    path = lines(tmp_path, {"run": "r", "labels": {"3.2": 1, "3.3": 0, "1.3": 1}})
    (found,) = read(path, scheme).found
    assert found.lossy == {"no_or_incomplete_verification", "incorrect_verification"}
    assert found.labels[SLUG] is True


def test_modes_without_an_heir_are_dropped_and_counted(tmp_path: Path) -> None:
    result = read(lines(tmp_path, {"run": "r", "labels": {"1.1": 1, "3.2": 1}}), "mast-17")
    assert result.dropped == {"1.1": 1}
    assert result.found[0].lossy == {"no_or_incomplete_verification"}
    assert set(SCHEMES) >= {"mastwatch", "agentdash", "mast-17", "mast-18"}


def test_labelled_records_are_read_and_unlabelled_ones_passed_over(tmp_path: Path) -> None:
    labelled = {"id": "r", "messages": [], "labels": {"fm": {"1.3": 1}}, "question_id": "q"}
    path = lines(tmp_path, labelled, {"id": "s", "messages": [], "labels": {}})
    (found,) = read(path, "mastwatch").found
    assert (found.run, found.labels, found.group) == ("r", {SLUG: True}, "q")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"run": "r"}, "'labels' is missing"),
        ({"labels": {SLUG: 1}}, "the id of the run"),
        ({"run": "r", "labels": {SLUG: 2}}, "a label is 0 or 1"),
        ({"run": "r", "labels": {"laziness": 1}}, "'laziness' is no failure mode"),
        ({"run": "r", "labels": {"1.3": 1}, "source_scheme": "mine"}, "scheme 'mine' is unknown"),
        ([1], "no object"),
    ],
)
def test_labels_that_cannot_be_used_say_where_and_why(tmp_path: Path, line: Any, says: str) -> None:
    with pytest.raises(BadLabels, match=r"labels\.jsonl:1") as raised:
        read(lines(tmp_path, line))
    assert says in str(raised.value)


# Figures.


def test_published_values_of_the_coefficients() -> None:
    """The paradox of kappa in Gwet's example: 118 of 125 agree, and kappa is below 0."""
    table = Confusion(tp=118, fp=5, fn=2, tn=0)
    assert ac1(table) == pytest.approx(0.9408, abs=1e-4)
    assert pabak(table) == pytest.approx(0.888)
    assert table.kappa == pytest.approx(-0.0234, abs=1e-4)


def test_a_perfect_judge_has_one_everywhere() -> None:
    found = measure(rated("p" * 12 + "a" * 20, "1" * 12 + "0" * 20), [SLUG])[SLUG]
    for name in ("precision", "recall", "f1", "kappa", "ac1", "pabak"):
        assert (found[name], found[f"{name}_low"], found[f"{name}_high"]) == (1.0, 1.0, 1.0)


def test_below_ten_positives_there_is_no_figure() -> None:
    found = measure(rated("p" * 9 + "a" * 20, "1" * 9 + "0" * 20), [SLUG])[SLUG]
    assert found["too_few"]
    assert "f1" not in found
    assert (found["tp"], found["positives"]) == (9, 9)


def test_kappa_is_undefined_without_positives() -> None:
    found = measure(rated("p" + "a" * 20, "0" * 21), [SLUG], least=0)[SLUG]
    assert found["kappa"] is None
    assert found["recall"] is None
    assert found["ac1"] == pytest.approx(0.95, abs=0.01)


def test_unsure_is_not_found_and_not_evaluated_is_left_out_and_counted() -> None:
    found = measure(rated("p" * 10 + "u" * 5 + "n" * 4 + "a", "1" * 19 + "0"), [SLUG])[SLUG]
    assert (found["tp"], found["fn"], found["n"]) == (10, 5, 16)
    assert (found["unsure"], found["not_evaluated"]) == (5, 4)
    assert found["recall"] == pytest.approx(2 / 3)


def test_intervals_hold_the_value_and_the_seed_decides() -> None:
    words, truth = "p" * 15 + "a" * 5 + "p" * 5 + "a" * 25, "1" * 20 + "0" * 30
    one, same, other = (measure(rated(words, truth), [SLUG], seed=s)[SLUG] for s in (1, 1, 2))
    assert one == same
    assert one["kappa_low"] != other["kappa_low"]
    assert one["kappa_low"] < one["kappa"] < one["kappa_high"]


def test_kin_widens_the_interval() -> None:
    runs = rated("p" * 15 + "a" * 5 + "p" * 5 + "a" * 25, "1" * 20 + "0" * 30)
    kin = [Rated(run=r.run, truth=r.truth, reports=r.reports, group=f"g{n // 5}")
           for n, r in enumerate(runs)]  # fmt: skip
    apart, together = measure(runs, [SLUG])[SLUG], measure(kin, [SLUG])[SLUG]
    assert together["f1_high"] - together["f1_low"] > apart["f1_high"] - apart["f1_low"]


def test_a_judge_that_was_asked_twice_is_compared_with_itself() -> None:
    runs = [
        Rated(run=f"r{n}", truth={}, reports=[report(f"r{n}", a), report(f"r{n}", b)])
        for n, (a, b) in enumerate([("present", "present"), ("absent", "absent")] * 4
                                   + [("present", "absent")] * 2)
    ]  # fmt: skip
    found = measure(runs, [SLUG])[SLUG]
    assert found["repeated_runs"] == 10
    assert found["repeat_agreement"] == pytest.approx(0.8)
    assert found["repeat_kappa"] == pytest.approx(0.6)


def test_the_threshold_lies_where_the_false_alarms_end() -> None:
    """True positives are surer (.8) than false ones (.3)."""
    words, truth = "p" * 40 + "a" * 20, "1" * 20 + "0" * 40
    found = measure(rated(words, truth, "8" * 20 + "3" * 20 + "9" * 20), [SLUG])[SLUG]
    assert 0.3 < found["threshold"] <= 0.8
    assert found["threshold_f1"] == 1.0
    assert found["f1"] < 0.7


def test_a_threshold_that_says_nothing_is_worth_no_more_unseen() -> None:
    words, truth = "p" * 40, "10" * 20
    found = measure(rated(words, truth, "5729" * 10), [SLUG])[SLUG]
    assert found["threshold_f1"] <= 0.75


def test_judges_are_kept_apart() -> None:
    mixed = [Rated(run="r", truth={}, reports=[report("r"), report("r", model="other")])]
    with pytest.raises(ValueError, match="of 2"):
        calibration(mixed, [SLUG], "2026-11-21")
    assert [len(one[0].reports) for one in by_judge(mixed)] == [1, 1]


# The stamp.


def test_a_calibration_is_found_again_for_the_same_judge_only(tmp_path: Path) -> None:
    made = calibration(rated("p" * 12, "1" * 12), [SLUG], "2026-11-21")
    kept = Calibrations()
    kept.add(made)
    path = tmp_path / "runs.calibration.json"
    kept.save(path)
    found = Calibrations.load(path)
    version = made.taxonomy_version
    assert found.of(version, "1", "m") == made
    assert found.stamp(version, "1", "m") == f"{made.digest} of 2026-11-21, n=12"
    for other in ((version, "2", "m"), (version, "1", "m2"), ("mast15", "1", "m")):
        assert found.stamp(*other) == "uncalibrated"
    assert made.digest == digest(version, "1", "m")


def test_kappas_and_thresholds_are_those_that_are_known() -> None:
    modes = {SLUG: {"kappa": 0.5, "threshold": 0.7}, "b": {"too_few": True}, "c": {"kappa": None}}
    made = Calibration(
        taxonomy_version="t", prompt_version="p", model="m", date="d", runs=1, modes=modes
    )
    assert (made.kappas, made.thresholds) == ({SLUG: 0.5}, {SLUG: 0.7})


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 9}', '{"schema": 1, "calibrations": [1]}'])
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(BadCalibration, match=r"x\.json"):
        Calibrations.load(path)
    assert Calibrations.load(tmp_path / "none.json").stamp("t", "p", "m") == "uncalibrated"
    assert beside("/d/runs.sqlite") == Path("/d/runs.calibration.json")


# Examples.


def example(n: int, size: int = 10) -> dict[str, Any]:
    return {"run": f"[#{n} a reply]\n| {'x' * size}", "verdicts": {SLUG: {"verdict": "absent"}}}


def test_the_newest_examples_are_shown_and_named_by_their_digest(tmp_path: Path) -> None:
    path = lines(tmp_path, *(example(n) for n in range(MAX_EXAMPLES + 3)))
    found = Examples.load(path)
    assert (len(found.shown), found.left_out) == (MAX_EXAMPLES, 3)
    assert found.shown[-1].run.startswith(f"[#{MAX_EXAMPLES + 2} ")
    other = Examples.load(lines(tmp_path, example(1), name="other.jsonl"))
    assert found.suffix != other.suffix
    assert found.suffix.startswith("+ex")


def test_examples_are_bounded_in_size(tmp_path: Path) -> None:
    found = Examples.load(lines(tmp_path, *(example(n, MAX_CHARS // 3) for n in range(5))))
    assert len(found.shown) == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"run": "x"}, "an example has"),
        ([1], "an example has"),
        ({"run": "x", "verdicts": {SLUG: {"verdict": "maybe"}}}, SLUG),
    ],
)
def test_a_line_that_is_no_example_says_so(tmp_path: Path, line: Any, says: str) -> None:
    path = lines(tmp_path, example(0), line)
    with pytest.raises(BadExamples, match=f"labels.jsonl:2.*{says}"):
        Examples.load(path)


def test_a_file_that_is_not_there_is_said() -> None:
    with pytest.raises(BadExamples, match="cannot be read"):
        Examples.load("/nowhere/examples.jsonl")


# The command.


def reports(tmp_path: Path, runs: list[Rated]) -> str:
    path = tmp_path / "reports.jsonl"
    path.write_text("".join(result_to_json(one.reports[0]) + "\n" for one in runs))
    return str(path)


def test_the_command_measures_prints_and_keeps(tmp_path: Path, capsys: Any) -> None:
    runs = rated("p" * 12 + "a" * 10, "1" * 12 + "0" * 10)
    labels = lines(tmp_path, *({"run": r.run, "labels": {SLUG: int(r.truth[SLUG])}} for r in runs))
    out = tmp_path / "c.json"
    arguments = ["judge", "calibrate", labels, "--reports", reports(tmp_path, runs)]
    assert cli.main([*arguments, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "step_repetition" in shown
    assert "1.00 to 1.00" in shown
    version = runs[0].reports[0].taxonomy_version
    assert Calibrations.load(out).stamp(version, "1", "m").endswith("n=22")


def test_the_command_says_what_it_lacks(tmp_path: Path, capsys: Any) -> None:
    labels = lines(tmp_path, {"run": "r", "labels": {"3.2": 1}})
    empty = reports(tmp_path, [])
    arguments = ["judge", "calibrate", labels, "--reports", empty, "--out", str(tmp_path / "c")]
    assert cli.main(arguments) == 2
    assert "means different modes" in capsys.readouterr().err
    assert cli.main([*arguments, "--scheme", "agentdash"]) == 2
    said = capsys.readouterr().err
    assert "1 labelled runs have no report" in said
    assert "1 labels of modes not quite the same; left out; --lossy takes them" in said
    assert not (tmp_path / "c").exists()


def said_of(request: dict[str, Any]) -> dict[str, Any]:
    """``present`` with a real quote where the run repeats itself, else ``absent``."""
    asked = request["messages"][-1]["content"]
    slugs = request["response_format"]["json_schema"]["schema"]["properties"]["modes"]["required"]
    quotes = [{"msg": n, "quote": "the sum is computed again"} for n in (0, 1)]
    modes = {
        slug: {"verdict": "absent", "confidence": 0.9, "evidence": [], "why": ""} for slug in slugs
    }
    if SLUG in modes and "computed again" in asked:
        modes[SLUG] = {"verdict": "present", "confidence": 0.9, "evidence": quotes, "why": ""}
    return {"modes": modes, "task_completed": "unclear"}


def test_runs_can_be_judged_there_and_then_and_again(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    texts = ["now the sum is computed again"] * 2 + ["it is 412, the end of it"]
    runs = [
        {
            "id": f"r{n}",
            "framework": "custom",
            "messages": [
                {
                    "index": i,
                    "agent": "a",
                    "role": "assistant",
                    "content": t if n < 10 else f"{n} {i}",
                }
                for i, t in enumerate(texts)
            ],
        }
        for n in range(14)
    ]
    labels = [{"run": f"r{n}", "labels": {SLUG: int(n < 10)}} for n in range(14)]
    out, keep = tmp_path / "c.json", tmp_path / "keep.jsonl"
    with ScriptedModelServer(said_of) as server:
        arguments = ["judge", "calibrate", lines(tmp_path, *labels), "--out", str(out)]
        arguments += ["--judge", lines(tmp_path, *runs, name="runs.jsonl"), "--times", "2"]
        arguments += ["--model", "m", "--base-url", server.url, "--keep", str(keep)]
        assert cli.main(arguments) == 0
        asked = len(server.requests)
        assert cli.main(arguments) == 0
        assert len(server.requests) == asked
    shown = capsys.readouterr().out
    assert "Run-to-run agreement" in shown
    (found,) = json.loads(out.read_text())["calibrations"]
    figures = found["modes"][SLUG]
    assert (figures["tp"], figures["tn"], figures["f1"], figures["repeated_runs"]) == (
        10,
        4,
        1.0,
        14,
    )
