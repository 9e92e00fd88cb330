"""Thresholds and rules: what they match, what they change, and what becomes of mistakes in them."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from mastwatch import registry
from mastwatch.allowances import allow
from mastwatch.detector import Detector
from mastwatch.events import MessageSent, RunFinished, RunStarted
from mastwatch.findings import Severity
from mastwatch.policy import Policy
from mastwatch.sink import Sink
from mastwatch.watch import Watch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TODAY = date(2026, 6, 1)
REASON = "polls on purpose"


class Again(Detector):
    """Counts "again": suspect from ``suspect``, warn from ``warn``, alert from ``alert`` times."""

    mode = "FM-1.3"
    name = "again"

    def __init__(self, *, suspect: int = 1, warn: int = 2, alert: int = 3, share: float = 0.5):
        if alert < 0:
            raise ValueError("alert must not be negative")
        self.limits = (suspect, warn, alert)
        self.share = share
        self.counts: dict[str, int] = {}

    def observe(self, event, signals):
        if not isinstance(event, MessageSent) or "again" not in event.text:
            return None
        count = self.counts[event.sender] = self.counts.get(event.sender, 0) + 1
        reached = sum(count >= limit for limit in self.limits)
        if "notice" in event.text:
            return self.notice(
                "many", signals, explanation="", key=str(self.limits), agent=event.sender
            )
        if not reached:
            return None
        return self.finding(
            Severity(reached + 1),
            signals,
            key="again",
            agent=event.sender,
            evidence=(event.index,),
            explanation=f"{count} times",
            tool=event.text.partition("tool=")[2],
        )


class Quiet(Detector):
    mode = "FM-1.5"
    name = "quiet"

    def __init__(self, *, warn: int = 9, flag: bool = False) -> None:
        self.warn = warn

    def observe(self, event, signals):
        return None


class Recorder(Sink):
    def __init__(self) -> None:
        self.findings, self.suppressed, self.notices = [], [], []

    def on_finding(self, finding):
        self.findings.append(finding)

    def on_notice(self, notice):
        self.notices.append(notice)

    def on_suppressed(self, finding, by, reason):
        self.suppressed.append((finding.severity.label, by, reason))

    def levels(self, agent="A"):
        return [f.severity.label for f in self.findings if f.agent == agent]


def policy(*rules, thresholds=None, today=TODAY, **more) -> Policy:
    return Policy(thresholds or {}, rules, [Again, Quiet], today=lambda: today, **more)


def run(policy, *, agents=("A",), times=4, framework="fw", text="again", **more) -> Recorder:
    recorder = Recorder()
    watch = Watch([Again, Quiet], [recorder], policy=policy)
    watch.publish(RunStarted(run_id="r", framework=framework))
    index = 0
    for turn in range(times):
        for agent in agents:
            said = MessageSent(run_id="r", index=index, sender=agent, text=f"{turn} {text}", **more)
            watch.publish(said)
            index += 1
    recorder.state = watch.runs.active()[0]
    recorder.lanes = [len(lane.detectors) for lane in recorder.state.lanes.values()]
    return recorder


@pytest.mark.parametrize(
    ("keys", "matched"),
    [
        ({"mode": "FM-1.3"}, True),
        ({"mode": "step_repetition"}, True),
        ({"mode": "FM-1.*"}, True),
        ({"mode": ["FM-2.1", "FM-1.3"]}, True),
        ({"mode": "FM-1.5"}, False),
        ({"detector": "ag*"}, True),
        ({"detector": "quiet"}, False),
        ({"agent": "Poller*"}, True),
        ({"agent": "poller*"}, False),
        ({"agent": ["Clerk", "Poller ?"]}, True),
        ({"agent": "Poll"}, False),
        ({"tool": "poll_*"}, True),
        ({"tool": "search"}, False),
        ({"framework": "autogen"}, True),
        ({"framework": "lang*"}, False),
        ({"mode": "FM-1.3", "agent": "Poller*", "tool": "search"}, False),
        ({"mode": "FM-1.3", "agent": "Poller*", "tool": "poll_queue"}, True),
    ],
)
def test_all_keys_given_must_match(keys, matched) -> None:
    made = policy({**keys, "severity": "suspect"})
    assert made.problems == ()
    found = made.rule_for("FM-1.3", "again", "Poller 1", "poll_queue", "autogen")
    assert (found is not None) is matched


def test_a_name_with_brackets_matches_itself() -> None:
    made = policy({"agent": "worker[1]", "severity": "info"})
    assert made.rule_for("FM-1.3", "again", "worker[1]", "", "autogen") is not None


def test_the_first_match_wins() -> None:
    made = policy(
        {"agent": "A", "severity": "suspect"}, {"mode": "FM-1.3", "ignore": True, "reason": REASON}
    )
    recorder = run(made, agents=("A", "B"))
    assert recorder.levels("A") == ["suspect"]
    assert recorder.levels("B") == []
    assert recorder.suppressed == [
        ("suspect", "ignore", REASON), ("warn", "ignore", REASON), ("alert", "ignore", REASON),
    ]  # fmt: skip


def test_without_rules_all_levels_come() -> None:
    assert run(None).levels() == ["suspect", "warn", "alert"]
    assert run(policy()).levels() == ["suspect", "warn", "alert"]


def test_a_capped_finding_that_rises_is_no_second_one() -> None:
    recorder = run(policy({"mode": "FM-1.3", "severity": "warn"}))
    assert recorder.levels() == ["suspect", "warn"]
    assert recorder.state.worst is Severity.WARN


def test_an_ignored_finding_counts_once_per_rise_and_does_not_touch_the_run() -> None:
    recorder = run(policy({"mode": "FM-1.3", "ignore": True, "reason": REASON}), times=8)
    assert recorder.findings == []
    assert [level for level, _, _ in recorder.suppressed] == ["suspect", "warn", "alert"]
    assert recorder.state.worst is None


def test_a_loop_that_outlives_its_allowance_is_news() -> None:
    recorder = Recorder()
    watch = Watch([Again], [recorder])
    with allow("FM-1.3", reason=REASON):
        for i in range(3):
            watch.publish(MessageSent(run_id="r", index=i, sender="A", text=f"again {i}"))
    assert recorder.findings == []
    watch.publish(MessageSent(run_id="r", index=3, sender="A", text="again 3"))
    assert recorder.levels() == ["alert"]


@pytest.mark.parametrize(
    ("today", "levels"),
    [(date(2026, 12, 31), []), (date(2027, 1, 1), ["suspect", "warn", "alert"])],
)
def test_an_ignore_holds_through_its_last_day(today, levels) -> None:
    rule = {"mode": "FM-1.3", "ignore": True, "reason": REASON, "expires": date(2026, 12, 31)}
    made = policy(rule, today=today)
    assert run(made).levels() == levels
    assert len(made.problems) == (1 if levels else 0)


def test_a_rule_that_expires_while_the_process_runs_is_told_once(caplog) -> None:
    day = [TODAY]
    rule = {"mode": "FM-1.3", "ignore": True, "reason": REASON, "expires": "2026-06-30"}
    made = Policy({}, [rule], [Again], today=lambda: day[0])
    assert run(made).levels() == []
    day[0] = date(2026, 7, 1)
    assert run(made).levels() == ["suspect", "warn", "alert"]
    assert caplog.text.count("expired on 2026-06-30") == 1


def test_thresholds_by_detector_and_by_mode() -> None:
    by_name = policy(thresholds={"again": {"warn": 3, "alert": 9}})
    by_mode = policy(thresholds={"FM-1.3": {"warn": 3, "alert": 9}})
    both = policy(thresholds={"again": {"warn": 3}, "FM-1.3": {"warn": 4, "alert": 9}})
    for made in (by_name, by_mode, both):
        assert made.problems == ()
        recorder = run(made)
        assert recorder.levels() == ["suspect", "warn"]
        assert recorder.findings[-1].message_index == 2
    assert both.origins["again", "warn"] == "thresholds.again.warn"
    assert both.origins["again", "alert"] == 'thresholds."FM-1.3".alert'


def test_thresholds_of_one_agent_leave_the_others_alone() -> None:
    rule = {"mode": "FM-1.3", "agent": "A", "thresholds": {"warn": 4, "alert": 9}}
    recorder = run(policy(rule), agents=("A", "B"))
    assert recorder.levels("A") == ["suspect", "warn"]
    assert recorder.levels("B") == ["suspect", "warn", "alert"]
    assert [f.message_index for f in recorder.findings if f.agent == "A"] == [0, 6]
    assert recorder.lanes == [3]  # Again twice, Quiet once


def test_thresholds_of_a_tool() -> None:
    made = policy({"tool": "poll*", "thresholds": {"suspect": 4, "warn": 5, "alert": 6}})
    assert run(made, text="again tool=poll_queue").levels() == ["suspect"]
    assert run(made, text="again tool=search").levels() == ["suspect", "warn", "alert"]


def test_thresholds_of_a_framework_choose_and_double_nothing() -> None:
    made = policy({"framework": "fw", "thresholds": {"alert": 9}})
    matching, other = run(made), run(made, framework="other")
    assert (matching.levels(), matching.lanes) == (["suspect", "warn"], [2])
    assert (other.levels(), other.lanes) == (["suspect", "warn", "alert"], [2])


def test_a_rule_before_the_frameworks_keeps_the_general_thresholds() -> None:
    made = policy(
        {"agent": "A", "severity": "warn"}, {"framework": "fw", "thresholds": {"alert": 9}}
    )
    recorder = run(made, agents=("A", "B"))
    assert recorder.levels("A") == ["suspect", "warn"]
    assert [f.message_index for f in recorder.findings if f.agent == "A"] == [0, 2]
    assert recorder.levels("B") == ["suspect", "warn"]


def test_general_thresholds_are_the_base_of_a_rules() -> None:
    made = policy({"agent": "A", "thresholds": {"alert": 9}}, thresholds={"again": {"warn": 3}})
    assert made.parameters(Again, made.rules[0]) == {"warn": 3, "alert": 9}
    assert run(made).findings[-1].message_index == 2


def test_thresholds_that_expire_in_mid_conversation_fall_back() -> None:
    day = [TODAY]
    rule = {"framework": "fw", "thresholds": {"suspect": 9, "warn": 9, "alert": 9}}
    made = Policy({}, [{**rule, "expires": "2026-06-30"}], [Again], today=lambda: day[0])
    recorder = Recorder()
    watch = Watch([], [recorder], policy=made)
    watch.publish(RunStarted(run_id="r", framework="fw"))
    for i in range(4):
        watch.publish(MessageSent(run_id="r", index=i, sender="A", text=f"again {i}"))
        if i == 1:
            assert recorder.levels() == []
            day[0] = date(2026, 7, 1)
    assert recorder.levels() == ["alert"]


def test_notices_come_from_the_variant_they_fall_under() -> None:
    made = policy({"agent": "A", "thresholds": {"warn": 4}})
    recorder = run(made, agents=("A", "B"), text="again notice")
    assert [(n.agent, n.key) for n in recorder.notices] == [("A", "(1, 4, 3)"), ("B", "(1, 2, 3)")]


def test_branches_and_interleaved_runs_each_have_their_variants() -> None:
    made = policy({"agent": "A", "thresholds": {"suspect": 2, "warn": 8, "alert": 9}})
    recorder = Recorder()
    watch = Watch([Again], [recorder], policy=made)
    lanes = [("r", ""), ("r", "b"), ("s", "")]
    for run_id, branch in lanes:
        watch.publish(RunStarted(run_id=run_id, branch=branch, framework="fw"))
    for i in range(2):
        for run_id, branch in lanes:
            said = MessageSent(run_id=run_id, branch=branch, index=i, sender="A", text=f"again {i}")
            watch.publish(said)
        if i == 0:
            assert recorder.findings == []
    assert [(f.run_id, f.message_index) for f in recorder.findings] == [
        ("r", 1), ("r", 1), ("s", 1),
    ]  # fmt: skip
    watch.publish(RunFinished(run_id="s", outcome="completed"))
    assert watch.runs.summary("s").worst is Severity.SUSPECT


def test_a_detector_that_is_not_chosen_does_not_watch() -> None:
    made = policy({"mode": "FM-1.3", "severity": "warn"}, chosen=[Quiet])
    assert run(made).levels() == []


@pytest.mark.parametrize(
    ("thresholds", "parts"),
    [
        ({"agian": {"warn": 3}}, ["thresholds.agian", "again, quiet"]),
        ({"again": {"wran": 3}}, ["thresholds.again.wran", "did you mean warn", "suspect, warn"]),
        ({"again": {"warn": "3"}}, ["thresholds.again.warn", "a whole number, not '3'"]),
        ({"again": {"warn": True}}, ["a whole number, not True"]),
        ({"again": {"warn": 3.0}}, ["a whole number, not 3.0"]),
        ({"again": {"share": float("nan")}}, ["a number, not nan"]),
        ({"quiet": {"flag": 1}}, ["true or false, not 1"]),
        ({"again": 3}, ["thresholds.again", "a table of parameters"]),
        ({"FM-3.3": {"warn": 3}}, ['thresholds."FM-3.3"', "no detector has this name or mode"]),
        ({"again": {"alert": -1}}, ["thresholds", "refuses", "must not be negative"]),
    ],
)
def test_a_threshold_that_cannot_be_used_is_said_and_the_rest_counts(thresholds, parts) -> None:
    made = policy(
        {"agent": "Z", "severity": "info"}, thresholds={**thresholds, "step_repetition": {}}
    )
    (problem,) = made.problems
    assert all(part in problem for part in parts), problem
    assert run(made).levels() == ["suspect", "warn", "alert"]


def test_good_parameters_beside_bad_ones_count() -> None:
    made = policy(thresholds={"again": {"wran": 1, "alert": 9, "share": 1}})
    assert made.thresholds == {"again": {"alert": 9, "share": 1.0}}


IGNORE = {"ignore": True, "reason": REASON}


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        ("FM-1.3", "expected a table"),
        ({"mode": "FM-1.3", "ignore": True}, "ignore needs a reason"),
        ({"mode": "FM-1.3", "ignore": True, "reason": " "}, "ignore needs a reason"),
        ({"mode": "FM-1.3", "ignore": True, "reason": 1}, "reason: expected a text"),
        ({"mode": "FM-1.3", "ignore": "yes", "reason": REASON}, "ignore: expected true or false"),
        ({"mode": "1.3", **IGNORE}, "mode: '1.3' is no MAST failure mode"),
        ({"mode": "FM-9.*", **IGNORE}, "no MAST failure mode"),
        ({"mode": [], **IGNORE}, "mode: expected a name"),
        ({"agent": 3, **IGNORE}, "agent: expected a name or a list of names, not 3"),
        ({"detector": "agian", **IGNORE}, "no detector agian here; known are again, quiet"),
        ({"mode": "FM-1.3", "agnet": "A", **IGNORE}, "unknown key agnet; known are mode"),
        ({**IGNORE}, "matches nothing in particular"),
        ({"mode": "FM-1.3"}, "changes nothing"),
        ({"mode": "FM-1.3", "severity": "high"}, "severity: 'high' is no severity"),
        ({"mode": "FM-1.3", "severity": 2}, "severity: expected the name"),
        ({"mode": "FM-1.3", **IGNORE, "expires": "soon"}, "expires: expected a date"),
        ({"mode": "FM-1.3", **IGNORE, "expires": 2026}, "expires: expected a date"),
    ],
)
def test_a_rule_with_a_mistake_is_said_and_does_not_apply(rule, part) -> None:
    made = policy(rule, {"agent": "B", "severity": "suspect"})
    (problem,) = made.problems
    assert problem.startswith("rules #1: ")
    assert part in problem
    assert run(made, agents=("A", "B")).levels("A") == ["suspect", "warn", "alert"]
    assert run(made, agents=("A", "B")).levels("B") == ["suspect"]


def test_a_rules_bad_threshold_costs_neither_its_others_nor_its_cap() -> None:
    made = policy({"agent": "A", "severity": "warn", "thresholds": {"wran": 1, "suspect": 2}})
    assert "rules #1.thresholds.wran" in made.problems[0]
    assert [f.message_index for f in run(made).findings] == [1]
    assert run(made).levels() == ["warn"]


def test_a_rules_thresholds_the_detector_refuses_leave_no_rule() -> None:
    made = policy({"agent": "A", "thresholds": {"alert": -1}})
    assert "rules #1.thresholds: again refuses" in made.problems[0]
    assert made.rules == []
    assert run(made).levels() == ["suspect", "warn", "alert"]


def test_the_example_in_the_documentation_is_right() -> None:
    text = (Path(__file__).parent.parent / "docs" / "settings.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", text, re.S)
    assert len(blocks) == 2
    written = tomllib.loads("\n".join(blocks))
    made = Policy(written["thresholds"], written["rules"], registry.detectors())
    assert made.problems == ()
    assert len(made.rules) == 3


def test_a_finding_that_says_another_framework_than_its_run_is_not_lost() -> None:
    class ByHand(Again):
        def observe(self, event, signals):
            said = super().observe(event, signals)
            return said and replace(said, framework="", detector="mine", mode="FM-1.5")

    made = Policy({}, [{"mode": "FM-1.3", "framework": "fw", "thresholds": {"alert": 9}}], [ByHand])
    assert run(made).levels() == ["suspect", "warn"]


def test_a_pattern_that_is_none_is_a_mistake_or_matches_itself() -> None:
    made = policy({"agent": "[z-a]", "severity": "info"}, {"agent": "[", "severity": "info"})
    assert all("agent: expected" in problem for problem in made.problems)
    assert made.rule_for("FM-1.3", "again", "[", "", "fw") is not None
