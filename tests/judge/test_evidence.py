"""Quotes against the run: what stands there is found, what does not is rejected."""

from __future__ import annotations

import random
import time
import unicodedata

import pytest

from judge.runs import nasty_trace, trace
from mastwatch.judge.evidence import MIN_CHARS, Rows, normal
from mastwatch.judge.render import pieces
from mastwatch.judge.replies import Quote, Unreadable
from mastwatch.judge.schema import parse

RUN = trace(
    "The parser fails on empty lines, so I shall fix that first.",
    "All 14 tests pass now.\nThe file is saved as result.csv in the\nfolder out.",
    "価格は一個三百二十円で、送料は含まれません。",
    "| name | value |\n| --- | --- |\n| total | 412 |",
)


def check(index: int | None, text: str) -> tuple[int, str] | None:
    found = Rows(RUN).check(Quote(index, text))
    return None if found is None else (found.message_index, found.status)


def test_a_quote_in_its_row_is_verified() -> None:
    assert check(0, "fails on empty lines") == (0, "verified")


@pytest.mark.parametrize(
    "text",
    [
        "FAILS  on\nempty lines",
        "“fails on empty lines”",
        "ｆａｉｌｓ on empty lines",
        "fa\u200bils on empty lines",
    ],
)
def test_spaces_case_quotation_marks_and_unicode_forms_do_not_matter(text: str) -> None:
    assert check(0, text) == (0, "verified")


def test_bars_that_were_copied_with_it_do_not_matter() -> None:
    found = Rows(RUN).check(Quote(1, "saved as result.csv in the\n| folder out."))
    assert found is not None
    assert (found.status, found.quote) == ("verified", "saved as result.csv in the\nfolder out.")


def test_tables_have_bars_of_their_own() -> None:
    assert check(3, "| name | value |\n| --- | --- |") == (3, "verified")
    assert check(3, "| | name | value |\n| | --- | --- |\n| | total | 412 |") == (3, "verified")


@pytest.mark.parametrize("index", [1, 99, -1, None])
def test_a_wrong_row_is_put_right(index: int | None) -> None:
    assert check(index, "fails on empty lines") == (0, "repaired")


def test_a_slip_of_the_pen_is_repaired_with_the_words_that_stand_there() -> None:
    found = Rows(RUN).check(
        Quote(0, "The parser fails on an empty line, so I shall fix that first")
    )
    assert found is not None
    assert (found.message_index, found.status) == (0, "repaired")
    assert "empty lines" in found.quote


@pytest.mark.parametrize(
    "text",
    [
        "the parser works on all inputs and nothing is to be fixed",
        "fails on",
        "",
        "            ",
        "The parser fails <elided 12 chars> fix that first.",
        "fails on empty lines and 14 tests pass now",
    ],
)
def test_what_does_not_stand_there_is_rejected(text: str) -> None:
    assert check(0, text) is None


def test_scripts_without_spaces_need_fewer_characters() -> None:
    assert check(2, "一個三百二十円") == (2, "verified")
    assert check(2, "一個三百") is None


def test_a_row_that_imitates_an_elision_does_not_hide_behind_it() -> None:
    rows = Rows(trace("I skip <elided 9 chars> the check <elided 9 chars> altogether"))
    found = rows.check(Quote(0, "skip <elided 9 chars> the check"))
    assert found is not None
    assert found.status == "verified"


@pytest.mark.parametrize("seed", range(60))
def test_whatever_was_shown_can_be_quoted(seed: int) -> None:
    rng = random.Random(seed)
    run = nasty_trace(rng)
    rows = Rows(run)
    for piece in pieces(run, 600):
        lines = piece.text.split("\n")[1:]
        first = rng.randrange(len(lines))
        last = rng.randint(first, min(first + 4, len(lines) - 1))
        for text in ("\n".join(lines[first : last + 1]), _without_bars(lines[first : last + 1])):
            shown = text.strip()
            # What counts: enough letters, and no cut inside a letter that is written in two signs.
            letters = normal(shown.strip("\"'“”«»"))
            if len(letters) < MIN_CHARS or unicodedata.combining(shown[0]):
                continue
            found = rows.check(Quote(piece.index, shown))
            assert found is not None, shown
            assert found.message_index == piece.index


def _without_bars(lines: list[str]) -> str:
    return "\n".join(line[2:] for line in lines)


def test_a_liar_cannot_make_us_work_long() -> None:
    line = "the same words over and over with a number at its end "
    run = trace(*(line * 40 for _ in range(400)))
    rows = Rows(run)
    started = time.process_time()
    for n in range(20):
        assert rows.check(Quote(0, f"{n} {line[:30]} zzzzzzzzzzzzzzzz {n} " * 9)) is None
    assert time.process_time() - started < 3


@pytest.mark.parametrize("seed", range(100))
def test_reading_a_reply_never_raises(seed: int) -> None:
    rng = random.Random(seed)
    good = '{"modes": {"a": {"verdict": "present", "confidence": 0.5, "evidence": [{"msg": 1, '
    good += '"quote": "x"}], "why": ""}}, "task_completed": "yes"}'
    text = list(good)
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(text))
        choice = rng.choice(["", "{", "}", '"', "[", "]", ",", ":", "NaN", "1e999", "9" * 5_000,
                             "\ud800", "\x00", "null", "true", "-1", "[" * 3_000])  # fmt: skip
        text[at : at + rng.choice((0, 1, 5))] = choice
    read = parse("".join(text), ["a", "b"])
    assert isinstance(read, Unreadable) or set(read.opinions) <= {"a", "b"}
    for index in ('"9' + "9" * 5_000 + '"', "9" * 5_000, "1e400", '"²"', "-1", "true"):
        parse(good.replace('"msg": 1', f'"msg": {index}'), ["a"])
