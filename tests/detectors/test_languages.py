"""Other languages: what a rule finds in English it finds in Chinese, Japanese and mixed texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import mastwatch.signals.phrases as phrase_files
from mastwatch.events import Role
from mastwatch.findings import Severity
from mastwatch.signals import claims
from mastwatch.signals.phrases import (
    COURTESY,
    FAREWELL,
    GREETING,
    INTRODUCTION,
    LANGUAGES,
    LEADS,
    QUESTION,
    REPLAN,
    SUMMARY,
    UNSOLVABLE,
    VERDICT,
    Phrases,
)
from mastwatch.testing import Script, watched

MODE = "FM-2.1"


@dataclass(frozen=True)
class Host:
    """A healthy run in one language, and what it takes to break it.

    Attributes:
        task: What the run is asked to do.
        lead: Messages of the agent that leads; none repeats another.
        worker: Messages of another agent.
        reopened: The lead's first message, worded anew.
        question: What the lead asks a person, and what it is told.
        answer: What it is told.
        plan: How a new plan begins.
        planner: The name of who makes it.
        greeting: How an agent introduces itself.
        summary: A summary of the conversation, short.
    """

    task: str
    lead: tuple[str, ...]
    worker: tuple[str, ...]
    reopened: str
    question: str
    answer: str
    plan: str
    planner: str
    greeting: str
    summary: str


HOSTS = {
    "en": Host(
        task="Find out how many of the berths in the old harbour are free on the first of May, "
        "and write the number into the weekly report for the pilots.",
        lead=(
            "The report needs the number of free berths, so we first have to fetch the list of "
            "all berths in the old harbour from the register.",
            "The list names forty berths; next we need the bookings for the first of May so that "
            "we can cross out those that are taken.",
            "Seventeen are taken. Two more are being repaired according to the harbour office, "
            "which leaves twenty-one.",
            "Please write the figure into the third column of the weekly report and save it.",
            "The report is saved; the pilots get their copy with the evening post.",
        ),
        worker=(
            "Here is the register: berths A1 to D10, each with its depth and its owner.",
            "The booking book shows seventeen entries, most of them sailing boats from abroad.",
            "The office says that B4 and C9 are closed because of the broken fenders.",
            "Column three now says twenty-one.",
        ),
        reopened="The report needs the number of free berths, so let us at first fetch the list "
        "of all berths in the old harbour out of the register again.",
        question="Which harbour do you mean, and for which day do you need the number of berths?",
        answer="I mean the old harbour below the castle, and the first of May.",
        plan="New plan: ",
        planner="coordinator",
        greeting="Hello, I am your assistant for the harbour.",
        summary="Summary of the conversation so far: twenty-one.",
    ),
    "zh": Host(
        task="请查明五月一日旧港还有多少个空闲泊位，并把这个数字写进给引航员的每周报告里。",
        lead=(
            "报告需要空闲泊位的数量，所以我们首先要从登记册中取得旧港所有泊位的清单，再逐一核对。",
            "清单上一共有四十个泊位；接下来需要五月一日的预订记录，以便划掉已经被占用的那些。",
            "已占用的有十七个。港务办公室还说有两个正在维修，因此剩下二十一个可以使用。",
            "请把这个数字填到每周报告的第三栏，然后保存文件并通知值班人员。",
            "报告已经存好，引航员会在晚班邮件里收到他们的那一份副本。",
        ),
        worker=(
            "这是登记册：从甲一到丁十的泊位，每个都注明了水深和所有者的姓名。",
            "预订簿里有十七条记录，大多数是从国外来的帆船，停留两到三天。",
            "办公室说乙四和丙九因为护舷损坏而关闭，下个月才会重新开放。",
            "第三栏现在写的是二十一，字体与其他各栏保持相同。",
        ),
        reopened="报告需要空闲泊位的数量，那么我们首先还是要从登记册中取得旧港全部泊位的清单来核对。",
        question="您指的是哪一个港口，需要哪一天的泊位数量呢",
        answer="我说的是城堡下面的旧港，日期是五月一日。",
        plan="新计划：",
        planner="协调员",
        greeting="大家好，我是您的港口助手。",
        summary="以上对话的摘要：二十一个。",
    ),
    "ja": Host(
        task="五月一日に旧港で空いている停泊場所がいくつあるかを調べ、その数を水先人向けの週報に書き込んでください。",
        lead=(
            "週報には空き停泊場所の数が必要なので、まず登録簿から旧港のすべての停泊場所の一覧を取り寄せます。",
            "一覧には四十か所あります。次に五月一日の予約を調べて、使用中の場所を消していきましょう。",
            "十七か所が使用中です。港湾事務所によるとさらに二か所が修理中なので、残りは二十一か所になります。",
            "この数字を週報の三列目に記入し、保存してから当直の担当者に知らせてください。",
            "週報は保存され、水先人は夕方の便でその写しを受け取ります。",
        ),
        worker=(
            "こちらが登録簿です。甲の一番から丁の十番まで、それぞれ水深と所有者が書かれています。",
            "予約帳には十七件あり、ほとんどは外国から来る帆船で二、三日滞在します。",
            "事務所の話では、乙の四番と丙の九番は防舷材が壊れたため閉鎖されています。",
            "三列目は現在二十一となっていて、書式はほかの列とそろえました。",
        ),
        reopened="週報には空き停泊場所の数が必要ですから、もう一度まず登録簿から旧港のすべての停泊場所の一覧を見ます。",
        question="どちらの港のことで、どの日の停泊場所の数が必要でしょうか",
        answer="城の下にある旧港のことで、日付は五月一日です。",
        plan="新しい計画：",
        planner="統括担当",
        greeting="はじめまして、港の担当をする者です。",
        summary="これまでの会話の要約：二十一か所。",
    ),
    "mixed": Host(
        task="请查明 5 月 1 日 old harbour 还有多少个空闲 berth，并把 number "
        "写进给 pilots 的 weekly report 里。",
        lead=(
            "Weekly report 需要空闲 berth 的数量，所以我们首先要从 register 中 fetch "
            "旧港所有 berth 的 list。",
            "List 上一共有 40 个 berth；接下来需要 May 1 的 booking 记录，"
            "以便 cross out 已经被占用的那些。",
            "已占用的有 17 个。Harbour office 还说有两个 under repair，因此剩下 21 个可以使用。",
            "请把这个 figure 填到 report 的第三栏，然后 save 文件并通知值班的 officer。",
            "Report 已经 saved，pilots 会在 evening mail 里收到他们的那一份 copy。",
        ),
        worker=(
            "这是 register：从 A1 到 D10 的 berth，每个都注明了 depth 和 owner 的姓名。",
            "Booking book 里有 17 条 entry，大多数是从国外来的 sailing boat，停留两到三天。",
            "Office 说 B4 和 C9 因为 fender 损坏而 closed，下个月才会 reopen。",
            "第三栏现在写的是 21，font 与其他各栏保持 the same。",
        ),
        reopened="Weekly report 需要空闲 berth 的数量，那么 first 还是要从 register 中 fetch "
        "旧港全部 berth 的 list。",
        question="您指的是哪一个 harbour，需要哪一天的 berth 数量？",
        answer="我说的是 castle 下面的 old harbour，日期是 May 1。",
        plan="Updated plan：",
        planner="任务协调 agent",
        greeting="您好，我是您的 harbour assistant。",
        summary="Conversation so far 的摘要：21。",
    ),
}
History = list[tuple[Role, str | None]]
Build = Callable[[Host], Script]


def healthy(host: Host) -> Script:
    script = Script().start(host.task).task(host.task)
    for said, done in zip(host.lead, host.worker, strict=False):
        script.say("lead", said).say("worker", done)
    return script.say("lead", host.lead[-1])


def replayed(host: Host, *, anew: bool, follows: bool) -> Script:
    script = healthy(host)
    script.say("lead", host.reopened if anew else host.lead[0])
    return script.say("lead", host.lead[1] if follows else f"{host.worker[0]} {host.lead[4]}")


def reissued(host: Host, *, old: bool) -> Script:
    script = healthy(host).proxy(host.task)
    for text in host.worker[:3] if old else [f"{t[::-1]}" for t in host.worker[:3]]:
        script.say("worker", text)
    return script


def replanned(host: Host, times: int) -> Script:
    script = healthy(host)
    for _ in range(times):
        script.say(host.planner, host.plan + host.task)
        script.say("worker", f"{host.worker[2][::-1]} {script.row}")
    return script


def asked(host: Host, answer: str) -> Script:
    script = Script().start(host.task).task(host.task).say("lead", host.lead[0])
    script.say("clerk", host.question).human(host.answer)
    for text in host.lead[1:]:
        script.say("clerk", text).human(text[:12])
    return script.say("clerk", host.question).human(answer)


def greeted(host: Host) -> Script:
    script = Script().start(host.task).task(host.task)
    for text in (*host.lead, host.greeting):
        script.say("lead", text)
    return script


def dropped(host: Host) -> Script:
    return healthy(host).clears("worker").proxy(host.task)


CASES: list[tuple[str, Build, str]] = [
    ("healthy", healthy, "silent"),
    ("R2 replay", lambda host: replayed(host, anew=False, follows=True), "alert"),
    ("R2 replay, reworded", lambda host: replayed(host, anew=True, follows=True), "alert"),
    ("R2 opening alone", lambda host: replayed(host, anew=False, follows=False), "suspect"),
    ("R3 old actions", lambda host: reissued(host, old=True), "warn"),
    ("R3 new actions", lambda host: reissued(host, old=False), "silent"),
    ("R3 two new plans", lambda host: replanned(host, 2), "warn"),
    ("R3 one new plan", lambda host: replanned(host, 1), "silent"),
    ("R4 same answer", lambda host: asked(host, host.answer), "warn"),
    ("R4 other answer", lambda host: asked(host, host.worker[3]), "suspect"),
    ("R4 greeting", greeted, "suspect"),
    ("R5 history dropped", dropped, "alert"),
]


@pytest.mark.parametrize("language", HOSTS)
@pytest.mark.parametrize(("build", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_messages(build: Build, expected: str, language: str) -> None:
    seen = watched(build(HOSTS[language]).events)
    assert seen.worst(MODE) == expected, seen.findings


def history(host: Host, length: int) -> History:
    said: History = [("assistant", text) for text in (*host.lead, *host.worker)]
    return [("system", host.greeting), ("user", host.task), *said[:length]]


def requests(host: Host, *steps: History) -> Script:
    script = Script().start(host.task)
    for step, text in zip(steps, (*host.lead, *host.worker), strict=False):
        script.asks("lead", *step).say("lead", text)
    return script


CUTS: list[tuple[str, Callable[[Host], list[History]], str]] = [
    ("grown", lambda h: [history(h, 6)], "silent"),
    ("started over", lambda h: [history(h, 0)], "alert"),
    ("no system prompt", lambda h: [history(h, 6)[1:]], "alert"),
    ("no task", lambda h: [history(h, n)[:1] + history(h, n)[2:] for n in (6, 8)], "warn"),
    ("trimmed", lambda h: [history(h, 6)[:1] + history(h, 6)[4:]], "silent"),
    ("summed up", lambda h: [[*history(h, 0), ("assistant", h.summary)]], "silent"),
]


@pytest.mark.parametrize("language", HOSTS)
@pytest.mark.parametrize(("cut", "expected"), [c[1:] for c in CUTS], ids=[c[0] for c in CUTS])
def test_requests(cut: Callable[[Host], list[History]], expected: str, language: str) -> None:
    host = HOSTS[language]
    seen = watched(requests(host, *(history(host, n) for n in (0, 2, 4)), *cut(host)).events)
    assert seen.worst(MODE) == expected, seen.findings


@pytest.mark.parametrize("language", HOSTS)
def test_restart_is_found_where_it_begins(language: str) -> None:
    script = healthy(HOSTS[language])
    row = script.row
    for text in HOSTS[language].lead[:2]:
        script.say("lead", text)
    seen = watched(script.events)
    assert (seen.at(MODE, Severity.SUSPECT), seen.at(MODE, Severity.ALERT)) == (row, row + 1)


@pytest.mark.parametrize(
    ("phrases", "texts"),
    [
        (
            FAREWELL,
            ["Thanks for all!", "感谢您的耐心", "お疲れ様でした", "Vielen Dank", "감사합니다"],
        ),
        (
            VERDICT,
            ["This is correct.", "我同意这个结论", "その通りです", "das stimmt,", "это верно"],
        ),
        (UNSOLVABLE, ["it can't be solved", "信息不足，无法确定", "情報が不足しています"]),
        (REPLAN, ["New plan: go", "重新规划如下", "計画を見直しました", "Nuevo plan"]),
        (SUMMARY, ["The conversation so far", "对话摘要", "これまでの会話", "Zusammenfassung"]),
        (COURTESY, ["Anything else?", "还有什么需要帮忙的吗", "他に何かございますか"]),
        (LEADS, ["Planner", "项目经理", "統括担当", "координатор"]),
    ],
    ids=["farewell", "verdict", "unsolvable", "replan", "summary", "courtesy", "leads"],
)
def test_phrases_are_found_in_their_language(phrases: Phrases, texts: list[str]) -> None:
    assert [text for text in texts if not phrases.within(text.casefold())] == []


def test_phrases_that_open_and_close_a_text() -> None:
    assert GREETING.opens("hello, team")
    assert GREETING.opens("大家好，我们开始吧")
    assert not GREETING.opens("history of the harbour")
    assert INTRODUCTION.opens("i am your pilot")
    assert not INTRODUCTION.opens("i am able to help")
    assert QUESTION.closes("よろしいでしょうか")
    assert not QUESTION.closes("調べました")


@pytest.mark.parametrize(
    "text",
    [
        "the gedanke of this table is a commercial coincidence",
        "我不同意，这个结果不正确，还要再算一遍",
        "第一部分完成了，接下来处理第二部分的数据",
        "ファイルを確認しました。次に表の三列目を計算します。",
        "读取登记册之后，泊位的数量与预订记录不相符",
    ],
)
def test_ordinary_work_is_no_finishing(text: str) -> None:
    assert not VERDICT.within(text)
    assert not FAREWELL.within(text)
    assert not UNSOLVABLE.within(text)


@pytest.mark.parametrize(
    "prompt",
    [
        "When all is done, reply with TERMINATE.",
        "任务完成后请回复“TERMINATE”。",
        "问题解决时以TERMINATE结尾",
        "完了したら「TERMINATE」と返信してください。",
        "Wenn alles erledigt ist, mit TERMINATE antworten.",
        "최종 답을 찾으면 TERMINATE라고 답하세요.",
        "Когда всё готово, напишите TERMINATE",
    ],
)
def test_token_is_mined_from_prompts(prompt: str) -> None:
    assert claims.mine_tokens([prompt]) == ("TERMINATE",)


@pytest.mark.parametrize(
    ("prompt", "token"),
    [
        ("全部解决之后，请回复“任务完成”。", "任务完成"),
        ("問題都解決後，請以「任務結束」結尾。", "任務結束"),
        ("完成所有步骤后只需输出【处理完毕】。", "处理完毕"),
        ("すべて終わったら「完了」と返答してください。", "完了"),
        ("最後に「作業終了。」と出力してください。", "作業終了"),
        ('모두 끝나면 "작업 완료"라고 답하세요.', "작업 완료"),
        ('When all is done, reply with "任务完成".', "任务完成"),
    ],
)
def test_token_in_another_script_is_mined_and_claimed(prompt: str, token: str) -> None:
    assert claims.mine_tokens([prompt]) == (token,)
    for text in (token, f"答案是二十一。{token}", f"21です。\n{token}。", f"**{token}！**"):
        assert claims.claimed_token(text, (token,)) == token, text
    for text in (
        f"最后我会说“{token}”",
        f"これから{token}",
        f"```\n{token}",
        prompt,
        f"还没有{token}",
    ):
        assert claims.claimed_token(text, (token,)) == "", text


@pytest.mark.parametrize(
    "prompt",
    [
        "如果不知道，请回答“不知道”。",
        "任务完成后通知值班人员。",
        "状态为“已完成”的订单不能修改。",
        "没有做完时，请输出“未完成”。",
        "「完了」の欄には日付があります。",
        "请说明“完成”与“结束”在合同里的区别。",
    ],
)
def test_quoted_word_that_ends_nothing_is_no_token(prompt: str) -> None:
    assert claims.mine_tokens([prompt]) == ()


@pytest.mark.parametrize(
    ("prompt", "token"),
    [
        ("全部解决之后，请回复“任务完成”。", "任务完成"),
        ("終わったら「完了」と返答してください。", "完了"),
    ],
)
def test_run_goes_on_after_a_claim_in_another_script(prompt: str, token: str) -> None:
    host = HOSTS["zh" if "复" in prompt else "ja"]
    script = Script().start(host.task, prompts={"lead": prompt}).task(host.task)
    script.say("lead", f"{host.lead[0]}{prompt}").say("worker", host.worker[0])
    script.say("lead", f"{host.lead[2]}\n{token}")
    row = script.row
    seen = watched(script.say("worker", host.worker[1]).say("lead", host.lead[3]).events)
    assert (seen.at("FM-1.5", Severity.WARN), seen.at("FM-1.5", Severity.ALERT)) == (row, row + 1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_file_is_well_formed(language: str) -> None:
    lists = LANGUAGES[language]
    for name, phrases in lists.items():
        assert isinstance(phrases, list), name
        assert all(isinstance(p, str) and p.strip() for p in phrases), name
        assert len(set(phrases)) == len(phrases), f"{name} holds a phrase twice"
        assert phrases == [p.casefold() for p in phrases] or "ß" in "".join(phrases), name
        stems = lists.get(f"{name}_stems")
        missed = [p for p in phrases if stems and not any(stem in p for stem in stems)]
        assert missed == [], f"{name}_stems misses {missed}"


def test_every_list_is_explained() -> None:
    readme = Path(str(phrase_files.__file__)).with_name("README.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`(\w+)`", readme))
    used = {name.removesuffix("_stems") for lists in LANGUAGES.values() for name in lists}
    assert used - explained == set()
