"""A run that went wrong, and what a judge might say of it; all written for this purpose."""

from __future__ import annotations

import random
from dataclasses import replace

from mastwatch import taxonomy
from mastwatch.events import Contract, ToolRequest
from mastwatch.findings import Finding, Notice, Severity
from mastwatch.reports import Case, case
from mastwatch.store import (
    Attribution,
    Candidate,
    Evidence,
    Report,
    Trace,
    TraceRow,
    Usage,
    Verdict,
)

TASK = (
    "Prepare the quarterly energy report for the three warehouses. Use metered values only, "
    "in kWh, and have the total checked before you hand it over."
)
SAID = [
    ("Coordinator", "opener", "Three warehouses: Lindau, Marbach and Nagold. Reader, please get "
     "the metered consumption of each. Writer, prepare the table; Checker, verify the total."),
    ("Reader", "reply", "I will read the meters one by one, beginning with Lindau."),
    ("Reader", "tool", "lindau;2031-Q2;41820;kWh;metered"),
    ("Reader", "reply", "Lindau used 41,820 kWh, metered. Next is Marbach."),
    ("Reader", "tool", "marbach;2031-Q2;;kWh;no reading since 4 May"),
    ("Reader", "reply", "Marbach has sent no reading since 4 May. I will ask it again."),
    ("Reader", "tool", "marbach;2031-Q2;;kWh;no reading since 4 May"),
    ("Reader", "reply", "Still no reading from Marbach. I will ask the meter again."),
    ("Reader", "tool", "marbach;2031-Q2;;kWh;no reading since 4 May"),
    ("Reader", "reply", "Still no reading from Marbach. I will ask the meter once more."),
    ("Reader", "tool", "marbach;2031-Q2;;kWh;no reading since 4 May"),
    ("Reader", "reply", "For Marbach I take last year's value, 38,400 kWh. Nagold: 27,115 kWh, "
     "metered. Writer, you have all three."),
    ("Writer", "reply", "| Warehouse | kWh |\n|---|---|\n| Lindau | 41,820 |\n| Marbach | 38,400 |"
     "\n| Nagold | 27,115 |\n| **Total** | **107,335** |\n\nAll values are metered, as asked."),
    ("Checker", "reply", "41,820 + 38,400 + 27,115 = 107,335. The total is correct, the report is "
     "good to go."),
    ("Coordinator", "reply", "Thank you all. The report goes out today. TERMINATE"),
    ("Writer", "reply", "You are welcome! Glad the report is done."),
    ("Checker", "reply", "Happy to help. Have a good day, everyone!"),
    ("Coordinator", "reply", "Thanks again, have a good day."),
]  # fmt: skip


def _call(index: int) -> tuple[ToolRequest, ...]:
    places = {1: "lindau", 3: "marbach", 5: "marbach", 7: "marbach", 9: "marbach"}
    if index not in places:
        return ()
    return (ToolRequest(name="read_meter", arguments={"warehouse": places[index], "q": "2031-Q2"}),)


def sample_trace() -> Trace:
    """The run."""
    rows = tuple(
        TraceRow(
            index=index,
            agent=agent,
            kind=kind,
            text=text,
            tool="read_meter" if kind == "tool" else "",
            tool_calls=_call(index),
            at=1_900_000_000 + 4.2 * index,
        )
        for index, (agent, kind, text) in enumerate(SAID)
    )
    return Trace(
        run_id="energy-2031-q2-0117",
        rows=rows,
        name="Quarterly energy report",
        framework="autogen",
        task=TASK,
        release="2031.4",
        environment="staging",
        contract=Contract(tokens=("TERMINATE",), max_messages=18),
        prompts={
            "Reader": "You read meters. Report metered values only; say so when there is none.",
            "Checker": "You check every figure against its source before a report goes out.",
        },
        started=1_900_000_000,
        ended=1_900_000_000 + 79.0,
        outcome="limit",
        reason="max_round 18 reached",
        findings=_findings(),
        notices=(
            Notice(
                name="retry_storm",
                run_id="energy-2031-q2-0117",
                message_index=10,
                agent="Reader",
                explanation="Reader called read_meter 4 times with equal arguments.",
            ),
        ),
        success=False,
    )


