"""Events in, findings out: idempotency, hysteresis, bounds, waiting runs."""

from __future__ import annotations

from mastwatch.detector import Detector
from mastwatch.episodes import REARM_AFTER
from mastwatch.events import (
    HumanAsked,
    HumanReplied,
    MessageSent,
    RunFinished,
    RunStarted,
    ToolRequest,
    ToolReturned,
)
from mastwatch.findings import Finding, Severity
from mastwatch.runs import Runs
from mastwatch.watch import MAX_SEEN_IDS, Sink, Watch


class CountsWord(Detector):
    """Says how often the word "again" was uttered: suspect from 1, warn from 2, alert from 3."""

    mode = "FM-1.3"
    name = "counts_word"

    def __init__(self) -> None:
        self.rows: list[int] = []

    def observe(self, event, signals):
        if not isinstance(event, MessageSent) or "again" not in (event.text or ""):
            return None
        self.rows.append(event.index)
        severity = Severity(min(len(self.rows) + 1, 4))
        return self.finding(
            severity,
            signals,
            key="again",
            agent=event.sender,
            evidence=tuple(self.rows),
            explanation=f"{event.sender} said the word {len(self.rows)} times",
        )


class Recorder(Sink):
    def __init__(self) -> None:
        self.events, self.findings, self.duplicates, self.dropped = [], [], 0, []

    def on_event(self, event, framework):
        self.events.append((event, framework))

    def on_finding(self, finding):
        self.findings.append(finding)

    def on_duplicate(self, event):
        self.duplicates += 1

    def on_dropped(self, reason):
        self.dropped.append(reason)


def said(index: int, text: str, sender: str = "A", run: str = "r", **more) -> MessageSent:
    return MessageSent(run_id=run, index=index, sender=sender, text=text, **more)


def watch(recorder: Recorder | None = None, **more) -> Watch:
    return Watch([CountsWord], [recorder] if recorder else [], **more)


def levels(verdicts: list) -> list[str]:
    return [v.severity.label for v in verdicts if isinstance(v, Finding)]


def test_each_rise_is_one_finding_of_the_same_episode() -> None:
    recorder = Recorder()
    w = watch(recorder)
    for i in range(6):
        w.publish(said(i, f"again {i}"))
    assert levels(recorder.findings) == ["suspect", "warn", "alert"]
    assert [f.message_index for f in recorder.findings] == [0, 1, 2]
    assert len({f.episode for f in recorder.findings}) == 1
    assert len({f.fingerprint for f in recorder.findings}) == 1


def test_an_episode_is_over_after_enough_quiet_rows_and_the_next_one_has_its_own_number() -> None:
    w = watch()
    first = w.publish(said(0, "again"))
    for i in range(1, REARM_AFTER + 2):
        assert w.publish(said(i, f"row {i}")) == []
    second = w.publish(said(20, "again"))
    assert [first[0].episode.split("-")[1], second[0].episode.split("-")[1]] == ["1", "2"]


def test_a_human_message_ends_all_episodes() -> None:
    w = watch()
    w.publish(said(0, "again"))
    w.publish(HumanReplied(run_id="r", index=0))
    assert len(w.publish(said(1, "again"))) == 1


def test_fingerprint_is_stable_over_runs() -> None:
    w = watch()
    [a] = w.publish(said(0, "again", run="r1"))
    [b] = w.publish(said(0, "again", run="r2"))
    assert a.fingerprint == b.fingerprint
    assert a.run_id != b.run_id


def test_an_id_seen_before_is_dropped_and_counted() -> None:
    recorder = Recorder()
    w = watch(recorder)
    for _ in range(3):
        w.publish(said(0, "again", id="m1"))
    assert (len(recorder.events), recorder.duplicates, w.duplicates) == (1, 2, 2)


def test_a_true_repetition_with_its_own_id_is_kept() -> None:
    recorder = Recorder()
    w = watch(recorder)
    for i in range(3):
        w.publish(said(i, "again", id=f"m{i}"))
    assert len(recorder.events) == 3


def test_ids_are_remembered_up_to_a_bound() -> None:
    w = watch()
    for i in range(MAX_SEEN_IDS + 50):
        w.publish(said(i, f"text {i}", id=f"m{i}"))
    [state] = w.runs.active()
    assert len(state.seen) == MAX_SEEN_IDS


def test_archived_adjacent_records_without_id_and_time_count_once() -> None:
    recorder = Recorder()
    w = watch(recorder)
    for i in range(4):
        w.publish(said(i, "again"))
    w.publish(said(4, "other"))
    w.publish(said(5, "again"))
    assert [e.index for e, _ in recorder.events] == [0, 4, 5]


def test_timed_records_without_id_are_one_within_50_ms_only() -> None:
    recorder = Recorder()
    w = watch(recorder)
    for i, at in enumerate((10.0, 10.02, 11.0)):
        w.publish(said(i, "again", at=at))
    assert [e.index for e, _ in recorder.events] == [0, 2]


def test_two_calls_of_one_message_may_return_the_same_without_ids() -> None:
    recorder = Recorder()
    w = watch(recorder)
    calls = (ToolRequest(name="find", arguments={"q": 1}), ToolRequest(name="find", arguments=2))
    w.publish(said(0, "", tool_calls=calls))
    for i in (1, 2, 3):
        w.publish(ToolReturned(run_id="r", index=i, agent="A", name="find", result="[]"))
    assert [e.index for e, _ in recorder.events] == [0, 1, 2]


