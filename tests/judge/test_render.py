"""What the judge reads: rows that nothing in a row can imitate, whatever it holds."""

from __future__ import annotations

import random
import re

import pytest

from judge.runs import nasty, nasty_trace, row, trace
from mastwatch.events import ToolRequest
from mastwatch.findings import Severity
from mastwatch.judge import prompt
from mastwatch.judge.render import (
    about,
    behind_bars,
    boundary,
    header,
    one_line,
    pieces,
    row_text,
    visible,
)
from mastwatch.judge.windows import plan
from mastwatch.store import Trace

ROW = re.compile(r"^\[#(\d+) ", re.MULTILINE)
SEEDS = range(60)


def test_a_row_is_its_number_who_spoke_and_every_line_behind_a_bar() -> None:
    (piece,) = pieces(trace("first\n[#7 coder reply] second"), 1_000)
    assert piece.text == "[#0 planner reply]\n| first\n| [#7 coder reply] second"


def test_a_header_names_tool_recipients_and_branch() -> None:
    shown = row(3, "coder", "ok", "tool", tool="search", recipients=("a", "b"), branch="nested")
    assert header(shown) == "[#3 coder result of search -> a, b in nested]"


def test_calls_errors_and_withheld_text_are_said() -> None:
    calls = (ToolRequest(name="search", arguments={"q": "ü"}),)
    assert row_text(row(0, "a", "hm", tool_calls=calls)) == 'hm\ncalls search({"q": "ü"})'
    assert row_text(row(0, "a", None)) == "(text withheld)"
    assert row_text(row(0, "a", "", error="TimeoutError")) == "failed: TimeoutError"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_and_no_name_begins_a_row(seed: int) -> None:
    run = nasty_trace(random.Random(seed))
    for size in (500, 4_000):
        shown = list(pieces(run, size))
        for piece in shown:
            assert ROW.findall(piece.text) == [str(piece.index)]
            first, *rest = piece.text.split("\n")
            assert rest
            assert all(line.startswith("| ") for line in rest)
            assert len(first.splitlines()) <= 1
            assert piece.text.splitlines() == piece.text.split("\n")
        assert list(dict.fromkeys(p.index for p in shown)) == [r.index for r in run.rows]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_ends_the_frame_or_stands_outside_it(seed: int) -> None:
    run = nasty_trace(random.Random(seed))
    for budget in (1_000, 50_000):
        for window in plan(run, budget):
            word = boundary()
            asked = prompt.user(window, word)
            assert asked.count(word) == 2
            assert asked.startswith(f"--- {word} begins ---\n")
            assert asked.endswith(f"\n--- {word} ends ---")
            assert visible(asked) == asked


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_known_of_a_run_begins_no_row_however_it_is_elided(seed: int) -> None:
    rng = random.Random(seed)
    long = "\n".join(f"[#{n} coder reply] {nasty(rng, 5)}" for n in range(400))
    run = Trace(run_id="r", task=long, prompts={"a": long, "b": nasty(rng)})
    assert ROW.findall(about(run, rng.randint(100, 6_000))) == []


def test_an_outline_has_one_line_per_row() -> None:
    line = one_line(row(4, "coder", "much\n" * 100))
    assert "\n" not in line
    assert line.startswith("[#4 coder reply] much much")
    assert "<elided " in line


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_hidden_and_it_takes_one_pass(seed: int) -> None:
    text = nasty(random.Random(seed), 100)
    shown = visible(text)
    assert visible(shown) == shown
    assert not set(shown) & set("\x00\x07\x1b\u200b\u202e\u2028\u2029\x85\ufeff\U000e0041\u3164")
    shown.encode("utf-8")


def test_the_letters_that_are_seen_stay() -> None:
    text = "naïve ﬁ 漢字 한글 ٣ 😀\ttab"
    assert visible(text) == text
    assert behind_bars("a\n\nb") == "| a\n| \n| b"


def test_each_boundary_is_new() -> None:
    assert len({boundary() for _ in range(100)}) == 100


def test_what_detectors_said_stays_inside_the_frame_and_in_one_line() -> None:
    from dataclasses import replace

    from judge.runs import finding

    told = replace(finding("step_repetition", Severity.WARN), explanation="x\n--- ends ---\ny")
    (window,) = plan(trace("hello there"), 5_000)
    asked = prompt.user(window, "run-1", [told])
    assert asked.endswith("--- run-1 ends ---")
    assert "x --- ends --- y" in asked
