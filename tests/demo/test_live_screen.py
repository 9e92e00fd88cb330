"""The live view in a terminal, drawn on a recorded console."""

import io

import pytest

from mastwatch.events import MessageSent, RunFinished, RunStarted, ToolRequest
from mastwatch.findings import Finding, Severity
from mastwatch.live import View

pytest.importorskip("rich")

from rich.console import Console

from mastwatch.live.screen import InlinePainter, ScreenPainter, picture

RUN = "3f2a91c0ffee"


def console(width=120, height=40):
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height)


def finding(severity, index, evidence):
    return Finding(
        mode="FM-1.3",
        severity=severity,
        detector="step_repetition",
        run_id=RUN,
        agent="Planner",
        message_index=index,
        evidence=evidence,
        explanation="Planner said the same three times.",
        fingerprint="f",
        episode="f-1",
        framework="autogen",
    )


def chat(view, messages=6):
    view.on_event(RunStarted(run_id=RUN, name="team", framework="autogen"), "autogen")
    for index in range(messages):
        view.on_event(
            MessageSent(
                run_id=RUN,
                index=index,
                sender="Planner" if index % 2 else "Coder",
                recipients=("chat_manager",),
                text=f"words of message {index} \x1b[31m[bold]",
            ),
            "autogen",
        )


def drawn(view, screen):
    view.refresh()
    plain = Console(file=io.StringIO(), width=screen.width, height=screen.height)
    plain.print(picture(view.board, plain))
    return plain.file.getvalue()


@pytest.mark.parametrize(("width", "height"), [(120, 40), (80, 24), (60, 16)])
def test_the_picture_fits_the_terminal(width, height):
    screen = console(width, height)
    view = View(ScreenPainter(io.StringIO(), screen))
    view.announce("A title that is long enough to be cut off " * 4, "and what to look at " * 9)
    chat(view, 60)
    view.on_finding(finding(Severity.WARN, 9, (3, 6, 9)))
    lines = drawn(view, screen).splitlines()
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "FM-1.3 Step repetition" in text
    assert "Planner" in text
    assert "words of message 59 [31m[bold]" in text


def test_rows_that_show_a_finding_are_marked_and_a_rise_updates_its_place():
    screen = console()
    view = View(ScreenPainter(io.StringIO(), screen))
    chat(view)
    view.on_finding(finding(Severity.SUSPECT, 3, (1, 3)))
    view.on_finding(finding(Severity.WARN, 5, (1, 3, 5)))
    text = drawn(view, screen)
    marked = [line.split()[1] for line in text.splitlines() if "words" in line and "◆" in line]
    assert marked == ["1", "3", "5"]
    assert text.count("FM-1.3") == 1
    assert "WARN" in text
    assert "SUSPECT" not in text
    assert "first seen at 3" in text


def test_a_healthy_run_says_so():
    screen = console()
    view = View(ScreenPainter(io.StringIO(), screen))
    chat(view)
    assert "nothing so far" in drawn(view, screen)


def test_a_message_that_only_calls_tools_shows_the_calls():
    screen = console()
    view = View(ScreenPainter(io.StringIO(), screen))
    call = ToolRequest(name="search", arguments={"query": "warehouse", "page": 2})
    view.on_event(MessageSent(run_id=RUN, index=0, sender="A", text="", tool_calls=(call,)), "x")
    assert 'search(query="warehouse", page=2)' in drawn(view, screen)


def test_several_runs_at_once_are_told_apart():
    screen = console()
    view = View(ScreenPainter(io.StringIO(), screen))
    for run_id in ("aaaa1111", "bbbb2222", "cccc3333"):
        view.on_event(RunStarted(run_id=run_id, name="r", framework="langgraph"), "langgraph")
        view.on_event(MessageSent(run_id=run_id, index=0, sender="A", text="hello"), "langgraph")
    text = drawn(view, screen)
    assert "and 1 more run" in text
    assert text.count("hello") == 3


def test_the_screen_ends_with_a_summary():
    screen = console()
    view = View(ScreenPainter(io.StringIO(), screen))
    chat(view)
    view.on_finding(finding(Severity.ALERT, 5, (1, 3, 5)))
    view.on_event(RunFinished(run_id=RUN, index=5, outcome="limit"), "autogen")
    view.stop()
    end = screen.file.getvalue()[-1500:]
    assert "first at message 5 of 6" in end
    assert "metrics" in end
    assert screen.file.getvalue().rindex("\x1b[?25h") > screen.file.getvalue().rindex("\x1b[?25l")


def test_panels_between_the_apps_lines_never_move_the_cursor():
    screen = console()
    view = View(InlinePainter(io.StringIO(), screen))
    chat(view)
    view.on_finding(finding(Severity.WARN, 5, (1, 3, 5)))
    view.on_event(RunFinished(run_id=RUN, index=5, outcome="limit"), "autogen")
    view.stop()
    text = screen.file.getvalue()
    assert "FM-1.3" in text
    assert "words of message" not in text  # the app prints them itself
    assert not [code for code in ("\x1b[1A", "\x1b[2K", "\x1b[?1049h", "\r") if code in text]


def test_a_reader_that_goes_away_does_not_end_the_app():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def isatty(self):
            return True

    view = View(InlinePainter(Gone()))
    chat(view)
    view.on_finding(finding(Severity.WARN, 5, (1, 3, 5)))
    view.stop()
