"""A run in which everything that reaches a report is an attack on it."""

from __future__ import annotations

from dataclasses import replace

from mastwatch.events import ToolRequest
from mastwatch.store import Attribution, Evidence, Report, Trace, TraceRow
from reports.sample import sample_attribution, sample_report, sample_trace

RUN = "window.owned = true"
PLANTED = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror='{RUN}'>",
    f'<a href="javascript:{RUN}">open</a> <a id="m0">me</a>',
    f"</style><script>{RUN}</script><style>*{{display:none}}",
    f"</title></head><svg onload={RUN}>",
    f'" onmouseover="{RUN}" autofocus onfocus="{RUN}',
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    '<meta http-equiv="refresh" content="0;url=https://example.org/">',
    '<link rel="stylesheet" href="https://example.org/x.css"><base href="https://example.org/">',
    "\u202egnihton \u2066 is as it seems\u2069 \u200b\x00\x07 \x1b[31mred\x1b[0m \ud800",
    "<!-- --!> <![CDATA[ ]]> &lt;b&gt; &#60;script&#62;",
)


def hostile_trace() -> Trace:
    """Planted in messages, names, calls, errors, prompts, and what is known of the run."""
    everything = "\n".join(PLANTED)
    names = [text[:80] for text in PLANTED]
    rows = [
        TraceRow(index=index, agent=names[index], text=text, recipients=(names[0],), branch=text)
        for index, text in enumerate(PLANTED)
    ]
    rows.append(
        TraceRow(
            index=len(rows),
            agent=names[1],
            text=everything,
            tool_calls=(ToolRequest(name=names[0], arguments={everything: everything}),),
        )
    )
    rows.append(
        TraceRow(
            index=len(rows), agent=names[2], kind="tool", text=everything, tool=names[3],
            error=names[4],
        )
    )  # fmt: skip
    finding = replace(sample_trace().findings[0], explanation=everything, agent=names[0])
    return replace(
        sample_trace(),
        run_id=names[0],
        rows=tuple(rows),
        name=names[3],
        framework=names[4],
        task=everything,
        release=names[5],
        environment=names[6],
        reason=everything,
        error=names[1],
        prompts={names[0]: everything},
        findings=(finding,),
        notices=(),
    )


def hostile_report() -> Report:
    """The judge was taken in: it repeats all of it."""
    report = sample_report()
    evidence = tuple(
        Evidence(message_index=index, quote=text) for index, text in enumerate(PLANTED)
    )
    verdicts = {
        slug: replace(verdict, verdict="present", why="\n".join(PLANTED), evidence=evidence)
        for slug, verdict in report.verdicts.items()
    }
    return replace(
        report,
        run_id=PLANTED[0],
        verdicts=verdicts,
        model=PLANTED[1],
        provider=PLANTED[2],
        calibration=PLANTED[3],
        problems=PLANTED,
    )


def hostile_attribution() -> Attribution:
    """Taken in as well."""
    everything = "\n".join(PLANTED)
    evidence = tuple(
        Evidence(message_index=index, quote=text) for index, text in enumerate(PLANTED)
    )
    candidates = tuple(
        replace(
            candidate,
            step=step,
            agent=PLANTED[step],
            reason=everything,
            counterfactual=everything,
            objection=everything,
            evidence=evidence,
        )
        for step, candidate in enumerate(sample_attribution().candidates)
    )
    return replace(
        sample_attribution(),
        run_id=PLANTED[0],
        step=0,
        agent=PLANTED[0],
        reason=everything,
        counterfactual=everything,
        evidence=evidence,
        candidates=candidates,
        modes=("step_repetition", PLANTED[1]),
        named_agent=PLANTED[2],
        model=PLANTED[3],
        prompt_version=PLANTED[4],
        problems=PLANTED,
    )
