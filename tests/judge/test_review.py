"""Runs to people and back: the form, the answers, where they differ, and what the judge learns."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from judge.runs import Model, opinion, trace
from mastwatch import cli
from mastwatch.judge import review
from mastwatch.judge.examples import Examples
from mastwatch.judge.judge import Judge
from mastwatch.judge.labels import Labelled, as_line, read
from mastwatch.judge.modes import mast
from mastwatch.judge.settings import JudgeSettings
from mastwatch.store import Report, Trace
from mastwatch.store.codec import result_to_json

SLUG = "step_repetition"
EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)"> <!-- \u2028'
RUN = trace(
    "We add up the first column.",
    f"It is 412. {EVIL}",
    "We add up the first column.",
    "Once more: it is 412.",
)
RECORD = {
    "id": "run-1",
    "framework": "custom",
    "task": "t",
    "messages": [
        {"index": r.index, "agent": r.agent, "role": "assistant", "content": r.text}
        for r in RUN.rows
    ],
}


async def reported(run: Trace = RUN, **said: Any) -> Report:
    return await Judge(Model(said), JudgeSettings(profile="fast")).judge(run)


def labelled(who: str, run: str = "run-1", **labels: int) -> Labelled:
    return Labelled(run=run, labels={k: bool(v) for k, v in labels.items()}, labeller=who)


class Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)


def test_a_form_holds_the_run_the_modes_and_no_verdict() -> None:
    form = review.form(RUN, mast())
    assert [r["index"] for r in form["rows"]] == [0, 1, 2, 3]
    assert form["labels"] == dict.fromkeys(mast().slugs)
    assert form["judge"] is None


async def test_verdicts_are_shown_where_asked_for() -> None:
    quote = {"msg": 0, "quote": "add up the first column"}
    report = await reported(task_derailment=opinion("present", evidence=[quote]))
    said = review.form(RUN, mast(), report)["judge"]["task_derailment"]
    assert said["verdict"] == "present"
    assert said["evidence"][0]["message_index"] == 0


def test_the_page_holds_the_text_as_data_and_allows_its_own_script_only() -> None:
    page = review.as_html([review.form(RUN, mast())])
    parser = Scripts()
    parser.feed(page)
    assert parser.tags.count("script") == 2
    assert "img" not in parser.tags
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert EVIL.split(" <!--")[0] in json.loads(data[1])[0]["rows"][1]["text"]
    assert "default-src 'none'" in page
    assert "script-src 'sha256-" in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_policy_names_the_very_script() -> None:
    from base64 import b64encode
    from hashlib import sha256

    page = review.as_html([review.form(RUN, mast())])
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    assert b64encode(sha256(script.encode()).digest()).decode() in page


def test_jsonl_can_be_filled_in_and_read_back(tmp_path: Path) -> None:
    form = json.loads(review.as_jsonl([review.form(RUN, mast())]))
    form["labels"][SLUG] = 1
    form["labeller"] = "ann"
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(form) + "\n")
    (found,) = read(str(path)).found
    assert (found.labels, found.labeller) == ({SLUG: True}, "ann")


async def test_corrections_are_where_people_differ_from_the_judge() -> None:
    reports = {"run-1": await reported()}
    found = review.corrections([labelled("ann", step_repetition=1, task_derailment=0)], reports)
    assert [c.wrong for c in found] == [{SLUG: True}]


async def test_people_who_differ_from_each_other_correct_nothing() -> None:
    reports = {"run-1": await reported()}
    said = [labelled("ann", step_repetition=1), labelled("bob", step_repetition=0)]
    assert review.corrections(said, reports) == []


async def test_what_was_not_evaluated_is_no_mistake() -> None:
    report = await reported(Trace(run_id="run-1"))
    assert review.corrections([labelled("ann", step_repetition=1)], {"run-1": report}) == []


async def test_a_correction_becomes_an_example_that_the_judge_shows(tmp_path: Path) -> None:
    said = replace(
        labelled("ann", step_repetition=1),
        evidence={SLUG: {"message_index": 2, "quote": "We add up the first column."}},
        notes={SLUG: "said twice, nothing gained"},
    )
    (found,) = review.corrections([said], {"run-1": await reported()})
    path = tmp_path / "examples.jsonl"
    path.write_text(review.example(found, RUN) + "\n", encoding="utf-8")
    (shown,) = Examples.load(str(path)).shown
    assert re.findall(r"^\[#(\d+) ", shown.run, re.MULTILINE) == ["1", "2", "3"]
    verdict = json.loads(shown.verdicts)["modes"][SLUG]
    assert (verdict["verdict"], verdict["why"]) == ("present", "said twice, nothing gained")
    assert verdict["evidence"] == [{"msg": 2, "quote": "We add up the first column."}]


def test_an_example_of_a_long_run_stays_short() -> None:
    run = trace(*(f"{n} {'words ' * 2_000}" for n in range(50)))
    said = replace(labelled("ann", step_repetition=1), evidence={SLUG: {"message_index": 25}})
    line = review.example(review.Correction("run-1", {SLUG: True}, said), run)
    shown = json.loads(line)["run"]
    assert len(shown) < 5_000
    assert "[#25 " in shown


# The command.


def files(tmp_path: Path, report: Report) -> tuple[str, str]:
    runs, reports = tmp_path / "runs.jsonl", tmp_path / "reports.jsonl"
    runs.write_text(json.dumps(RECORD) + "\n")
    reports.write_text(result_to_json(report) + "\n")
    return str(runs), str(reports)


async def test_export_writes_a_file_for_its_owner_only(tmp_path: Path, capsys: Any) -> None:
    runs, reports = files(tmp_path, await reported())
    for name in ("r.html", "r.jsonl"):
        out = tmp_path / name
        arguments = ["judge", "review", "export", runs, "--out", str(out)]
        assert cli.main([*arguments, "--show-verdicts", "--reports", reports]) == 0
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
        assert "We add up the first column." in out.read_text()
    assert "1 runs for review" in capsys.readouterr().err


async def test_import_compares_labellers_and_adds_corrections_once(
    tmp_path: Path, capsys: Any
) -> None:
    runs, reports = files(tmp_path, await reported())
    ann, bob = tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"
    ann.write_text(as_line(labelled("ann", step_repetition=1, task_derailment=0)) + "\n")
    bob.write_text(as_line(labelled("bob", step_repetition=1, task_derailment=1)) + "\n")
    examples = tmp_path / "examples.jsonl"
    arguments = ["judge", "review", "import", str(ann), str(bob), "--examples", str(examples)]
    for added in (1, 0):
        assert cli.main([*arguments, "--runs", runs, "--reports", reports]) == 0
        shown = capsys.readouterr()
        assert "2 labellers, 1 runs" in shown.out
        assert re.search(r"ann and bob +task_derailment +run-1", shown.out)
        assert f"{added} corrections added" in shown.err
    (found,) = Examples.load(str(examples)).shown
    assert list(json.loads(found.verdicts)["modes"]) == [SLUG]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["export", "nowhere.jsonl/x", "--out", "r.html"], "cannot be opened"),
        (["export", "x", "--out", "r.pdf"], "must end in .html or .jsonl"),
        (["import", "/nowhere/a.jsonl"], "cannot be opened"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, monkeypatch: Any, capsys: Any, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["judge", "review", *arguments]) == 2
    assert says in capsys.readouterr().err