def _findings() -> tuple[Finding, ...]:
    def finding(
        mode: str, severity: Severity, row: int, rows: tuple[int, ...], why: str
    ) -> Finding:
        return Finding(
            mode=mode,
            severity=severity,
            detector=taxonomy.mode(mode).slug,
            run_id="energy-2031-q2-0117",
            agent="Reader" if mode == "FM-1.3" else "Coordinator",
            message_index=row,
            evidence=rows,
            explanation=why,
            fingerprint=mode,
            episode=mode,
        )

    again = "Reader called read_meter {} times with equal arguments and equal results."
    return (
        finding("FM-1.3", Severity.SUSPECT, 8, (4, 6, 8), again.format(3)),
        finding("FM-1.3", Severity.WARN, 10, (4, 6, 8, 10), again.format(4)),
        finding(
            "FM-1.5",
            Severity.ALERT,
            17,
            (14, 15, 16, 17),
            "The stop token was said at #14; 3 agents went on for 3 messages.",
        ),
    )


PRESENT = {
    "step_repetition": (
        0.94,
        "The reader asks the same meter four times although nothing has changed.",
        ((5, "I will ask it again."), (7, "Still no reading from Marbach. I will ask the meter")),
    ),
    "disobey_task_specification": (
        0.88,
        "The task allows metered values only; last year's value stands in for Marbach.",
        ((11, "For Marbach I take last year's value, 38,400 kWh."),),
    ),
    "information_withholding": (
        0.81,
        "That the Marbach value is not metered does not reach the table or the checker.",
        ((12, "All values are metered, as asked."),),
    ),
    "termination_unawareness": (
        0.9,
        "After the stop word the agents go on thanking each other until the limit ends the run.",
        ((15, "You are welcome! Glad the report is done."), (17, "Thanks again, have a good day")),
    ),
}


def sample_report() -> Report:
    """The judge's report."""
    verdicts = {mode.slug: _absent(mode.slug) for mode in taxonomy.MODES}
    for slug, (confidence, why, quotes) in PRESENT.items():
        verdicts[slug] = replace(
            verdicts[slug],
            verdict="present",
            confidence=confidence,
            why=why,
            evidence=tuple(Evidence(message_index=row, quote=quote) for row, quote in quotes),
        )
    for slug, severity in (("step_repetition", "warn"), ("termination_unawareness", "alert")):
        verdicts[slug] = replace(verdicts[slug], detector=severity)
    verdicts["incorrect_verification"] = replace(
        verdicts["incorrect_verification"],
        verdict="unsure",
        reason="split_vote",
        votes="1/3",
        confidence=0.55,
        why="The checker adds the figures up but compares none with its source.",
        evidence=(Evidence(message_index=13, quote="The total is correct", status="repaired"),),
    )
    verdicts["task_derailment"] = Verdict(
        slug="task_derailment", mode="FM-2.3", verdict="not_evaluated", reason="schema"
    )
    return Report(
        run_id="energy-2031-q2-0117",
        verdicts=verdicts,
        task_completed="no",
        coverage=1.0,
        prompt_version="p3",
        model="scripted-judge",
        provider="loopback",
        rung="json_schema",
        windows=1,
        evidence_counts={"verified": 6, "repaired": 1, "rejected": 1},
        usage=Usage(
            calls=3, input_tokens=6_410, output_tokens=1_180, usd=0.0279, planned_tokens=7_900,
            seconds=9.4,
        ),
        trigger="outcome",
        created=1_900_000_200,
    )  # fmt: skip


def _absent(slug: str) -> Verdict:
    return Verdict(
        slug=slug, mode=taxonomy.mode(slug).code, verdict="absent", confidence=0.9,
        why="Nothing in the run points to it.",
    )  # fmt: skip


