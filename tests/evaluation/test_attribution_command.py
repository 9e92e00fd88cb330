"""``mastwatch evaluate attribution``: options, output, going on after an interruption."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from typing import get_args

import pytest

from evaluation.blamed import cases, crafted, generated, published, record, steps
from mastwatch import cli
from mastwatch.attribution import Attributor
from mastwatch.commands import evaluate_attribution_models as models
from mastwatch.evaluation.attribution import run
from mastwatch.evaluation.attribution.report import report
from mastwatch.evaluation.attribution.run import Kept, attribute_all
from mastwatch.evaluation.attribution.scripted import Scripted
from mastwatch.evaluation.judge import Hopeless
from mastwatch.judge.access import ModelAccess
from mastwatch.judge.answers import Failure
from mastwatch.judge.client import ModelError, Reply
from mastwatch.judge.settings import AttributionSettings, JudgeSettings
from mastwatch.testing import ScriptedModelServer
from mastwatch.testing.model_server import Failed

METHODS = ("all_at_once", "binary_search")
EVALUATE = ["evaluate", "attribution"]


@pytest.fixture(autouse=True)
def _no_traces(monkeypatch):
    monkeypatch.delenv("MASTWATCH_TRACES", raising=False)


def oracle_for(case, method):
    access = ModelAccess(Scripted(case, case.step, "oracle"), JudgeSettings(retries=0))
    return Attributor(access, AttributionSettings(method=method))


class Client:
    """A model that always says the same, or fails."""

    provider, model, address = "scripted", "m", "nowhere"

    def __init__(self, says):
        self.says = says

    async def complete(self, ask):
        if isinstance(self.says, ModelError):
            raise self.says
        return Reply(text=self.says)

    async def close(self):
        pass


def saying(says):
    def attributor_for(case, method):
        access = ModelAccess(Client(says), JudgeSettings(retries=0))
        return Attributor(access, AttributionSettings(method=method))

    return attributor_for


# Going on.


def test_an_interrupted_evaluation_goes_on_where_it_was(tmp_path):
    runs, path = cases(steps(tmp_path / "runs", 6)), tmp_path / "answers.jsonl"
    asked = []

    def attributor_for(case, method):
        if len(asked) == 8:
            raise KeyboardInterrupt
        asked.append((method, case.trace.run_id))
        return oracle_for(case, method)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(attribute_all(runs, METHODS, attributor_for, Kept.load(path, "me"), at_once=1))
    with path.open("a") as file:
        file.write('{"schema": 1, "run": "cut o')
    kept = Kept.load(path, "me")
    assert list(kept.found) == asked
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert report(runs, METHODS, kept.found)["missing"] == 4
    before, asked[:] = set(asked), []
    asyncio.run(attribute_all(runs, METHODS, attributor_for, kept, at_once=1))
    assert len(asked) == 4
    assert not before & set(asked)
    assert report(runs, METHODS, Kept.load(path, "me").found)["missing"] == 0


def test_answers_of_another_model_are_refused_and_left_as_they_are(tmp_path):
    path = tmp_path / "answers.jsonl"
    Kept.load(path, "me")
    path.write_text(path.read_text() + '{"cut')
    before = path.read_text()
    with pytest.raises(ValueError, match="holds no results of this model with these options"):
        Kept.load(path, "somebody else")
    assert path.read_text() == before


def test_lines_that_are_no_attribution_are_passed(tmp_path):
    path = tmp_path / "answers.jsonl"
    Kept.load(path, "me")
    with path.open("a") as file:
        file.write('[1]\n{"schema": 1}\nnull\n{"schema": 99, "run": "r"}\n')
    assert Kept.load(path, "me").found == {}


@pytest.mark.parametrize("kind", ["rate_limited", "timeout", "provider_error"])
def test_what_the_server_failed_on_is_asked_again(tmp_path, kind):
    runs, path = cases(steps(tmp_path / "runs", 2)), tmp_path / "answers.jsonl"
    kept = Kept.load(path, "me")
    failing = saying(ModelError(kind, "not now"))
    asyncio.run(attribute_all(runs, METHODS, failing, kept))
    result = report(runs, METHODS, kept.found)
    assert result["missing"] == 4
    assert result["asked"]["not_evaluated"] == {kind: 4}
    kept = Kept.load(path, "me")
    assert kept.found == {}
    asyncio.run(attribute_all(runs, METHODS, oracle_for, kept))
    assert report(runs, METHODS, Kept.load(path, "me").found)["missing"] == 0


@pytest.mark.parametrize("says", ["", "I am sorry, I cannot help with that.", "the second step"])
def test_what_the_model_failed_on_is_undefined_and_not_asked_again(tmp_path, says):
    runs, path = cases(steps(tmp_path / "runs", 2)), tmp_path / "answers.jsonl"
    asyncio.run(attribute_all(runs, METHODS, saying(says), Kept.load(path, "me")))
    result = report(runs, METHODS, Kept.load(path, "me").found)
    assert result["missing"] == 0
    found = result["subsets"][0]["rows"][-1]
    assert (found["runs"], found["undefined"]["hits"], found["step"]["hits"]) == (2, 2, 0)


def test_answers_to_other_methods_may_stand_in_the_same_file(tmp_path):
    runs, kept = cases(steps(tmp_path, 2)), Kept()
    asyncio.run(attribute_all(runs, METHODS[:1], saying(""), kept))
    asyncio.run(attribute_all(runs, METHODS[1:], oracle_for, kept))
    result = report(runs, METHODS[1:], kept.found)
    assert result["asked"]["not_evaluated"] == {}
    assert {answer["method"] for answer in result["answers"]} == {METHODS[1]}
    assert result["missing"] == 0


@pytest.mark.parametrize("kind", ["auth", "unreachable"])
def test_a_server_that_cannot_be_asked_ends_it(tmp_path, kind):
    runs, kept = cases(steps(tmp_path, 6)), Kept()
    attributor_for = saying(ModelError(kind, "nobody answers at nowhere"))
    with pytest.raises(Hopeless, match="nobody answers"):
        asyncio.run(attribute_all(runs, METHODS, attributor_for, kept))
    assert kept.found == {}


# The command.


@pytest.fixture
def folder(tmp_path):
    return published(tmp_path / "runs", g1=generated(), g2=generated(3), h1=crafted())


def test_baselines_are_printed_and_written(folder, tmp_path, capsys):
    out, page = tmp_path / "r.json", tmp_path / "r.md"
    arguments = [*EVALUATE, folder, "--method", "baselines"]
    assert cli.main([*arguments, "--json", str(out), "--markdown", str(page)]) == 0
    shown = capsys.readouterr().out
    for word in (
        "algorithm_generated, 2 runs",
        "hand_crafted, 1 run",
        "all, 3 runs",
        "as published (substring)",
        "by chance",
        "most frequent speaker",
        "constant step 1   ",
        "first WebSurfer row",
        'the string "1234567890"',
    ):
        assert word in shown
    assert re.search(r"constant step 1 +2 +1 +50\.0 \(9-91\)", shown)
    result = json.loads(out.read_text())
    assert [part["subset"] for part in result["subsets"]][2] == "all"
    assert (result["answers"], result["asked"], result["missing"]) == ([], {}, 0)
    assert page.read_text().startswith("# Attribution, evaluated")


def test_baselines_stand_beside_every_method(folder, capsys):
    arguments = [*EVALUATE, folder, "--scripted", "oracle"]
    methods = ["--method", "all_at_once", "--method", "step_by_step"]
    assert cli.main([*arguments, *methods]) == 0
    shown = capsys.readouterr().out
    assert shown.count("by chance  ") == 3
    assert "all_at_once" in shown
    assert "step_by_step" in shown
    assert "propose_verify" not in shown
    assert "say nothing about any model" in shown


def test_a_named_model_is_asked_by_the_default_method(folder, capsys):
    assert cli.main([*EVALUATE, folder, "--scripted", "oracle"]) == 0
    assert "propose_verify" in capsys.readouterr().out


def answers(request):
    """The right step of any form, for a server."""
    form = request["response_format"]["json_schema"]["schema"]
    assert set(form["required"]) == {"step", "agent", "reason", "confidence"}
    return {"step": 1, "agent": "Sums_Expert", "reason": "told", "confidence": 0.8}


def test_a_model_on_a_server_is_asked_once_for_each_run(folder, tmp_path, capsys, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    keep, out = tmp_path / "keep.jsonl", tmp_path / "r.json"
    with ScriptedModelServer(answers) as server:
        arguments = [*EVALUATE, folder, "--model", "m", "--base-url", server.url, "--keep"]
        arguments += [str(keep), "--method", "all_at_once", "--json", str(out)]
        assert cli.main(arguments) == 0
        assert len(server.requests) == 3
        assert "The right answer to the task" not in json.dumps(server.requests)
        assert cli.main(arguments) == 0
        assert len(server.requests) == 3
        assert cli.main([*arguments, "--ground-truth"]) == 2  # another question: another file
        arguments[arguments.index(str(keep))] = str(tmp_path / "with.jsonl")
        assert cli.main([*arguments, "--ground-truth"]) == 0
        sent = json.dumps(server.requests[3:])
    assert "The right answer to the task" in sent
    assert "21:40" in sent
    shown = capsys.readouterr()
    assert "3 runs are to be asked about; at most 3 calls" in shown.err
    assert "0 runs are to be asked about; at most 0 calls" in shown.err
    assert "holds no results of this model" in shown.err
    assert "without ground truth" in shown.out
    assert "with ground truth" in shown.out
    found = json.loads(out.read_text())["answers"]
    assert [answer["step_right"] for answer in found] == [True, False, False]


def test_ctrl_c_prints_what_there_is_and_goes_on_later(folder, tmp_path, capsys, monkeypatch):
    keep = tmp_path / "keep.jsonl"
    arguments = [*EVALUATE, folder, "--scripted", "oracle", "--method", "all_at_once"]
    arguments += ["--keep", str(keep), "--at-once", "1"]
    real = models.Models.attributor
    count = iter(range(9))

    def attributor(self, case, method):
        if next(count) == 2:
            raise KeyboardInterrupt
        return real(self, case, method)

    monkeypatch.setattr(models.Models, "attributor", attributor)
    assert cli.main(arguments) == 1
    shown = capsys.readouterr()
    assert f"interrupted; run the same command again to go on; {keep} holds" in shown.err
    assert "1 answer is still to be asked for" in shown.err
    assert "all_at_once" in shown.out
    monkeypatch.undo()
    assert cli.main(arguments) == 0


def test_a_dry_run_says_what_it_takes_asks_nobody_and_writes_nothing(folder, tmp_path, capsys):
    keep = tmp_path / "keep.jsonl"
    arguments = [*EVALUATE, folder, "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    arguments += ["--method", "all_at_once", "--method", "step_by_step", "--dry-run"]
    assert cli.main([*arguments, "--price", "2", "8", "--keep", str(keep)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert not keep.exists()
    pattern = r"all_at_once: 3 runs .*at most 3 calls, \d+ tokens sent, \d+ received.*USD"
    assert re.search(pattern, shown.err)
    # Two runs of five steps and one of seven.
    assert re.search(r"step_by_step: 3 runs .*at most 17 calls", shown.err)


def test_a_dry_run_needs_no_model_and_baselines_need_no_dry_run(folder, capsys):
    assert cli.main([*EVALUATE, folder, "--dry-run"]) == 0
    assert "propose_verify: 3 runs" in capsys.readouterr().err
    assert cli.main([*EVALUATE, folder, "--dry-run", "--method", "baselines"]) == 2
    assert "ask no model" in capsys.readouterr().err


def test_what_cannot_begin_says_why(folder, tmp_path, capsys):
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"id": "r", "messages": [], "labels": {}}\n')
    compat = ["--scripted", "oracle", "--compat", "paper"]
    for arguments, why in (
        ([], "nothing to read"),
        ([str(empty)], "none of the files holds a failed run with a marked step"),
        ([folder, "--method", "all_at_once"], "all_at_once asks a model: give --model NAME"),
        ([folder, "--scripted", "friendly"], "is no scripted model; known: oracle"),
        ([folder, *compat, "--method", "propose_verify"], "propose_verify is none"),
        ([folder, *compat], "propose_verify is none"),
        ([folder, "--json", str(tmp_path / "no" / "r.json")], "cannot be written"),
    ):
        assert cli.main([*EVALUATE, *arguments]) == 2, arguments
        shown = capsys.readouterr()
        assert why in shown.err
        assert shown.out == ""


def test_a_server_that_refuses_us_leaves_exit_status_two(folder, capsys, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with ScriptedModelServer(lambda request: Failed(status=401)) as server:
        arguments = [*EVALUATE, folder, "--model", "m", "--base-url", server.url, "--at-once", "1"]
        assert cli.main([*arguments, "--method", "all_at_once"]) == 2
        assert len(server.requests) == 1
    shown = capsys.readouterr()
    assert "stopped" in shown.err
    assert shown.out == ""


def test_the_runs_of_the_folder_dev_are_the_default(tmp_path, capsys, monkeypatch):
    dev = tmp_path / "dev"
    dev.mkdir()
    (dev / "who_and_when_more.jsonl").write_text(json.dumps(record("a", generated(), "own_subset")))
    (dev / "tau_bench.jsonl").write_text("{")
    monkeypatch.setenv("MASTWATCH_TRACES", str(tmp_path))
    assert cli.main(EVALUATE) == 0
    shown = capsys.readouterr()
    assert "own_subset, 1 run" in shown.out
    assert shown.err == ""


def test_reasons_to_ask_again_are_those_of_the_judge():
    assert set(run._PASSING) < set(get_args(Failure))