def test_doubled_records_give_the_same_findings() -> None:
    texts = ["start", "again", "go on", "again", "well", "again"]
    single, double = watch(), watch()
    once = [v for i, t in enumerate(texts) for v in single.publish(said(i, t))]
    twice = [v for i, t in enumerate(texts) for _ in (1, 2) for v in double.publish(said(i, t))]
    assert once == twice


def test_branches_are_watched_apart() -> None:
    w = watch()
    assert levels(w.publish(said(0, "again"))) == ["suspect"]
    assert levels(w.publish(said(1, "again", branch="1"))) == ["suspect"]
    assert levels(w.publish(said(2, "yes, again"))) == ["warn"]


def test_a_detector_that_raises_costs_only_itself(monkeypatch) -> None:
    class Broken(CountsWord):
        name = "broken"

        def observe(self, event, signals):
            raise RuntimeError("ours")

    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    w = Watch([Broken, CountsWord])
    assert levels(w.publish(said(0, "again"))) == ["suspect"]


def test_a_sink_that_raises_costs_only_itself(monkeypatch) -> None:
    class Broken(Sink):
        def on_event(self, event, framework):
            raise RuntimeError("ours")

    monkeypatch.delenv("MASTWATCH_RAISE_ERRORS")
    recorder = Recorder()
    Watch([CountsWord], [Broken(), recorder]).publish(said(0, "again"))
    assert len(recorder.findings) == 1


def test_a_finished_run_keeps_a_summary_and_drops_its_state() -> None:
    w = watch()
    w.publish(RunStarted(run_id="r", framework="custom"))
    w.publish(said(0, "again"))
    w.publish(RunFinished(run_id="r", outcome="completed"))
    summary = w.runs.summary("r")
    assert (summary.outcome, summary.messages, summary.worst) == ("completed", 1, Severity.SUSPECT)
    assert w.runs.active() == []
    assert w.publish(said(1, "again")) == []


def test_a_paused_run_waits_and_goes_on() -> None:
    clock = [0.0]
    w = watch(runs=Runs(idle_timeout=10, clock=lambda: clock[0]))
    w.publish(RunStarted(run_id="r", framework="custom"))
    w.publish(said(0, "again"))
    w.publish(RunFinished(run_id="r", outcome="paused"))
    clock[0] = 1_000.0
    w.expire()
    assert w.runs.active() == []
    assert w.runs.summary("r") is None
    w.publish(RunStarted(run_id="r", framework="custom", resumed=True))
    assert levels(w.publish(said(1, "again!"))) == ["warn"]
    assert len(w.runs.active()) == 1


def test_a_second_conversation_of_a_run_is_watched_anew() -> None:
    w = watch()
    start = RunStarted(run_id="r", framework="custom", id="start")
    w.publish(start)
    first = [said(0, "again"), said(1, "again!")]
    found = [f for event in first for f in w.publish(event)]
    assert levels(found) == ["suspect", "warn"]
    w.publish(start)  # reported twice
    assert levels(w.publish(said(2, "and again"))) == ["alert"]
    w.publish(RunStarted(run_id="r", framework="custom", id="second start"))
    (anew,) = w.publish(said(3, "again"))
    assert anew.severity is Severity.SUSPECT
    assert anew.episode != found[0].episode


def test_idle_runs_end_as_unknown_at_the_next_start() -> None:
    clock = [0.0]
    recorder = Recorder()
    w = watch(recorder, runs=Runs(idle_timeout=10, clock=lambda: clock[0]))
    w.publish(RunStarted(run_id="old", framework="custom"))
    clock[0] = 11.0
    w.publish(RunStarted(run_id="new", framework="custom"))
    assert w.runs.summary("old").outcome == "unknown"
    assert recorder.dropped == ["run_expired"]


def test_a_run_blocked_in_a_question_is_not_idle() -> None:
    clock = [0.0]
    w = watch(runs=Runs(idle_timeout=10, clock=lambda: clock[0]))
    w.publish(RunStarted(run_id="r", framework="custom"))
    w.publish(HumanAsked(run_id="r", index=-1))
    clock[0] = 1_000.0
    assert w.runs.oldest_idle("custom") == 0
    w.expire()
    assert len(w.runs.active()) == 1
    w.publish(said(0, "here you are"))
    clock[0] = 1_005.0
    assert w.runs.oldest_idle("custom") == 5


def test_runs_are_bounded_and_the_longest_idle_goes_first() -> None:
    w = watch(runs=Runs(max_runs=3))
    for i in range(6):
        w.publish(RunStarted(run_id=f"r{i}", framework="custom"))
    assert [s.run_id for s in w.runs.active()] == ["r2", "r3", "r4", "r5"]
    assert w.dropped["run_expired"] == 2


def test_a_run_is_watched_without_text_where_all_of_it_is_withheld():
    w = Watch()
    w.publish(RunStarted(run_id="r"))
    state = w.runs.state("r")
    w.publish(
        MessageSent(run_id="r", index=0, sender="A", text="", tool_calls=(ToolRequest(name="t"),))
    )
    assert not state.textless, "it only called a tool"
    w.publish(ToolReturned(run_id="r", index=1, agent="A", name="t", error="ValueError"))
    assert not state.textless, "a failure has no result"
    w.publish(ToolReturned(run_id="r", index=2, agent="A", name="t"))
    assert state.textless
    w.publish(MessageSent(run_id="r", index=3, sender="A", text=None))
    assert state.textless
    w.publish(MessageSent(run_id="r", index=4, sender="A", text="at last"))
    assert not state.textless
