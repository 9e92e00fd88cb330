"""What each alert says in made-up hours: one value a minute, unless a case says otherwise."""

from __future__ import annotations

from dashboards.promtool import Case

RUNS = 'mastwatch_runs_total{job="app",framework="autogen",outcome="completed"}'
TOKENS = 'mastwatch_tokens_after_finding_total{job="app",mode="FM-1.3",model="gpt"}'
DEPTH = 'mastwatch_judge_queue_depth{job="app"}'
JUDGED = 'mastwatch_judge_seconds_count{job="app"}'
USD = 'mastwatch_judge_cost_usd_total{job="app"}'
IDLE = 'mastwatch_run_oldest_idle_seconds{job="app",framework="autogen"}'
DROPPED = 'mastwatch_events_dropped_total{job="app",reason="runs"}'
ERRORS = 'mastwatch_internal_errors_total{job="app",where="watch"}'


def flagged(mode: str, severity: str = "warn", instance: str = "1") -> str:
    return (
        f'mastwatch_flagged_runs_total{{job="app",instance="{instance}",framework="autogen",'
        f'mode="{mode}",severity="{severity}"}}'
    )


def verdict(word: str, mode: str = "FM-2.4") -> str:
    return f'mastwatch_judge_verdicts_total{{job="app",mode="{mode}",verdict="{word}"}}'


LIVE = {"mode": "FM-1.5", "severity": "critical"}
JUDGE = {"mode": "FM-2.4", "severity": "critical", "source": "judge"}
LOOP = {"mode": "FM-1.3", "severity": "warning"}
RESET = {"mode": "FM-2.1", "severity": "warning"}
NONE = {"mode": "none", "severity": "warning"}
BURST = "0x60 1+1x29 30x120"
"""One a minute from the 60th to the 90th minute."""

RATIO = [
    Case("TerminationUnawareness", "firing", {RUNS: "0+1x210", flagged("FM-1.5"): BURST},
         firing=(80, 100), silent=(59, 130, 200), labels=LIVE),
    Case("TerminationUnawareness", "quiet",
         {RUNS: "0+1x200", flagged("FM-1.5"): "0x60 1x10 2x10 3x10 4x100"},
         silent=(70, 80, 95, 150), why="four runs of sixty are no five"),
    Case("TerminationUnawareness", "quiet",
         {RUNS: "0+20x200", flagged("FM-1.5"): "0+1x200"},
         silent=(30, 90, 180), why="sixty an hour are only 5 % of the runs"),
    Case("TerminationUnawareness", "quiet",
         {RUNS: "0+0.2x200", flagged("FM-1.5"): "0x60 3x100",
          flagged("FM-1.5", "alert"): "0x60 3x100"},
         silent=(61, 70, 90), why="three runs that rose to alert are three, not six"),
    Case("TerminationUnawareness", "quiet",
         {RUNS: "0+1x200", flagged("FM-1.5", "suspect"): BURST}, silent=(70, 90)),
    Case("TerminationUnawareness", "quiet",
         {RUNS: "400x60 _x120 401+1x60", flagged("FM-1.5"): "200x60 _x120 200x60"},
         silent=(30, 181, 190, 230), why="after a gap in the scrapes nothing is new"),
    Case("TerminationUnawareness", "first",
         {RUNS: "_x60 10x60", flagged("FM-1.5"): "_x60 5x60"},
         firing=(64,), silent=(59, 119), labels=LIVE, why="born at five of ten runs"),
    Case("InformationWithholding", "firing",
         {verdict("absent"): "0+1x210", verdict("present"): BURST},
         firing=(80, 100), silent=(59, 130, 200), labels=JUDGE),
    Case("InformationWithholding", "quiet",
         {verdict("absent"): "0+1x200", verdict("present"): "0x60 4x100",
          flagged("FM-2.4"): "0+1x200", RUNS: "0+1x200"},
         silent=(61, 90), why="the live detector's suspicions wake nobody"),
    Case("InformationWithholding", "first",
         {verdict("absent"): "_x60 10x60", verdict("present"): "_x60 5x60"},
         firing=(64,), silent=(59, 119), labels=JUDGE),
]  # fmt: skip

ANY = [
    Case("AnyTerminationUnawareness", "firing", {flagged("FM-1.5"): "0x30 1x60"},
         firing=(31, 40), silent=(29, 50), labels=LIVE),
    Case("AnyTerminationUnawareness", "quiet",
         {flagged("FM-1.5"): "7x60", flagged("FM-1.3"): "0+1x60",
          flagged("FM-1.5", "suspect"): "0+1x60"},
         silent=(30, 59), why="old ones, other modes, suspicions"),
    Case("AnyTerminationUnawareness", "first", {flagged("FM-1.5"): "_x30 1x60"},
         firing=(31, 40), silent=(29, 50), labels=LIVE),
    Case("AnyInformationWithholding", "firing", {verdict("present"): "0x30 1x60"},
         firing=(31, 40), silent=(29, 50), labels=JUDGE),
    Case("AnyInformationWithholding", "quiet",
         {verdict("absent"): "0+1x60", verdict("not_evaluated"): "0+1x60",
          verdict("present", "FM-1.1"): "0+1x60"}, silent=(30, 59)),
    Case("AnyInformationWithholding", "first", {verdict("present"): "_x30 1x60"},
         firing=(31, 40), silent=(29, 50), labels=JUDGE),
]  # fmt: skip

