"""Termination rules fire where they should: chatter after the solution, contract checks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mastwatch.events import Contract
from mastwatch.findings import Severity
from mastwatch.testing import Script, watched

MODE = "FM-1.5"
TASK = "There are 12 berths north and 19 south; how many are there in both moles?"
ENGLISH = (
    "Both ways give 31 berths, which answers what was asked of us here.",
    "That makes 31 berths in all, and I came to it just the same.",
    "So the harbour has its 31 berths, a pleasure to have counted with you.",
    "Our harbour can take 31 boats then, and everybody knows where.",
)
CHINESE = (
    "两种算法都得到三十一个泊位,也就是31个,和题目要求的一致。",
    "我自己也数过一遍,两个码头一共是31个泊位,没有问题。",
    "所以这个港口总共有31个泊位,感谢各位的努力与配合。",
    "大家的结论都是31个泊位,这件事情可以算是办完了。",
)
JAPANESE = (
    "どちらの方法でも合計は31隻分となり、求められた通りの数です。",
    "私の方でも数え直しましたが、両方で31隻分になりました。",
    "つまりこの港には31隻分の場所があるということですね。",
    "みなさんの計算結果も31で、同じ数にそろいました。",
)
FINNISH = (  # a language without phrase lists
    "Molemmat tavat antavat 31 paikkaa, mika vastaa kysymykseen hyvin.",
    "Laskin ne viela itse, ja paikkoja on yhteensa 31 kahdella laiturilla.",
    "Satamassa on siis 31 paikkaa, kiitokset kaikille taman laskemisesta.",
    "Tulos on kaikilla sama eli 31, ja tyo on nyt tehty valmiiksi asti.",
)


def solved(task: str = TASK) -> Script:
    """The solver has a number, the executor's code gives it, too."""
    script = Script().start(task).task(task)
    script.say("solver", "12 and 19 make 31 berths in both moles.")
    return script.call("run_code", {"code": "print(12 + 19)"}, "31", agent="executor")


def chat(speakers: str, lines: Sequence[str], script: Script | None = None) -> Script:
    script = script or solved()
    for n, speaker in enumerate(speakers):
        script.say(
            {"s": "solver", "e": "executor", "v": "verifier"}[speaker], lines[n % len(lines)]
        )
    return script


@pytest.mark.parametrize(
    ("task", "lines"),
    [
        (TASK, ENGLISH),
        ("北码头有12个泊位，南码头有19个，两个码头一共有多少个泊位？", CHINESE),
        ("北の桟橋に12隻、南に19隻の場所があります。合わせて何隻分ですか。", JAPANESE),
        ("Pohjoisessa on 12 paikkaa ja etelassa 19, montako niita on?", FINNISH),
    ],
    ids=["English", "Chinese", "Japanese", "Finnish"],
)
def test_chatter_warns_at_the_fourth_message_while_the_floor_stays(
    task: str, lines: Sequence[str]
) -> None:
    """Rows: 0 task, 1 solution, 2 result, 3 to 6 say it again, two by two."""
    seen = watched(chat("eess", lines, solved(task)).events)
    assert (seen.at(MODE, Severity.SUSPECT), seen.at(MODE, Severity.WARN)) == (5, 6)
    assert seen.episodes(MODE) == 1


def test_chatter_that_goes_round_warns_at_the_tenth() -> None:
    seen = watched(chat("sevsevsevsev", ENGLISH).events)
    assert (seen.at(MODE, Severity.SUSPECT), seen.at(MODE, Severity.WARN)) == (6, 12)


def test_confirmation_by_each_in_turn_is_silent() -> None:
    script = chat("sev", ENGLISH).say("verifier", r"SOLUTION_FOUND \boxed{31}").end()
    assert watched(script.events).worst(MODE) == "silent"


def test_answer_in_due_form_ends_the_chatter() -> None:
    """Three by two agents are suspected; the fourth, which would have warned, is the answer."""
    script = chat("ees", ENGLISH).say("solver", r"SOLUTION_FOUND \boxed{31}").end()
    assert watched(script.events).worst(MODE) == "suspect"


