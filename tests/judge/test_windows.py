"""Long runs in parts: every row is shown whole somewhere, and every part fits."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from judge.runs import nasty_trace, row, trace
from mastwatch.judge.windows import OVERLAP, Window, around, coverage, plan, tokens
from mastwatch.store import Trace
from mastwatch.store.build import build

LONG = "one more word of this long message, "


def size(window: Window) -> int:
    return tokens(window.about) + tokens(window.outline) + tokens(window.rows)


def long_trace(rows: int = 60, words: int = 20, text: str = LONG) -> Trace:
    return trace(*(f"{n}: {text * words}" for n in range(rows)))


def test_a_run_that_fits_is_one_window_without_an_outline() -> None:
    (window,) = plan(trace("a", "b"), 5_000)
    assert window.outline == ""
    assert [piece.index for piece in window.pieces] == [0, 1]


def test_a_long_run_is_cut_and_nothing_is_lost() -> None:
    run = long_trace()
    windows = plan(run, 4_000)
    assert len(windows) > 1
    assert coverage(run, windows) == 1.0
    assert all(size(window) <= 4_000 for window in windows)
    assert all("[#59 " in window.outline for window in windows)


def test_neighbouring_windows_share_two_rows() -> None:
    windows = plan(long_trace(words=5), 4_000)
    for one, other in pairwise(windows):
        assert one.pieces[-OVERLAP:] == other.pieces[:OVERLAP]


@pytest.mark.parametrize("text", [LONG, "漢字かな交じり文です。", "😀🎉", "a\n" * 30, "é" * 40])
def test_windows_fit_in_any_script(text: str) -> None:
    run = trace(*(text * 60 for _ in range(40)))
    for budget in (2_500, 8_000):
        windows = plan(run, budget)
        assert coverage(run, windows) == 1.0
        assert max(map(size, windows)) <= budget


def test_a_row_longer_than_a_window_comes_in_parts_that_overlap() -> None:
    text = " ".join(f"word{n}" for n in range(20_000))
    run = trace("before it", text, "after it")
    windows = plan(run, 5_000)
    parts = {p.part: p for w in windows for p in w.pieces if p.index == 1}
    assert len(parts) == parts[1].parts > 5
    assert "part 2 of" in parts[2].text
    assert coverage(run, windows) == 1.0
    shown = " ".join(p.text for _, p in sorted(parts.items()))
    assert all(f"word{n} " in f"{shown} " for n in range(0, 20_000, 997))


def test_coverage_counts_only_rows_seen_whole_and_rows_never_kept() -> None:
    run = trace("before it", LONG * 2_000, "after it")
    windows = plan(run, 5_000)
    assert coverage(run, windows[:1]) == pytest.approx(1 / 3)
    assert coverage(Trace(run_id="r", rows=run.rows, left_out=3), windows) == 0.5
    assert coverage(Trace(run_id="r"), []) == 0.0


def test_a_model_that_counts_more_tokens_gets_smaller_windows() -> None:
    run = long_trace()
    assert len(plan(run, 6_000, 2.0)) > len(plan(run, 6_000))
    for window in plan(run, 6_000, 2.0):
        assert 2 * size(window) <= 6_100


def test_around_shows_the_rows_of_interest_and_their_neighbours() -> None:
    run = long_trace()
    whole = plan(run, 4_000)[0]
    shown = [piece.index for piece in around(run, [30], whole, 4_000).pieces]
    assert 30 in shown
    assert shown == list(range(shown[0], shown[-1] + 1))
    assert shown[0] < 30 < shown[-1]


def test_around_shows_something_even_without_room() -> None:
    run = long_trace()
    whole = plan(run, 4_000)[0]
    assert around(run, [30], whole, 10).pieces


@pytest.mark.parametrize("seed", range(60))
def test_whatever_a_run_holds_it_is_shown_whole(seed: int) -> None:
    rng = random.Random(seed)
    run = nasty_trace(rng, 60)
    for budget in (1_000, 3_000, 100_000):
        assert coverage(run, plan(run, budget, rng.choice((1.0, 1.7)))) == 1.0


def test_very_long_runs_have_an_outline_of_beginning_and_end() -> None:
    run = Trace(run_id="r", rows=tuple(row(n, "a", "some words here") for n in range(5_000)))
    window = plan(run, 4_000)[3]
    assert "rows are left out of this outline" in window.outline
    assert window.outline.startswith("[#0 a reply]")
    assert "[#4999 a reply]" in window.outline


@pytest.mark.slow
def test_all_recorded_runs_are_covered(traces: Path) -> None:
    """Every tenth of each file, and all that are longer than 200,000 characters."""
    from mastwatch.formats import RecordedRun, read_runs

    seen = longest = 0
    for file in sorted((traces / "dev").glob("*.jsonl.gz")):
        for number, run in enumerate(r for r in read_runs(file) if isinstance(r, RecordedRun)):
            made = build(run.id, run.events)
            chars = sum(len(r.text or "") for r in made.rows)
            if number % 10 and chars < 200_000:
                continue
            seen, longest = seen + 1, max(longest, chars)
            windows = plan(made, 24_000)
            assert coverage(made, windows) == 1.0, run.id
            assert max(map(size, windows)) <= 24_000, run.id
    assert seen > 50
    assert longest > 300_000
