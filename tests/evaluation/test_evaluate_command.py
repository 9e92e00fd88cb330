"""``mastwatch evaluate detectors`` from the outside."""

from __future__ import annotations

import json

import pytest

from evaluation.runs import STUBS, Word, plugins, record, write
from mastwatch import cli, registry


@pytest.fixture
def stubs(monkeypatch):
    monkeypatch.setattr(registry, "plugins", plugins(*STUBS))


@pytest.fixture(autouse=True)
def no_traces(monkeypatch):
    monkeypatch.delenv("MASTWATCH_TRACES", raising=False)


def run(capsys, *args):
    status = cli.main(["evaluate", "detectors", "--processes", "1", *args])
    out, err = capsys.readouterr()
    return status, out, err.splitlines()


def labelled(n=24):
    for at in range(n):
        positive = at % 2 == 0
        texts = ("go on then", "overrun" if positive else "fine")
        yield record(f"r{at}", *texts, labels={"fm": {"1.5": int(positive)}})


@pytest.mark.usefixtures("stubs")
class TestOwnFiles:
    def test_a_labelled_file_from_end_to_end(self, capsys, tmp_path):
        path = write(tmp_path / "mine.jsonl", *labelled())
        out_json, out_md = tmp_path / "r.json", tmp_path / "r.md"
        status, out, err = run(capsys, path, "--json", str(out_json), "--markdown", str(out_md))
        assert (status, err) == (0, [])
        assert "FM-1.5, mine, custom, whole run" in out
        report = json.loads(out_json.read_text())
        assert report["schema"] == "mastwatch.evaluation.detectors/1"
        (warn,) = [r for r in report["agreement"] if r["rule"] == "warn" and r["mode"] == "FM-1.5"]
        assert (warn["tp"], warn["tn"], warn["kappa"]) == (12, 12, 1.0)
        assert out_md.read_text().startswith("# ")

    def test_a_set_that_is_not_there_is_a_mistake(self, capsys, tmp_path):
        path = write(tmp_path / "mine.jsonl", *labelled(4))
        status, _, err = run(capsys, path, "--set", "mien")
        assert (status, err[0].split(", composed")[0]) == (
            2,
            "mastwatch: mien is no set here; known: mine",
        )

    def test_folders_modes_detectors_and_sets_choose(self, capsys, tmp_path):
        write(tmp_path / "one.jsonl", *labelled(4))
        write(tmp_path / "two.jsonl", *labelled(4))
        out_json = tmp_path / "r.json"
        chosen = ["--set", "two", "--detectors", "word", "--mode", "FM-1.5"]
        status, _, _ = run(capsys, str(tmp_path), *chosen, "--json", str(out_json))
        report = json.loads(out_json.read_text())
        assert status == 0
        assert [s["set"] for s in report["sets"]] == ["two"]
        assert report["modes"] == ["FM-1.5"]
        assert report["detectors"] == [{"name": "word", "mode": "FM-1.5"}]

    def test_what_cannot_be_read_is_said_and_the_rest_is_scored(self, capsys, tmp_path):
        good = write(tmp_path / "good.jsonl", *labelled(2))
        bad = tmp_path / "bad.jsonl"
        bad.write_text('{"id": "x", "messages": []}\n[1, 2]\n{"id": "cut", "mess')
        status, _, err = run(capsys, good, str(bad), str(tmp_path / "missing.jsonl"))
        assert status == 0
        assert f"mastwatch: {bad}:2: is no record of a run (see the record format)" in err
        assert f"mastwatch: {bad}:3: the JSON is cut off in the middle; skipped" in err
        assert any("missing.jsonl: cannot be opened" in line for line in err)
        assert any("1 records hold no readable message" in line for line in err)

    def test_a_detector_that_breaks_is_said(self, capsys, tmp_path, monkeypatch):
        class Broken(Word):
            def observe(self, event, signals):
                raise RuntimeError("broken")

        monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
        monkeypatch.setattr(registry, "plugins", plugins(Broken))
        path = write(tmp_path / "mine.jsonl", *labelled(2))
        status, _, err = run(capsys, path)
        assert status == 0
        assert "mastwatch: an error of ours in detector.word spoils the figures of 2 runs" in err

    def test_nothing_to_read_is_2_and_says_what_to_do(self, capsys, tmp_path):
        status, _, err = run(capsys)
        assert status == 2
        assert "set MASTWATCH_TRACES" in err[0]
        path = write(tmp_path / "mine.jsonl", *labelled(2))
        assert run(capsys, path, "--set", "other")[0] == 2
        assert run(capsys, str(tmp_path / "missing"))[0] == 2

    def test_the_default_is_the_folder_dev(self, capsys, tmp_path, monkeypatch):
        (tmp_path / "dev").mkdir()
        write(tmp_path / "dev" / "mine.jsonl", *labelled(2))
        monkeypatch.setenv("MASTWATCH_TRACES", str(tmp_path))
        status, out, _ = run(capsys, "--set", "mine")
        assert status == 0
        assert "FM-1.5, mine" in out

    @pytest.mark.parametrize(
        "args", [["--limit", "0"], ["--mode", "1.3"], ["--processes", "x"], ["--nonsense"]]
    )
    def test_usage_errors_are_2(self, capsys, tmp_path, args):
        path = write(tmp_path / "mine.jsonl", *labelled(2))
        assert run(capsys, path, *args)[0] == 2

    def test_unknown_detectors_and_places_are_refused_before_the_work(self, capsys, tmp_path):
        path = write(tmp_path / "mine.jsonl", *labelled(2))
        status, _, err = run(capsys, path, "--detectors", "wrod")
        assert status == 2
        assert err == ["mastwatch: wrod is no detector; known: loop, restart, word"]
        status, out, _ = run(capsys, path, "--json", str(tmp_path / "no" / "r.json"))
        assert (status, out) == (2, "")

    def test_check_fails_on_a_missed_target(self, capsys, tmp_path):
        labels = {"turn_cap": 4, "config": "c"}
        runs = [
            record(f"r{at}", "a", "b", task=f"t{at}", labels={**labels, "fm": {"1.5": at % 2}})
            for at in range(24)
        ]
        path = write(tmp_path / "mine.jsonl", *runs)
        assert run(capsys, path)[0] == 0
        assert run(capsys, path, "--check")[0] == 1


