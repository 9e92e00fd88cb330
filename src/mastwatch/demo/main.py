"""``mastwatch demo``: four small apps one after the other, watched live.

Three of them fail in the way their story says, one is healthy and stays silent. No key, no network.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import mastwatch
from mastwatch import live
from mastwatch.demo import models

PACE = 0.17
"""Seconds a scripted model takes on a terminal; the whole demo then lasts about half a minute."""
REST = 10
"""How many such times the picture stays after each story."""


@dataclass(frozen=True)
class Story:
    """One app of the demo.

    Attributes:
        name: Its module in ``mastwatch.demo.apps``.
        title: What it is.
        watch_for: What the reader should look at.
        needs: The module that must be installed.
    """

    name: str
    title: str
    watch_for: str
    needs: str


STORIES = (
    Story(
        "ag2_loop",
        "An AG2 group chat that goes round in circles",
        "the Planner asks for the same step again, the search finds nothing again",
        "autogen",
    ),
    Story(
        "ag2_no_stop",
        "An AG2 pair that has the answer and goes on",
        "the check for TERMINATE does not match, so the work continues after the answer",
        "autogen",
    ),
    Story(
        "langgraph_restart",
        "A LangGraph supervisor that loses its history",
        "a trim leaves nothing but the task, and the supervisor starts over",
        "langgraph",
    ),
    Story(
        "langgraph_healthy",
        "A LangGraph team that is fine",
        "it polls, turns pages and checks twice: no finding",
        "langgraph",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``mastwatch demo`` to a parser."""
    parser.add_argument("--fast", action="store_true", help="as fast as the machine goes")
    parser.add_argument("--speed", type=_factor, default=1.0, help="2 = twice as fast")
    parser.add_argument("--only", choices=[story.name for story in STORIES], help="one story")
    parser.add_argument("--plain", action="store_true", help="lines, as without a terminal")
    parser.add_argument(
        "--hold", type=float, default=0.0, metavar="SECONDS", help="keep /metrics up at the end"
    )


def main(args: argparse.Namespace) -> int:
    """Run the demo.

    Args:
        args: What ``add_arguments`` defines.

    Returns:
        The exit status: 0, or 1 where a story could not be told.
    """
    plain = args.plain or not sys.stdout.isatty()
    pace = 0.0 if args.fast or plain else PACE / args.speed
    models.set_pace(pace)
    stories = [story for story in STORIES if args.only in (None, story.name)]
    with mastwatch.instrument() as handle:
        try:
            with live.start(handle, stream=sys.stdout, plain=plain, screen=True) as view:
                told = [_tell(view, story, pace) for story in stories]
            if not plain:
                print("\nyour own app, seen like this: mastwatch run --live app.py")
            _hold(handle.metrics_url, args.hold)
        except KeyboardInterrupt:
            return 130
    return 0 if all(told) else 1


def _tell(view: live.View, story: Story, pace: float) -> bool:
    place = f"{STORIES.index(story) + 1}/{len(STORIES)}"
    if importlib.util.find_spec(story.needs) is None:
        view.announce(
            f"{place} {story.title}",
            f"skipped: {story.needs} is not installed (pip install 'mastwatch[demo]')",
        )
        time.sleep(pace * REST)
        return True
    view.announce(f"{place} {story.title}", story.watch_for)
    try:
        # The app's own output would run through the picture; the view shows the messages itself.
        with contextlib.redirect_stdout(_Nowhere()):
            importlib.import_module(f"mastwatch.demo.apps.{story.name}").main()
    except Exception as error:
        view.announce(f"{place} {story.title}", f"failed: {type(error).__name__}: {error}")
        return False
    time.sleep(pace * REST)
    return True


class _Nowhere(io.TextIOBase):
    """Swallows text. Never closed: AG2 keeps the stdout of its first import for good."""

    def write(self, text: str) -> int:
        return len(text)


def _hold(metrics_url: str | None, seconds: float) -> None:
    if seconds <= 0:
        return
    if metrics_url is not None:
        print(f"{metrics_url} stays up for {seconds:g} s; Ctrl-C ends it", flush=True)
    time.sleep(seconds)


def _factor(text: str) -> float:
    factor = float(text)
    if factor <= 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return factor


def run(argv: Sequence[str] | None = None) -> int:
    """Run the demo from command-line words."""
    parser = argparse.ArgumentParser(prog="mastwatch demo", description=__doc__)
    add_arguments(parser)
    return main(parser.parse_args(argv))
