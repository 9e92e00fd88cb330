"""What several dashboards share: variables, links, and a few measures."""

from __future__ import annotations

from generator.spec import Link, Scope, TextVariable, Variable
from mastwatch import metric_names as names
from mastwatch import taxonomy
from mastwatch.metric_names import Metric

JOB = Variable("job", names.BUILD_INFO, "Job")
JUDGE_JOB = Variable("job", names.JUDGE_VERDICTS, "Job")
ENVIRONMENT = Variable("environment", names.RUNS, "Environment")
JUDGE_ENVIRONMENT = Variable("environment", names.JUDGE_VERDICTS, "Environment")
FRAMEWORK = Variable("framework", names.RUNS, "Framework")
MODE = Variable("mode", names.FLAGGED_RUNS, "Failure mode")
JUDGED_MODE = Variable("mode", names.JUDGE_VERDICTS, "Failure mode")
SEVERITY = Variable("severity", names.FINDINGS, "Severity")
AGENT = Variable("agent", names.MESSAGES, "Agent")
FLAGGED_AGENT = Variable("agent", names.AGENT_FINDINGS, "Agent")

TEXTS = (
    TextVariable("trace_id", "Trace id"),
    TextVariable("report", "Report, its file name"),
    TextVariable("jaeger_url", "Jaeger", "http://localhost:16686"),
    TextVariable("tempo", "Tempo datasource", "tempo"),
    TextVariable("reports_url", "Reports", "http://localhost:8000"),
)
_TEMPO = (
    '/explore?left={"datasource":"${tempo}","queries":[{"refId":"A","queryType":"traceql",'
    '"query":"${trace_id}"}],"range":{"from":"now-24h","to":"now"}}'
)
LINKS = (
    Link("Trace in Tempo", _TEMPO, "The trace whose id stands above"),
    Link("Trace in Jaeger", "${jaeger_url}/trace/${trace_id}", "The same in Jaeger"),
    Link("Report of the run", "${reports_url}/${report}.html", "What the judge said of one run"),
    Link("All reports", "${reports_url}/summary.html", "Over all judged runs"),
)

FATAL = "|".join(mode.code for mode in taxonomy.MODES if mode.fatal)
SURE = "~warn|alert"
"""Severities that count as found; suspicions do not."""
NONE_ATTRIBUTED = "no failed run attributed"
"""What it means when there is nothing to show about attributions."""


def flagged(scope: Scope, how: str, by: str = "mode") -> str:
    """Runs at warn or above: the larger of both levels, as a run that rose is in both."""
    build = getattr(scope, how)
    levels = build(names.FLAGGED_RUNS, f"{by} severity", severity=SURE)
    return f"max by ({', '.join(by.split())}) ({levels})"


def share(scope: Scope, how: str, metric: Metric, by: str, part: str, **whole: str) -> str:
    """The share of a counter's values that has one value of its label; none of it yet is 0."""
    build = getattr(scope, how)
    (label,) = whole
    numerator, denominator = (build(metric, by, **{label: text}) for text in (part, whole[label]))
    return f"({numerator}\nor 0 * {denominator})\n/ {denominator}"


def completed(scope: Scope, how: str) -> str:
    """Runs that did their task, of those the judge could decide on."""
    return share(scope, how, names.JUDGE_TASK_COMPLETED, "", "yes", verdict="~yes|no")


def wasted(scope: Scope, how: str) -> str:
    """Tokens after the first finding: the largest mode's, as one run may show several."""
    return f"max({getattr(scope, how)(names.TOKENS_AFTER_FINDING, 'mode')})"


def deciding(scope: Scope, by: str) -> str:
    """Runs with a deciding step, sure or not."""
    return scope.gained(names.ATTRIBUTIONS, by, result="~attributed|unverified")


def or_none(query: str, label: str) -> str:
    """Zero, named ``none``, where nothing was ever counted: good news is not "no data"."""
    return f'{query}\nor on () label_replace(vector(0), "{label}", "none", "", "")'