TALK = (
    "Let us find out what the supplier charges for one pallet of tiles this week.",
    "The supplier charges 320 euros for a pallet, and delivery is not included in it.",
    "Then please ask whether the delivery to the building site costs us extra.",
    "Delivery costs 45 euros more, and they are able to come on Thursday morning.",
    "That is within the budget we have, so go ahead and place the order now.",
    "The order is placed, and the confirmation says Thursday at nine in the morning.",
)


def healthy():
    """Runs that faults can be planted in."""
    for at in range(4):
        texts = [f"{text} ({at})" for text in TALK]
        yield record(f"ok{at}", *texts, task=f"tiles {at}", success=True)


@pytest.mark.slow
def test_the_figures_do_not_depend_on_the_number_of_processes(capsys, tmp_path):
    """With the real detectors and planted faults, in one process and in two spawned ones."""
    path = write(tmp_path / "mine.jsonl", *labelled(), *healthy())
    reports = []
    for processes in ("1", "2"):
        out = tmp_path / f"{processes}.json"
        args = [path, "--hosts", "1", "--json", str(out), "--processes", processes]
        assert cli.main(["evaluate", "detectors", *args]) == 0
        reports.append(json.loads(out.read_text()))
    assert reports[0] == reports[1]
    assert {"mine", "generated"} == {s["set"] for s in reports[0]["sets"]}
    assert reports[0]["injected"]


@pytest.mark.slow
def test_a_quick_look_at_the_recorded_runs(capsys, traces, monkeypatch, tmp_path):
    monkeypatch.setenv("MASTWATCH_TRACES", str(traces))
    out = tmp_path / "r.json"
    status, text, err = run(capsys, "--limit", "4", "--hosts", "1", "--json", str(out))
    assert (status, err) == (0, [])
    report = json.loads(out.read_text())
    scored = {r["set"] for r in report["agreement"]}
    assert scored <= {"ag2_turncap_silver", "mast_gt_human", "who_and_when"}
    assert "never scored" in text
