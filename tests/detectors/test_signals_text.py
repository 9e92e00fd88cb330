"""What the cheap questions must not get wrong: novelty by pieces, and near copies."""

from __future__ import annotations

import random

import pytest

from mastwatch.signals.clusters import Clusters, Novelty
from mastwatch.signals.text import digest, length, pieces, start

FORMS = {
    "english": "The pilot number {} reports that the harbour office keeps its chart",
    "one word": "token{}",
    "chinese": "第{}位引航员报告港口办公室保存着海图",
    "russian": "Лоцман номер {} сообщает, что карта лежит в конторе порта",
    "json": '{{"key": {}, "job": "queue", "box": true}}',
}


def written(form: str, first: int, count: int = 40) -> str:
    return " ".join(FORMS[form].format(n * 7919 % 10_007) for n in range(first, first + count))


@pytest.mark.parametrize("form", FORMS)
def test_text_is_old_when_it_comes_again_with_an_edit(form: str) -> None:
    novelty = Novelty()
    text = written(form, 0)
    assert novelty.add(text.encode()) > 0.2
    assert novelty.add((text[:30] + "!edit! " + text[30:]).encode()) < 0.4


def test_ever_new_keys_are_new() -> None:
    novelty = Novelty()
    novelty.add(written("one word", 0).encode())
    assert novelty.add(written("one word", 500).encode()) > 0.9


def test_an_edit_near_the_limit_between_both_ways_of_cutting_keeps_the_text_old() -> None:
    rng = random.Random(7)
    parts = ["quick", "box", "jump", "lazy", "harbour", "stone", "river", "mast", "tide", "over"]
    for _ in range(50):
        words = rng.choices(parts, k=60)
        novelty = Novelty()
        novelty.add(" ".join(words).encode())
        words[rng.randrange(60)] = "kvjkvj"
        assert novelty.add(" ".join(words).encode()) < 0.6


def test_near_copies_are_one_cluster_and_a_long_text_is_cut_in_the_middle() -> None:
    words = [f"{n}th" if n % 3 else f"harbour{n}" for n in range(120)]
    clusters, novelty = Clusters(), Novelty()
    found = []
    for edit in (None, 5, 60, 110):
        text = " ".join("changed" if n == edit else word for n, word in enumerate(words))
        found.append(clusters.add("a", digest(text), text, novelty.add(text.encode())))
    assert [seen for _, seen in found] == [False, True, True, True]
    assert len({cluster for cluster, _ in found}) == 1


@pytest.mark.parametrize("text", ["", " ", "a", "\ud800 lone", "😀" * 2_000, "x" * 50_000])
def test_odd_texts_crash_nothing(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    assert 0.0 <= Novelty().add(raw) <= 1.0
    assert pieces(raw)[1] >= 0
    assert length(text) >= 0
    assert len(start(text, 40)) <= 40