@pytest.mark.parametrize(
    "line",
    [
        "Shall we have the 31 berths checked by somebody who was there?",
        "The sum is 12 + 19 = 31, which I have written down step by step.",
        "The code gives 31 berths: `print(12 + 19)` is what I have run.",
    ],
    ids=["question", "formula", "code"],
)
def test_chatter_with_something_in_it_stays_suspect(line: str) -> None:
    assert watched(chat("eessee", [line, *ENGLISH[:1]]).events).worst(MODE) == "suspect"


def test_requests_that_restate_no_outcome_stay_suspect() -> None:
    """Agents that look for something say the numbers of the task over and over."""
    script = Script().start(TASK).task(TASK).call("open", {"page": 1}, "A page of 877 words.")
    asks = [
        "Please look for the 12 berths of the northern mole in the harbour book.",
        "Please open the chapter on moles, where the 12 berths should be listed.",
        "Please go down to where the southern mole with its 19 berths begins.",
        "Please look the 19 berths up in the list of the harbour master instead.",
    ]
    assert watched(chat("eessees", asks, script).events).worst(MODE) == "suspect"


def test_outcome_said_again_by_its_own_author_is_no_agreement() -> None:
    script = Script().start(TASK).task(TASK).say("executor", "Let us look at both moles first.")
    script.say("solver", "12 and 19 make 31 berths in both moles.")
    assert watched(chat("sssss", FINNISH, script).events).worst(MODE) == "suspect"


def test_one_agent_alone_has_nobody_to_agree_with() -> None:
    script = Script().start(TASK).task(TASK)
    script.call("run_code", {"code": "print(12 + 19)"}, "31", agent="executor")
    assert watched(chat("eeeee", ENGLISH, script).events).worst(MODE) == "suspect"


def test_new_number_tool_or_person_ends_the_count() -> None:
    for n in range(3):
        script = chat("es", ENGLISH)
        if n == 0:
            script.say("verifier", "There is a third mole, with 7 berths of its own.")
        elif n == 1:
            script.call("run_code", {"code": "print(31)"}, "31", agent="executor")
        else:
            script.human("Are you quite sure?")
        assert watched(chat("es", ENGLISH[2:], script).events).worst(MODE) == "silent"


