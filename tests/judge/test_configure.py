"""The judge's settings from files, variables and code; and what judging will take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from judge.stub import SETTINGS, StubModel, judge, looping, trace, verdicts
from mastwatch.judge.configure import BadJudgeSettings, configured
from mastwatch.judge.preflight import estimate
from mastwatch.judge.settings import JudgeSettings, TraceLimits
from mastwatch.settings import load
from mastwatch.store import Limits

FILE = """
[judge]
model = "of the file"
sample = 0.5
[judge.per_day]
usd = 5
[judge.prices]
input = 1
output = 4
"""


def options(tmp_path: Path, keywords: dict | None = None, **environ: str) -> dict:
    (tmp_path / "mastwatch.toml").write_text(FILE)
    settings = load(keywords or {}, environ=environ, directory=tmp_path)
    assert settings.problems == ()
    return dict(settings.judge_options)


def test_code_beats_variables_beats_the_file_name_by_name(tmp_path) -> None:
    given = options(
        tmp_path,
        {"judge": {"profile": "deep"}},
        MASTWATCH_JUDGE_MODEL="of the variable",
        MASTWATCH_JUDGE_PROFILE="fast",
        MASTWATCH_JUDGE_PROMETHEUS_PORT="9999",
    )
    found = configured(given, {})
    assert (found.model, found.profile, found.sample) == ("of the variable", "deep", 0.5)
    assert found.per_day == Limits(usd=5.0)


@pytest.mark.parametrize(
    ("text", "keywords", "environ", "asked"),
    [
        ("[judge]\nmodel = 'm'\n", {}, {}, ""),
        ("[judge]\nenabled = true\n", {}, {}, "1"),
        ("[judge]\nenabled = false\n", {}, {"MASTWATCH_JUDGE": "1"}, "1"),
        ("judge = 'm'\n", {}, {}, "m"),
        ("", {"judge": {"model": "m"}}, {}, "1"),
        ("", {"judge": {"model": "m", "enabled": False}}, {}, ""),
        ("", {}, {"MASTWATCH_JUDGE": "0"}, ""),
        ("", {}, {"MASTWATCH_JUDGE_MODEL": "m"}, ""),
        ("[judge]\nenabled = true\n", {"judge": False}, {}, ""),
    ],
)
def test_a_table_says_how_and_only_asking_asks(tmp_path, text, keywords, environ, asked) -> None:
    (tmp_path / "mastwatch.toml").write_text(text)
    settings = load(keywords, environ=environ, directory=tmp_path)
    assert settings.problems == ()
    assert settings.judge == asked


def test_texts_of_variables_are_read() -> None:
    found = configured(
        {
            "per_day": "{usd = 2.5, calls = 100}",
            "per_trace": "{tokens = 1000}",
            "prices": "{input = 1, output = 2}",
            "modes": "FM-1.3, FM-2.1",
            "triggers": "outcome sample",
            "concurrency": "8",
            "cache": "no",
        },
        {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
    )
    assert found.per_day == Limits(usd=2.5, calls=100)
    assert found.per_trace == TraceLimits(tokens=1000)
    assert found.modes == ("FM-1.3", "FM-2.1")
    assert found.triggers == ("outcome", "sample")
    assert (found.concurrency, found.cache) == (8, False)
    assert found.base_url == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"modle": "m"}, "modle"),
        ({"profile": "quick"}, "quick"),
        ({"sample": 1.5}, "sample"),
        ({"sample": "nan"}, "sample"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": True}, "concurrency"),
        ({"per_day": {"euro": 1}}, "euro"),
        ({"per_day": {"usd": "five"}}, "per_day"),
        ({"per_day": {"usd": -1}}, "per_day"),
        ({"per_trace": 5}, "per_trace"),
        ({"prices": "{input = "}, "prices"),
        ({"triggers": ["always"]}, "always"),
        ({"severity": "grave"}, "grave"),
        ({"per_day": {"usd": 1}}, "no price"),
        ({"per_trace": {"usd": 1}, "prices": {"input": 1}}, "no price"),
    ],
)
def test_a_mistake_stops_the_judge_and_says_where(given, told) -> None:
    with pytest.raises(BadJudgeSettings, match=told):
        configured(given, {})


def test_nothing_given_is_the_default() -> None:
    assert configured({}, {}) == JudgeSettings()


# What it will take.


async def test_the_lower_figure_is_what_a_sure_model_takes_and_the_upper_an_unsure_one() -> None:
    settings = replace(SETTINGS, profile="default", prices={"input": 1.0, "output": 10.0})
    told = await estimate(trace(), settings)
    assert (told.least.calls, told.most.calls) == (1, 3)
    assert told.least.usd < told.most.usd

    sure = StubModel(looping)
    report = await judge(sure, settings)().judge(trace())
    assert sure.asked == told.least.calls
    # Their names differ, and so does a frame's random word: that is all.
    assert report.usage.planned_tokens == pytest.approx(told.least.input_tokens, rel=0.01)

    unsure = {"verdict": "unsure", "confidence": 0.5, "evidence": [], "why": ""}
    torn = StubModel(lambda ask: verdicts(ask, **dict.fromkeys(_slugs(ask), unsure)))
    report = await judge(torn, settings)().judge(trace())
    assert torn.asked == told.most.calls
    assert report.usage.planned_tokens == pytest.approx(told.most.input_tokens, rel=0.01)


async def test_a_limit_that_would_be_passed_is_named() -> None:
    limits = TraceLimits(calls=1, tokens=None, usd=None)
    assert (await estimate(trace(), replace(SETTINGS, per_trace=limits))).over == ()
    default = replace(SETTINGS, profile="default", per_trace=limits)
    assert (await estimate(trace(), default)).over == ("calls",)


def _slugs(ask) -> list[str]:
    return ask.schema["properties"]["modes"]["required"]
