"""Who and when, in the report of a run and over many."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import get_args

import pytest

from mastwatch.reports import (
    attribution_line,
    attribution_schema,
    case,
    markdown,
    report_document,
    report_schema,
    run_page,
    summarise,
    summary_dict,
    summary_page,
    wording,
    write_report,
)
from mastwatch.store import Attribution, Evidence
from mastwatch.store.attribution import METHODS, Check, Result
from mastwatch.store.codec import attribution_from_json, report_from_json
from reports.hostile import PLANTED, hostile_attribution, hostile_report, hostile_trace
from reports.sample import sample_attribution, sample_cases, sample_report, sample_trace
from reports.test_json import faults
from reports.test_page import Page

FOUND = sample_attribution()
NOTHING = replace(
    FOUND, result="not_evaluated", step=None, agent="", reason="budget", counterfactual="",
    evidence=(), candidates=(), modes=(),
)  # fmt: skip


def page(found: Attribution = FOUND) -> str:
    return run_page(sample_trace(), sample_report(), found)


def words(text: str) -> str:
    return " ".join("".join(Page(text).words).split())


# The page of a run.


def test_the_step_is_marked_in_place_with_what_would_have_saved_the_run() -> None:
    [row] = re.findall(r'<li id="m11" class="([^"]*)">(.*?)</li>', page(), re.DOTALL)
    assert "decisive" in row[0].split()
    assert page().count('class="decided"') == 1
    shown = " ".join("".join(Page(row[1]).words).split())
    assert "decided the run" in shown
    assert FOUND.reason in shown
    assert f"Instead: {FOUND.counterfactual}" in shown


def test_the_attribution_leads_to_the_row_and_the_row_back() -> None:
    text = page()
    [card] = re.findall(r'<article id="the-step".*?</article>', text, re.DOTALL)
    assert '<a href="#m11" class="step">' in card
    assert '<a href="#the-step" class="word attributed" title="Back to who and when">' in text
    assert text.index('id="attribution"') < text.index('id="verdicts"')


def test_its_quotes_are_marked_beside_those_of_the_verdicts() -> None:
    text = page()
    quote = "For Marbach I take last year's value, 38,400 kWh."
    [mark] = re.findall(r"<mark [^>]*>For Marbach[^<]*</mark>", text)
    assert 'class="present decisive"' in mark
    assert 'data-quotes="q-disobey_task_specification-1 q-the-step-1"' in mark
    assert '<a href="#q-the-step-1" class="quote">' in text
    assert re.search(r'<mark id="q-the-step-2" class="decisive"[^>]*>no reading since 4 May<', text)
    assert quote.replace("'", "&#x27;") in text


def test_the_timeline_has_a_flag_on_who_decided() -> None:
    assert "#11: here Reader decided the run" in page()
    assert "the step that decided" in page()
    assert "decided the run" not in run_page(sample_trace(), sample_report())


def test_other_steps_stand_with_their_check_and_objection() -> None:
    text = page()
    assert "Other steps that were weighed (2)" in text
    [writer] = re.findall(r'<article id="w-12".*?</article>', text, re.DOTALL)
    assert ">refuted</span>" in writer
    assert "Objection: " in writer
    assert "repeats what it was given" in writer
    assert '<a href="#m12" class="step">' in writer


def test_method_model_and_cost_are_told() -> None:
    told = words(page())
    for part in (
        "propose and verify", "scripted-judge", "4 calls", "10,180 reported", "$0.0281",
        "100 % of the messages read",
    ):  # fmt: skip
        assert part in told
    assert "the right answer was shown" not in told
    assert "the right answer was shown" in words(page(replace(FOUND, ground_truth=True)))


def test_modes_in_the_step_lead_to_their_verdicts() -> None:
    assert '<a href="#v-disobey_task_specification">Disobey task specification</a>' in page()
    alone = run_page(sample_trace(), None, FOUND)
    assert "Failure modes in this message: Disobey task specification" in words(alone)
    assert "#v-" not in alone


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (NOTHING, "not evaluated a limit on calls, tokens or money was reached"),
        (replace(NOTHING, result="none", reason="no_error"), "no deciding step the model saw no"),
        (replace(FOUND, result="unverified"), "No candidate survived its check"),
        (replace(FOUND, named_agent="Ghost"), "The model named Ghost; who speaks there counts."),
        (replace(FOUND, step=99), "not in the stored run"),
        (replace(FOUND, problems=("one call failed",)), "1 problem on the way"),
    ],
)
def test_what_is_not_sure_is_said(found, told) -> None:
    text = page(found).replace("</span>", " </span>").replace("</h3>", " </h3>")
    assert told in words(text)


def test_without_a_step_no_row_is_marked() -> None:
    text = page(NOTHING)
    assert 'class="decided"' not in text
    assert "decisive" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


def test_a_run_that_was_not_judged_has_a_page_too() -> None:
    text = run_page(sample_trace(), None, FOUND)
    assert "not judged" in words(text)
    assert 'id="verdicts"' not in text
    assert 'id="the-step"' in text


def test_a_step_that_is_weighed_twice_stands_once() -> None:
    found = replace(FOUND, candidates=(*FOUND.candidates, FOUND.candidates[-1]))
    assert page(found).count('id="w-5"') == 1


def test_planted_text_is_shown_as_text() -> None:
    text = run_page(hostile_trace(), hostile_report(), hostile_attribution())
    assert PLANTED[0] in "".join(Page(text).words)
    assert "\u202e" not in text
    assert "window.owned = true</script>" not in text


# Markdown, JSON, files.


def test_markdown_tells_the_step_before_the_verdicts() -> None:
    text = markdown(sample_trace(), sample_report(), FOUND)
    assert "### Decided: message 11, Reader" in text
    assert "Instead: Report Marbach as missing" in text
    assert "- also weighed: message 12, Writer, refuted: " in text
    assert text.index("### Decided") < text.index("### Present")
    text = markdown(sample_trace(), None, NOTHING)
    assert "Not judged." in text
    assert "### Not evaluated: a limit on calls, tokens or money was reached" in text
    assert "Verdicts" not in text


def test_nothing_in_markdown_is_markup() -> None:
    text = markdown(hostile_trace(), hostile_report(), hostile_attribution())
    for tag in re.finditer(r"<", text):
        assert text[tag.start() - 1] == "\\"
    assert "://" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    "found",
    [
        FOUND,
        NOTHING,
        hostile_attribution(),
        Attribution(run_id="r", method="all_at_once", result="none"),
        replace(FOUND, evidence=(Evidence(message_index=1, quote="x", status="repaired"),)),
    ],
    ids=["sample", "nothing", "hostile", "bare", "repaired"],
)
def test_attributions_hold_to_the_schema_and_come_back(found) -> None:
    line = attribution_line(found)
    assert "\n" not in line
    schema = attribution_schema()
    assert faults(json.loads(line), schema, schema) == []
    assert attribution_from_json(line) == found


def test_the_schema_knows_every_field_and_refuses_what_is_wrong() -> None:
    schema = attribution_schema()
    known = set(schema["properties"])
    assert known == {f.name for f in fields(Attribution)} - {"run_id"} | {"run", "schema"}
    assert set(schema["required"]) == known
    told = json.loads(attribution_line(FOUND))
    told["result"], told["step"] = "maybe", -1
    del told["candidates"][0]["check"]
    assert len(faults(told, schema, schema)) == 3


def test_the_file_of_a_run_holds_both_and_is_still_a_report() -> None:
    text = report_document(sample_report(), FOUND)
    assert report_from_json(text) == sample_report()
    told = json.loads(text)
    attribution = told.pop("attribution")
    assert attribution["step"] == 11
    assert faults(attribution, attribution_schema(), attribution_schema()) == []
    assert faults(told, report_schema(), report_schema()) == []
    assert list(json.loads(report_document(None, FOUND))) == ["run", "attribution"]


def test_a_run_that_was_not_judged_is_three_files_too(tmp_path) -> None:
    paths = write_report(sample_trace(), None, tmp_path, FOUND)
    assert [path.suffix for path in paths] == [".json", ".md", ".html"]
    assert json.loads(paths[0].read_text())["attribution"]["agent"] == "Reader"
    assert "#11" in paths[2].read_text()


# Over many runs.


def decided(agent="Reader", result="attributed", step=11, **more):
    found = replace(FOUND, agent=agent, result=result, step=step, **more)
    return case(sample_trace(), sample_report(), "runs/a.html", found)


def test_agents_are_counted_by_the_failures_they_decide() -> None:
    runs = [decided(), decided(), decided(result="unverified"), decided("Writer", modes=())]
    runs += [
        decided("", "none", None, reason="no_error"),
        decided("", "not_evaluated", None, reason="budget"),
        case(sample_trace(), sample_report()),
    ]
    found = summarise(runs).deciders
    assert list(found.agents) == ["Reader", "Writer"]
    reader = found.agents["Reader"]
    assert (reader.decided, reader.perhaps, reader.runs) == (2, 1, 4)
    assert reader.share.value == 0.5
    assert reader.modes == {"disobey_task_specification": 3}
    assert found.results == {"attributed": 3, "unverified": 1, "none": 1, "not_evaluated": 1}
    assert found.reasons == {"no_error": 1, "budget": 1}


def test_names_that_logs_lengthen_are_one_agent() -> None:
    rows = tuple(replace(row, agent="Chair (thought)") for row in sample_trace().rows)
    trace = replace(sample_trace(), rows=rows)
    runs = [case(trace, None, "", replace(FOUND, agent=agent)) for agent in ("Chair", "Clerk")]
    chair = summarise(runs).deciders.agents["Chair"]
    assert (chair.decided, chair.runs) == (1, 2)


def test_the_summary_shows_who_decides_failures_and_leads_there() -> None:
    text = summary_page(summarise(sample_cases(60)))
    assert "Who decides failures" in text
    assert 'html#the-step">Reader #11</a>' in text
    assert "Who decides failures" not in summary_page(
        summarise([case(sample_trace(), sample_report())])
    )


def test_a_summary_of_attributions_alone_has_no_empty_tables() -> None:
    text = summary_page(summarise([case(sample_trace(), None, "a.html", FOUND)]))
    assert "Who decides failures" in text
    assert ">Failure modes<" not in text
    assert "Which modes go with failure" not in text


def test_the_summary_s_json_has_it_and_no_text_of_the_run() -> None:
    told = summary_dict(summarise([decided()]))
    assert told["deciders"]["agents"]["Reader"]["decided"] == 1
    assert told["runs"][0]["decision"]["step"] == 11
    assert "Marbach" not in json.dumps(told)


def test_money_of_both_is_added_up() -> None:
    one = case(sample_trace(), sample_report(), "", FOUND)
    assert one.usage.usd == pytest.approx(0.0279 + 0.0281)
    assert one.usage.calls == 7


def test_every_reason_and_word_is_said_in_words() -> None:
    assert {"ambiguous", "no_error", "no_such_step", "succeeded"} <= set(wording.REASONS)
    assert set(wording.METHODS) == set(METHODS)
    assert set(wording.DECISIONS) == set(get_args(Result))
    assert set(wording.CHECKS) == set(get_args(Check))
