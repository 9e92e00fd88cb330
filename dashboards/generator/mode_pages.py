"""The pages of the failure modes: their heads are generated, what follows is written by hand."""

from __future__ import annotations

from pathlib import Path

from mastwatch import registry, taxonomy
from mastwatch.detector import Detector
from mastwatch.findings import Severity
from mastwatch.panels.rules import Parameters, alerts
from mastwatch.panels.rules.alert import anchor
from mastwatch.taxonomy import FailureMode

FOLDER = "docs/modes"
BEGIN = "<!-- Generated from taxonomy, detectors and rules by `python dashboards/generator`. -->"
END = "<!-- What follows is written by hand. -->"
SECTIONS = ("What it is", "An example", "How mastwatch sees it", "Likely causes", "What helps")
_INDEX = """\
# The failure modes

The 14 modes of the MAST taxonomy (Cemri et al., "Why Do Multi-Agent LLM Systems Fail?",
[arXiv 2503.13657](https://arxiv.org/abs/2503.13657)), in our words. *Live* is the highest severity
at which a detector speaks while the run goes on; the judge looks for all of them in finished runs.
*Fatal* ones occur almost only in runs that fail.

| code | mode | category | live | fatal |
|---|---|---|---|---|
"""


def mode_pages(root: Path) -> dict[str, str]:
    """Path and text of every page and of the index.

    Args:
        root: The repository, for what is written by hand.
    """
    pages = {f"{FOLDER}/{mode.slug}.md": _page(mode, root) for mode in taxonomy.MODES}
    rows = "".join(
        f"| {mode.code} | [{mode.name}]({mode.slug}.md) | {_words(mode.category.value)} "
        f"| {_live(mode)} | {'yes' if mode.fatal else ''} |\n"
        for mode in taxonomy.MODES
    )
    return {**pages, f"{FOLDER}/index.md": f"{BEGIN}\n{_INDEX}{rows}"}


def _page(mode: FailureMode, root: Path) -> str:
    path = root / FOLDER / f"{mode.slug}.md"
    written = path.read_text(encoding="utf-8").partition(END)[2] if path.exists() else ""
    return f"{_head(mode)}{END}{written or _empty()}"


def _empty() -> str:
    return "\n" + "".join(f"\n## {section}\n" for section in SECTIONS)


def _head(mode: FailureMode) -> str:
    fatal = "yes: it occurs almost only in runs that fail" if mode.fatal else "no"
    facts = {
        "slug": f"`{mode.slug}`",
        "category": _words(mode.category.value),
        "shows mostly": f"in {_words(mode.stage.value)}",
        "fatal": fatal,
        "live": _detector(mode),
        "alerts": _alerts(mode),
    }
    rows = "".join(f"| {name} | {value} |\n" for name, value in facts.items())
    return f"{BEGIN}\n# {mode.code} {mode.name}\n\n| | |\n|---|---|\n{rows}\n"


def _detector(mode: FailureMode) -> str:
    found = [d for d in _detectors() if d.mode == mode.code]
    if not found:
        return "none: the judge only"
    (detector,) = found
    kind = "a hint for the judge, " if detector.ceiling <= Severity.SUSPECT else ""
    return f"detector `{detector.name}`, {kind}up to `{detector.ceiling.label}`"


def _live(mode: FailureMode) -> str:
    ceilings = [d.ceiling.label for d in _detectors() if d.mode == mode.code]
    return ceilings[0] if ceilings else "judge only"


def _alerts(mode: FailureMode) -> str:
    # Those that compare weeks are for every mode; detectors flag only some of them.
    flagged = any(d.mode == mode.code and d.ceiling > Severity.SUSPECT for d in _detectors())
    own = [
        alert
        for alert in alerts(Parameters())
        if alert.mode == mode.code or (not alert.mode and (flagged or alert.source == "judge"))
    ]
    return ", ".join(f"[`Mastwatch{a.name}`](../alerts.md#{anchor(a.name)})" for a in own)


def _detectors() -> list[type[Detector]]:
    """Those that come with mastwatch; what else is installed here is nobody else's."""
    found = registry.detectors()
    return [d for d in found if d.__module__.startswith("mastwatch_detectors.")]


def _words(text: str) -> str:
    return text.replace("_", " ")