def test_chatter_of_withheld_text_is_silent() -> None:
    script = solved()
    for n in range(12):
        script.say("es"[n // 2 % 2], None)
    assert watched(script.events).worst(MODE) == "silent"


CONTRACT = Contract(tokens=("ALL_COUNTED",), max_messages=20)


def told(script: Script) -> list[tuple[str, str]]:
    return [(notice.name, notice.key) for notice in watched(script.events).notices]


def counted(
    prompt: str = "You count.", *, task: str = TASK, contract: Contract = CONTRACT
) -> Script:
    script = Script().start(task, contract=contract, prompts={"solver": prompt} if prompt else {})
    return script.task(task)


@pytest.mark.parametrize(
    "script",
    [
        counted("You count. At the end write ALL_COUNTED.").say("solver", ENGLISH[0]),
        counted("You count. End with all_counted").say("solver", ENGLISH[0]),
        counted(task=f"{TASK} Then say ALL_COUNTED.").say("solver", ENGLISH[0]),
        counted().human("Say ALL_COUNTED at the end.").say("solver", ENGLISH[0]),
        counted().system("Say ALL_COUNTED at the end.").say("solver", ENGLISH[0]),
        counted().say("solver", "There are 31. ALL_COUNTED"),
        counted(prompt="").say("solver", ENGLISH[0]),  # prompts are not known
        counted().say("pilot", ENGLISH[0]),  # nor is that of the agent that speaks
        counted(contract=Contract(max_messages=20)).say("solver", ENGLISH[0]),
        counted(),  # nobody has spoken yet
    ],
    ids=[
        "prompt", "case", "task", "person", "system line", "said", "no prompts",
        "other agent", "no token", "nobody spoke",
    ],
)  # fmt: skip
def test_token_that_somebody_may_know_of_is_no_notice(script: Script) -> None:
    assert told(script.say("solver", ENGLISH[1]) if script.row > 1 else script) == []


def test_token_that_no_prompt_asks_for_is_a_notice_once() -> None:
    script = counted()
    for line in ENGLISH:
        script.say("solver", line)
    assert told(script) == [("contract_mismatch", "unasked")]
    notice = watched(script.events).notices[0]
    assert (notice.message_index, notice.severity.label) == (1, "info")
    assert "ALL_COUNTED" not in notice.explanation


def test_prompt_that_asks_for_another_token_is_one_notice_only() -> None:
    script = counted("When all is counted, reply TERMINATE.").say("solver", ENGLISH[0])
    assert told(script.say("solver", ENGLISH[1])) == [("contract_mismatch", "0")]


@pytest.mark.parametrize("uncapped", [True, False])
def test_run_without_cap_is_a_notice_where_that_is_known(uncapped: bool) -> None:
    contract = Contract(source="GroupChat.max_round", uncapped=uncapped)
    script = counted(contract=contract).say("solver", ENGLISH[0])
    notices = watched(script.events).notices
    assert [(n.name, n.message_index) for n in notices] == [("no_turn_cap", -1)] * uncapped
    assert all("GroupChat.max_round" in notice.explanation for notice in notices)


@pytest.mark.parametrize(
    ("nag", "replies"),
    [
        (
            "Please go on until you have an answer to the question.",
            ["My answer stands, whatever else is asked.", "There is nothing further I could tell."],
        ),
        (
            "请继续，直到你对这个问题有了答案为止。",
            ["我没有什么要补充的，前面那段话就是全部。", "结论不变，后面也不会再有别的内容。"],
        ),
        (
            "この質問の答えが出るまで続けてください。",
            [
                "これ以上お伝えする内容は手元にございません。",
                "付け加えることは特になく、答えは前の通り。",
            ],
        ),
    ],
    ids=["English", "Chinese", "Japanese"],
)
def test_partner_whose_answer_stands_is_nagged_in_any_words(nag: str, replies: list[str]) -> None:
    script = Script().start("?").task("?")
    for reply in (*replies, *replies[:1]):
        script.proxy(nag).say("writer", reply)
    seen = watched(script.events)
    assert seen.at(MODE, Severity.WARN) == 5, seen.findings


MIXED_PARTS = [
    "Weekly report 的 section 一写的是码头：北侧有石阶，潮水退去以后可以看见旧铁链。",
    "Weekly report 的 section 二讲的是灯塔：守塔人每晚点灯，雾天还要敲钟提醒渔船。",
    "Weekly report 的 section 三谈到市场：清晨卖鱼，午后换成布匹、茶叶和陶器。",
    "Weekly report 的 section 四记下船坞：木匠修补龙骨，学徒负责熬制沥青。",
]
MIXED_STUCK = [
    "Weekly report 的 section 已经全部写好，没有别的内容可以加进去，请您查看。",
    "全部 section 已经写好，weekly report 里没有别的内容可以再加进去，请您查看。",
    "请您查看 weekly report，全部的 section 都已写好，没有别的内容可以加。",
]


@pytest.mark.parametrize(("parts", "level"), [(MIXED_PARTS, "suspect"), (MIXED_STUCK, "warn")])
def test_new_work_in_a_mixed_text_is_told_by_all_its_words(parts: list[str], level: str) -> None:
    """The English words of both are the same each time; the Chinese ones tell work from none."""
    task = "写一份关于港口的 weekly report，分成几个 section。"
    script = Script().start(task).task(task)
    for part in parts:
        script.say("writer", part).proxy(
            "请继续写 weekly report 的下一个 section，直到全部结束为止。"
        )
    assert watched(script.events).worst(MODE) == level
