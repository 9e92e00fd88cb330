"""Who decided that the run failed, at which step, and what would have saved it."""

from __future__ import annotations

from collections.abc import Sequence

from mastwatch.reports import wording
from mastwatch.reports.html.evidence import quotes
from mastwatch.reports.html.marks import (
    ATTRIBUTION_ANCHOR,
    Marks,
    candidate_anchor,
    verdict_anchor,
    weighed,
)
from mastwatch.reports.html.markup import Child, Html, el
from mastwatch.store import Attribution, Candidate, Report


def attribution(found: Attribution, report: Report | None, marks: Marks) -> Html:
    """The section beside the verdicts: the step, why, and what would have helped.

    Args:
        found: The attribution.
        report: The judge's, to link the modes that show in the step.
        marks: Its quotes.
    """
    return el(
        "section",
        el("h2", "Who and when ", el("small", "the step that decided the run")),
        _card(found, report, marks),
        _others(weighed(found), marks),
        el("p", _method(found), class_="note"),
        _problems(found),
        id="attribution",
        aria_label="Who decided the run, and when",
    )


def in_place(found: Attribution) -> Html:
    """What stands below the row that decided the run."""
    word = {"attributed": "decided the run", "unverified": "perhaps decided the run"}
    return el(
        "div",
        el(
            "a",
            word.get(found.result, ""),
            href=f"#{ATTRIBUTION_ANCHOR}",
            class_=f"word {found.result}",
            title="Back to who and when",
        ),
        el("p", found.reason, class_="why", dir="auto") if found.reason else None,
        _instead(found.counterfactual),
        class_="decided",
    )


def _card(found: Attribution, report: Report | None, marks: Marks) -> Html:
    if found.step is None:
        why: list[Child] = [el("p", wording.reason(found.reason), class_="why")]
    else:
        why = [
            el("p", found.reason, class_="why", dir="auto") if found.reason else None,
            _instead(found.counterfactual),
            _unverified(found),
            _beside(found, report),
            quotes(ATTRIBUTION_ANCHOR, marks),
        ]
    return el(
        "article",
        el(
            "h3",
            el("span", wording.DECISIONS[found.result], class_=f"word {found.result}"),
            _where(found.step, found.agent, marks) if found.step is not None else None,
        ),
        why,
        id=ATTRIBUTION_ANCHOR,
        class_=f"attribution {found.result}",
    )


def _where(step: int, agent: str, marks: Marks) -> list[Child]:
    """A step and who takes it, as a link to the row where that is in the page."""
    text = [el("span", f"#{step}", class_="number"), " ", wording.agent_name(agent)]
    target = marks.row(step)
    shown = el("a", text, href=target, class_="step") if target else el("span", text)
    return [" ", shown, None if target else el("small", " not in the stored run")]


def _instead(counterfactual: str) -> Html | None:
    if not counterfactual:
        return None
    return el("p", el("b", "Instead: "), counterfactual, class_="instead", dir="auto")


def _unverified(found: Attribution) -> Html | None:
    if found.result != "unverified":
        return None
    return el("p", "No candidate survived its check; this is the likeliest.", class_="note")


def _beside(found: Attribution, report: Report | None) -> Html | None:
    """The failure modes that show in this step, and a name that does not fit."""
    parts: list[Child] = []
    if found.modes:
        parts += ["Failure modes in this message: ", *_modes(found.modes, report)]
    if found.named_agent:
        parts += [
            " · " if parts else "",
            f"The model named {wording.agent_name(found.named_agent)}; who speaks there counts.",
        ]
    return el("p", parts, class_="note") if parts else None


def _modes(slugs: Sequence[str], report: Report | None) -> list[Child]:
    known = report.verdicts if report is not None else {}
    parts: list[Child] = []
    for slug in slugs:
        parts.append(", " if parts else "")
        name = wording.slug_name(slug)
        parts.append(el("a", name, href=f"#{verdict_anchor(slug)}") if slug in known else name)
    return parts


def _others(candidates: Sequence[Candidate], marks: Marks) -> Html | None:
    if not candidates:
        return None
    head = el("summary", f"Other steps that were weighed ({len(candidates)})")
    return el("details", head, [_candidate(each, marks) for each in candidates], class_="group")


def _candidate(candidate: Candidate, marks: Marks) -> Html:
    sure = f"confidence {candidate.confidence:.2f}" if candidate.confidence is not None else None
    return el(
        "article",
        el(
            "h3",
            el("span", wording.CHECKS[candidate.check], class_="word weighed"),
            _where(candidate.step, candidate.agent, marks),
        ),
        el("p", candidate.reason, class_="why", dir="auto") if candidate.reason else None,
        _instead(candidate.counterfactual),
        el("p", el("b", "Objection: "), candidate.objection, class_="instead", dir="auto")
        if candidate.objection
        else None,
        el("p", sure, class_="note") if sure else None,
        quotes(candidate_anchor(candidate.step), marks),
        id=candidate_anchor(candidate.step),
        class_="attribution weighed",
    )


def _method(found: Attribution) -> str:
    usage = found.usage
    parts = [
        wording.METHODS[found.method],
        "the right answer was shown" if found.ground_truth else "",
        found.model or "no model answered",
        wording.count(usage.calls, "call"),
        f"tokens: {wording.tokens(usage)}",
        wording.money(usage.usd),
        wording.duration(usage.seconds),
        f"{wording.share(found.coverage)} of the messages read",
        f"prompt {found.prompt_version}" if found.prompt_version else "",
        wording.moment(found.created) if found.created else "",
    ]
    return " · ".join(part for part in parts if part)


def _problems(found: Attribution) -> Html | None:
    if not found.problems:
        return None
    items = [el("li", problem) for problem in found.problems]
    label = f"{wording.count(len(items), 'problem')} on the way"
    return el("details", el("summary", label), el("ul", items), class_="problems")


def header_link(found: Attribution) -> Html:
    """What is said of it in the head of the page."""
    label = wording.DECISIONS[found.result]
    if found.step is not None:
        perhaps = "perhaps " if found.result == "unverified" else ""
        label = f"{perhaps}decided at #{found.step} by {wording.agent_name(found.agent)}"
    return el("a", label, href=f"#{ATTRIBUTION_ANCHOR}", class_=f"word {found.result}")
