"""Alerts on the failure modes that occur almost only in failed runs, in two forms.

``FM-1.5`` is told by a live detector. Of ``FM-2.4`` the live detector only has a suspicion, so the
alert is on what the judge found. Load one of the two forms.
"""

from __future__ import annotations

from mastwatch import taxonomy
from mastwatch.panels.rules.alert import Alert
from mastwatch.panels.rules.parameters import Parameters
from mastwatch.panels.rules.recording import flagged, flagged_share, present, present_share

LIVE, BY_JUDGE = (mode for mode in taxonomy.MODES if mode.fatal)


def ratio_alerts(p: Parameters) -> list[Alert]:
    """The default: a share of the runs over two windows, and a minimum count."""
    live_share = [flagged_share(window) for window in (p.long, p.short)]
    judge_share = [present_share(window) for window in (p.long, p.short)]
    return [
        Alert(
            name="TerminationUnawareness",
            expr=_share_over(LIVE.code, live_share, flagged(p.long), p),
            severity="critical",
            mode=LIVE.code,
            hold=p.hold,
            linger=p.linger,
            summary=f"Runs of {{{{ $labels.job }}}} go on after they are over ({LIVE.code})",
            description=f"{{{{ $value | humanizePercentage }}}} of the runs of the last {p.long} "
            "went on after the answer, without end. They spend tokens and rarely succeed.",
        ),
        Alert(
            name="InformationWithholding",
            expr=_share_over(BY_JUDGE.code, judge_share, present(p.long), p),
            severity="critical",
            mode=BY_JUDGE.code,
            source="judge",
            hold=p.hold,
            linger=p.linger,
            summary=f"Agents of {{{{ $labels.job }}}} withhold information ({BY_JUDGE.code})",
            description="The judge found it in {{ $value | humanizePercentage }} of the runs it "
            f"judged in the last {p.long}. Such runs rarely succeed.",
        ),
    ]


def any_alerts(p: Parameters) -> list[Alert]:
    """For low volume: every occurrence, once."""
    return [
        Alert(
            name="AnyTerminationUnawareness",
            expr=f'{flagged(p.short)}{{mode="{LIVE.code}"}} > 0',
            severity="critical",
            mode=LIVE.code,
            summary=f"A run of {{{{ $labels.job }}}} goes on after it is over ({LIVE.code})",
            description=f"{{{{ $value | humanize }}}} in the last {p.short}.",
        ),
        Alert(
            name="AnyInformationWithholding",
            expr=f'{present(p.short)}{{mode="{BY_JUDGE.code}"}} > 0',
            severity="critical",
            mode=BY_JUDGE.code,
            source="judge",
            summary=f"An agent of {{{{ $labels.job }}}} withheld information ({BY_JUDGE.code})",
            description="The judge found it in {{ $value | humanize }} runs in the last "
            f"{p.short}.",
        ),
    ]


def _share_over(mode: str, shares: list[str], count: str, p: Parameters) -> str:
    """All shares above the threshold, and the count large enough to be no accident."""
    above = "\nand ".join(f'{share}{{mode="{mode}"}} > {p.share}' for share in shares)
    return f'{above}\nand {count}{{mode="{mode}"}} >= {p.least_runs}'