RUN_ALERTS = [
    Case("LoopBurnsTokens", "firing", {TOKENS: "0x30 20000+20000x19 400000x60"},
         firing=(45, 50), silent=(29, 70), labels=LOOP),
    Case("LoopBurnsTokens", "quiet",
         {TOKENS: "0+5000x90", TOKENS.replace("FM-1.3", "FM-1.5"): "0+90000x90"},
         silent=(30, 80)),
    Case("LoopBurnsTokens", "first", {TOKENS: "_x30 150000x60"},
         firing=(34, 40), silent=(29, 50), labels=LOOP),
    Case("RunStalled", "firing", {IDLE: "0x10 60+60x30 0x30"},
         firing=(30, 40), silent=(20, 45), labels={**NONE, "framework": "autogen"}),
    Case("RunStalled", "quiet", {IDLE: "600x60"}, silent=(30, 59)),
    Case("ResetStorm", "firing", {RUNS: "0+1x150", flagged("FM-2.1"): BURST},
         firing=(70, 95), silent=(59, 130), labels=RESET),
    Case("ResetStorm", "quiet", {RUNS: "0+100x150", flagged("FM-2.1"): "0+1x150"},
         silent=(60, 140), why="one in a hundred is no storm"),
    Case("ResetStorm", "first", {RUNS: "_x60 20x60", flagged("FM-2.1"): "_x60 8x60"},
         firing=(63, 70), silent=(59, 100), labels=RESET),
]  # fmt: skip

JUDGE_ALERTS = [
    Case("JudgeStopped", "firing", {DEPTH: "5x120", JUDGED: "10x60 11+1x60"},
         firing=(40, 60), silent=(20, 64), labels=NONE),
    Case("JudgeStopped", "quiet", {DEPTH: "0x120", JUDGED: "10x120"}, silent=(60, 110)),
    Case("JudgeStopped", "quiet", {DEPTH: "5x120", JUDGED: "0+0.1x120"}, silent=(60, 110)),
    Case("JudgeStopped", "first", {DEPTH: "_x60 5x60", JUDGED: "_x60 3x60"},
         silent=(61, 80), why="its first runs are judged within the window"),
    Case("JudgeSpendsTooFast", "firing", {USD: "0x10 0.2+0.2x49 10x90"},
         firing=(45, 60), silent=(20, 120), labels=NONE),
    Case("JudgeSpendsTooFast", "quiet", {USD: "0+0.05x120"}, silent=(60, 110)),
    Case("JudgeSpendsTooFast", "first", {USD: "_x10 7x90"},
         firing=(14, 60), silent=(9, 80), labels=NONE),
    Case("JudgeNotEvaluated", "firing",
         {verdict("not_evaluated"): "0x10 1+1x40 41x120", verdict("absent"): "0+1x170"},
         firing=(40, 60), silent=(9, 130), labels=NONE),
    Case("JudgeNotEvaluated", "quiet",
         {verdict("not_evaluated"): "0+1x120", verdict("absent"): "0+9x120"}, silent=(60, 110)),
    Case("JudgeNotEvaluated", "first",
         {verdict("not_evaluated"): "_x10 30x90", verdict("absent"): "_x10 10x90"},
         firing=(14, 60), silent=(9, 80), labels=NONE),
]  # fmt: skip

OWN = [
    case
    for alert, series, label in (
        ("EventsDropped", DROPPED, {"reason": "runs"}),
        ("InternalErrors", ERRORS, {"where": "watch"}),
    )
    for case in (
        Case(alert, "firing", {series: "0x30 3x60"}, firing=(31, 40), silent=(29, 50),
             labels={**NONE, **label}),
        Case(alert, "quiet", {series: "5x60"}, silent=(30, 59)),
        Case(alert, "first", {series: "_x30 1x60"}, firing=(31, 40), silent=(29, 50),
             labels={**NONE, **label}),
    )
]  # fmt: skip

DAY = 48
"""Half hours."""
REGRESSION = [
    Case("FailureRateRegression", "firing",
         {RUNS: f"0+60x{11 * DAY}",
          flagged("FM-3.1"): f"0+0.6x{8 * DAY} {int(8 * DAY * 0.6)}+3x{DAY} 374+0.6x{2 * DAY}"},
         firing=(9 * DAY,), silent=(8 * DAY - 1, int(10.5 * DAY)),
         labels={"mode": "FM-3.1", "severity": "warning"}, minutes=30),
    Case("FailureRateRegression", "quiet",
         {RUNS: f"0+60x{11 * DAY}", flagged("FM-3.1"): f"0+0.6x{8 * DAY} 231+0.8x{DAY * 2}"},
         silent=(int(8.5 * DAY), 9 * DAY), minutes=30, why="from 1 % to 1.3 % is nothing"),
    Case("FailureRateRegression", "quiet",
         {RUNS: f"0+0.4x{11 * DAY}", flagged("FM-3.1"): f"0+0.02x{8 * DAY} 8+0.1x{DAY * 2}"},
         silent=(int(8.5 * DAY), 9 * DAY), minutes=30, why="one run and five of twenty: chance"),
    Case("JudgedRateRegression", "firing",
         {verdict("absent", "FM-1.1"): f"0+6x{11 * DAY}",
          verdict("present", "FM-1.1"): f"0+0.3x{8 * DAY} 116+1.5x{DAY} 188+0.3x{2 * DAY}"},
         firing=(9 * DAY,), silent=(8 * DAY - 1, int(10.5 * DAY)),
         labels={"mode": "FM-1.1", "severity": "warning", "source": "judge"}, minutes=30),
    Case("JudgedRateRegression", "quiet",
         {verdict("absent", "FM-1.1"): f"0+6x{11 * DAY}",
          verdict("present", "FM-1.1"): f"0+0.3x{11 * DAY}",
          verdict("not_evaluated", "FM-1.1"): f"0x{8 * DAY} 0+9x{2 * DAY}"},
         silent=(int(8.5 * DAY), 9 * DAY), minutes=30, why="what was not decided does not count"),
]  # fmt: skip
