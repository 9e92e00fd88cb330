"""How numbers, times and reasons are said in all reports."""

from __future__ import annotations

from datetime import datetime, timezone

from mastwatch import taxonomy
from mastwatch.store import Attribution, Trace, Usage, Verdict

REASONS = {
    "ambiguous": "the model decided for neither half of the run",
    "auth": "the model's server refused the key",
    "budget": "a limit on calls, tokens or money was reached",
    "conflict": "the model said two different things",
    "context_overflow": "the run did not fit into the model, even in parts",
    "empty": "the model sent an empty reply",
    "internal_error": "an error of mastwatch itself",
    "missing": "the model said nothing about this mode",
    "no_error": "the model saw no error that decided the run",
    "no_evidence": "no quote of it was found in the run",
    "no_such_step": "the model named steps that the run does not have",
    "no_rows": "the run holds no messages, or is no longer in the store",
    "no_text": "the messages of the run hold no text",
    "not_at_end": "no evidence near the end of the run, where this mode shows",
    "one_row": "evidence in one message only; a repetition takes two",
    "provider_error": "the model's server failed",
    "rate_limited": "the model's server turned calls away",
    "refusal": "the model refused to answer",
    "schema": "the reply about this mode was malformed",
    "single_agent": "one agent only; this mode takes two",
    "succeeded": "the run is known to have succeeded",
    "split_vote": "the votes were split",
    "timeout": "the model did not answer in time",
    "truncated": "the reply was cut off",
    "unparsable": "the reply could not be read",
    "unreachable": "the model could not be reached",
    "unreadable": "the stored run cannot be read",
    "worker_died": "the workers that judged this run died over it",
}
WORDS = {
    "present": "present",
    "absent": "absent",
    "unsure": "unsure",
    "not_evaluated": "not evaluated",
    "yes": "yes",
    "no": "no",
    "unclear": "unclear",
}
METHODS = {
    "propose_verify": "propose and verify",
    "all_at_once": "all at once",
    "step_by_step": "step by step",
    "binary_search": "binary search",
}
DECISIONS = {
    "attributed": "decided",
    "unverified": "perhaps",
    "none": "no deciding step",
    "not_evaluated": "not evaluated",
}
CHECKS = {
    "survived": "survived its check",
    "refuted": "refuted",
    "unchecked": "not checked",
}
_NAME_CHARS = 80


def reason(name: str) -> str:
    """Why a verdict was not reached, in words; an unknown reason stands as it is.

    >>> reason("budget"), reason("full_moon")
    ('a limit on calls, tokens or money was reached', 'full moon')
    """
    return REASONS.get(name, name.replace("_", " "))


def mode_name(verdict: Verdict) -> str:
    """A mode's name; of a mode of your own its key, in words."""
    return slug_name(verdict.slug)


def slug_name(slug: str) -> str:
    """A mode's name by its key.

    >>> slug_name("step_repetition"), slug_name("rude_tone")
    ('Step repetition', 'Rude tone')
    """
    try:
        return taxonomy.mode(slug).name
    except KeyError:
        return slug.replace("_", " ").capitalize()


def decision(attribution: Attribution) -> str:
    """What an attribution says, in one line.

    >>> found = Attribution(run_id="r", method="all_at_once", result="none", reason="no_error")
    >>> decision(found)
    'no deciding step: the model saw no error that decided the run'
    """
    word = DECISIONS[attribution.result]
    if attribution.step is None:
        return f"{word}: {reason(attribution.reason)}" if attribution.reason else word
    return f"{word}: #{attribution.step} {agent_name(attribution.agent)}"


def fatal(slug: str) -> bool:
    """Whether a mode occurs almost only in failed runs."""
    return any(mode.slug == slug and mode.fatal for mode in taxonomy.MODES)


def title(trace: Trace) -> str:
    """What a run is called."""
    return trace.name or trace.run_id


def agent_name(name: str) -> str:
    """An agent's name, as much of it as a line has room for.

    >>> agent_name("Planner"), len(agent_name("x" * 5_000)), agent_name("")
    ('Planner', 80, '?')
    """
    return (name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 1]}…") or "?"


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> count(1, "call"), count(1200, "reply", "replies")
    ('1 call', '1,200 replies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def share(value: float) -> str:
    """A share of one as a percentage; only what is whole is called 100 %, only nothing 0 %.

    >>> share(1.0), share(0.9999), share(0.0526), share(0.0), share(0.0001)
    ('100 %', '99.9 %', '5.3 %', '0 %', '< 0.1 %')
    """
    if 0 < value < 0.0005:
        return "< 0.1 %"
    percent = 100 if value >= 1 else min(round(100 * value, 1), 99.9)
    return f"{percent:g} %"


def money(usd: float | None) -> str:
    """An amount of money; None where no price is known.

    >>> money(0.01234), money(12.5), money(None), money(0.0)
    ('$0.0123', '$12.50', 'no price known', '$0.00')
    """
    if usd is None:
        return "no price known"
    return f"${usd:.4f}" if 0 < usd < 1 else f"${usd:,.2f}"


def tokens(usage: Usage) -> str:
    """Tokens used, and those that were expected beforehand."""
    used = usage.input_tokens + usage.output_tokens
    how = "estimated" if usage.estimated else "reported"
    return f"{used:,} {how}, {usage.planned_tokens:,} planned"


def moment(seconds: float | None) -> str:
    """A time in UTC, empty for none.

    >>> moment(0.0)
    '1970-01-01 00:00 UTC'
    """
    if not seconds and seconds != 0.0:
        return ""
    try:
        at = datetime.fromtimestamp(seconds, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return ""
    return at.strftime("%Y-%m-%d %H:%M UTC")


def duration(seconds: float) -> str:
    """A length of time.

    >>> duration(3.21), duration(75), duration(7300)
    ('3.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