def sample_attribution() -> Attribution:
    """Who decided it: the reader, who put a guess in place of a reading and did not say so."""
    chosen = Candidate(
        step=11,
        agent="Reader",
        reason="With no reading from Marbach, last year's value is put in its place and handed on "
        "as if all three were metered.",
        counterfactual="Report Marbach as missing and ask the Coordinator what to do. The table "
        "would have shown the gap, and the report would not have gone out with a false figure.",
        confidence=0.82,
        evidence=(
            Evidence(message_index=11, quote="For Marbach I take last year's value, 38,400 kWh."),
            Evidence(message_index=10, quote="no reading since 4 May"),
        ),
        check="survived",
    )
    writer = Candidate(
        step=12,
        agent="Writer",
        reason="The table calls all values metered.",
        counterfactual="Mark the Marbach value as last year's.",
        confidence=0.55,
        evidence=(Evidence(message_index=12, quote="All values are metered, as asked."),),
        check="refuted",
        objection="The Reader had said “you have all three” one message before; the Writer repeats "
        "what it was given.",
    )
    again = Candidate(
        step=5,
        agent="Reader",
        reason="The meter is asked again although nothing has changed.",
        confidence=0.3,
        check="unchecked",
        objection="the check was not sure",
    )
    return Attribution(
        run_id="energy-2031-q2-0117",
        method="propose_verify",
        result="attributed",
        step=chosen.step,
        agent=chosen.agent,
        reason=chosen.reason,
        counterfactual=chosen.counterfactual,
        evidence=chosen.evidence,
        candidates=(chosen, writer, again),
        modes=("disobey_task_specification",),
        coverage=1.0,
        prompt_version="a1",
        model="scripted-judge",
        provider="loopback",
        rung="json_schema",
        windows=1,
        usage=Usage(
            calls=4, input_tokens=9_310, output_tokens=870, usd=0.0281, planned_tokens=9_900,
            seconds=6.2,
        ),
        trigger="outcome",
        created=1_900_000_240,
    )  # fmt: skip


RATES = {
    "step_repetition": (0.3, 0.35),
    "termination_unawareness": (0.04, 0.5),
    "information_withholding": (0.03, 0.2),
    "disobey_task_specification": (0.1, 0.25),
    "incorrect_verification": (0.15, 0.2),
}
"""Share of the runs that show a mode, among those that went well and those that failed."""


def sample_cases(count: int = 120) -> list[Case]:
    """Many such runs over two weeks, drawn with a fixed seed."""
    draw = random.Random(7)
    cases = []
    for number in range(count):
        failed = draw.random() < 0.4
        trace = replace(
            sample_trace(),
            run_id=f"energy-{number:04}",
            framework=draw.choice(("autogen", "autogen", "langgraph")),
            release=draw.choice(("2031.3", "2031.4")),
            models=draw.choice((("model-s",), ("model-s", "model-l"))),
            ended=1_900_000_000 + draw.random() * 14 * 86_400,
            success=None if draw.random() < 0.2 else not failed,
            error=None,
        )
        report = sample_report()
        verdicts = {
            slug: _drawn(verdict, failed, draw) for slug, verdict in report.verdicts.items()
        }
        usage = replace(report.usage, usd=round(draw.uniform(0.01, 0.06), 4))
        judged = replace(
            report,
            run_id=trace.run_id,
            verdicts=verdicts,
            usage=usage,
            task_completed="no" if failed else "yes",
            coverage=1.0 if draw.random() < 0.97 else 0.91,
        )
        link = f"runs/{trace.run_id}.html"
        cases.append(case(trace, judged, link, _decided(draw) if failed else None))
    return cases


def _decided(draw: random.Random) -> Attribution:
    found = sample_attribution()
    chance = draw.random()
    if chance < 0.1:
        result = draw.choice(("none", "not_evaluated"))
        reason = "no_error" if result == "none" else "timeout"
        return replace(found, result=result, reason=reason, step=None, agent="", modes=())
    agent, step = draw.choice((("Reader", 11), ("Reader", 11), ("Writer", 12), ("Checker", 13)))
    modes = found.modes if agent == "Reader" else ("incorrect_verification",)
    result = "unverified" if chance < 0.25 else "attributed"
    return replace(found, result=result, agent=agent, step=step, modes=modes)


def _drawn(verdict: Verdict, failed: bool, draw: random.Random) -> Verdict:
    chance = draw.random()
    if chance < 0.03:
        return replace(verdict, verdict="not_evaluated", reason="timeout", evidence=())
    if chance < 0.06:
        return replace(verdict, verdict="unsure", reason="no_evidence")
    present = draw.random() < RATES.get(verdict.slug, (0.0, 0.0))[failed]
    return replace(verdict, verdict="present" if present else "absent")
