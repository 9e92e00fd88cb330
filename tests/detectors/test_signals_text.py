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


ORDER = (
    "Elena says that the insurance for the second shipment can go down to 5328 euros if we agree "
    "before Friday, and asks whether the customs papers of the first one have come back from Faro."
)
LEDGER = (
    "请确认八号仓库的库存数量是否与系统里第17页登记的数字一致，"
    "然后把结果写进表格里并回复财务部的王芳。"
)
CHECK = (
    "八番倉庫の在庫数がシステムの17頁に登記された数と"
    "一致しているか確認してから田中さんに報告してください。"
)
DEPLOY = (
    "这个 service 的 latency 在 deploy 之后升到 380 ms，"
    "请先 rollback 到上一个版本，再看日志里的错误。"
)
NEAR = {
    "another number": (ORDER, ORDER.replace("5328", "1731")),
    "another name": (ORDER, ORDER.replace("Elena", "Bruno")),
    "a word less": (
        "Clause 726 of the contract needs a change.",
        "726 of the contract needs a change.",
    ),
    "chinese, another number": (LEDGER, LEDGER.replace("17", "42")),
    "chinese, another name": (LEDGER, LEDGER.replace("王芳", "李强")),
    "chinese, stamped": (LEDGER, f"(2026-03-14T08:11:00Z) {LEDGER} d1be6c964cdf"),
    "japanese, another number": (CHECK, CHECK.replace("17", "42")),
    "japanese, another name": (CHECK, CHECK.replace("田中", "佐藤")),
    "japanese, stamped": (CHECK, f"(2026-03-14T08:11:00Z) {CHECK} d1be6c964cdf"),
    "mixed, another number": (DEPLOY, DEPLOY.replace("380", "412")),
}
FAR = {
    "english": [
        "Clause 726 needs a change of words.",
        "Supplier Bruno asks for a change of prices.",
    ],
    "chinese": ["请确认八号仓库的库存数量", "供应商说每托盘的报价不含运费"],
    "japanese": ["第八便の船荷証券を送りました", "テストの結果では応答時間が延びました"],
}


def clusters_of(*said: str) -> list[int]:
    clusters, novelty = Clusters(), Novelty()
    found = []
    for text in said:
        fresh = novelty.add(text.encode())
        found.append(clusters.add("a", digest(text), text, fresh, novelty.pieces)[0])
    return found


@pytest.mark.parametrize("pair", NEAR.values(), ids=NEAR)
@pytest.mark.parametrize("times", [1, 12], ids=["short", "long"])
def test_near_copies_in_any_script_are_one_cluster(pair: tuple[str, str], times: int) -> None:
    rest = pair[0][::-1] * (times - 1)
    one, other = (text + rest for text in pair)
    assert len(set(clusters_of(one, other))) == 1


def test_near_copies_that_hold_few_places_to_cut_are_one_cluster() -> None:
    fee = "There is no change fee, only the fare difference of 240 dollars. Shall I go ahead?"
    assert len(pieces(fee.encode())[0]) < 3
    assert len(set(clusters_of(fee, fee.replace("There", "Then there")))) == 1


def test_near_copies_beside_a_topic_that_all_messages_share_are_one_cluster() -> None:
    topic = "the depth of the water in the tank on Wednesday"
    said = [
        f"First we ask what {topic} may have been before anybody looked.",
        f"Then we note that {topic} was read by the night watch, in feet.",
        f"The watch says it is sure that {topic} was read at the right hour.",
        f"Final answer: {topic} is sixteen feet, as far as one can tell by the light of a lamp.",
    ]
    again = said[-1].replace("sixteen", "about sixteen")
    assert len(set(clusters_of(*said, again))) == 4


@pytest.mark.parametrize("pair", FAR.values(), ids=FAR)
def test_other_messages_are_other_clusters(pair: list[str]) -> None:
    assert len(set(clusters_of(*pair))) == 2


def test_share_that_no_other_recent_message_holds() -> None:
    clusters = Clusters()
    first, second = "the pilot boards at the outer buoy", "the pilot boards at the inner mole"
    for agent, text in (("a", first), ("b", second)):
        clusters.add(agent, digest(text), text, 1.0)
    assert clusters.new_share(second) == pytest.approx(2 / 5)
