"""``mastwatch.allow`` and rules through the whole path: a planted loop in instrumented runs."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from contextlib import suppress

import prometheus_client
import pytest

import mastwatch
from mastwatch import Severity, allow
from mastwatch.allowances import allowance_for
from mastwatch.sink import Sink

LOOP = "I will search the archive for the missing invoice number once more now"
REASON = "polls a queue on purpose"


@pytest.fixture
def registry():
    return prometheus_client.CollectorRegistry()


@pytest.fixture
def watched(registry):
    """Instruments with the settings given; gives the findings that come."""
    handles = []

    def instrument(**settings):
        handles.append(mastwatch.instrument(registry=registry, **settings))
        found = []
        mastwatch.on_finding(found.append)
        return found

    yield instrument
    for handle in handles:
        handle.uninstrument()


def loop(times: int = 8, agent: str = "Planner") -> str:
    with mastwatch.run("demo", task="find the invoice") as run:
        for _ in range(times):
            mastwatch.message(agent, LOOP, to="Coder")
            mastwatch.tool("search", {"q": "invoice"}, agent="Coder", result="nothing found")
    return run.id


def modes(findings) -> set[str]:
    return {f.mode for f in findings}


def suppressed(registry) -> dict[tuple[str, str], float]:
    found = {}
    for family in registry.collect():
        for sample in family.samples:
            if sample.name == "mastwatch_suppressed_findings_total" and sample.value:
                key = (sample.labels["mode"], sample.labels["by"])
                found[key] = found.get(key, 0) + sample.value
    return found


def probe(mode: str = "FM-1.3", agent: str = "A", tool: str = ""):
    return allowance_for(
        mastwatch.Finding(
            mode=mode, severity=Severity.WARN, detector="d", run_id="r", agent=agent, tool=tool,
            message_index=0, evidence=(), explanation="", fingerprint="f",
        )
    )  # fmt: skip


def test_what_is_allowed_is_counted_and_not_reported(watched, registry, caplog) -> None:
    found = watched()
    caplog.set_level(logging.INFO, "mastwatch")
    with allow("FM-1.3", reason=REASON):
        run_id = loop()
    assert "FM-1.3" not in modes(found)
    assert suppressed(registry)[("FM-1.3", "allow")] >= 1
    lines = [r.getMessage() for r in caplog.records if "finding suppressed" in r.getMessage()]
    episodes = {line.partition("episode='")[2].partition("'")[0] for line in lines}
    assert len(lines) == len(episodes) >= 1
    assert all(REASON in line and run_id in line for line in lines)
    loop()
    assert "FM-1.3" in modes(found)


def test_another_mode_another_agent_another_tool_are_not_allowed(watched) -> None:
    found = watched()
    with (
        allow("FM-2.1", reason=REASON),
        allow("FM-1.3", reason=REASON, agent="Nobody"),
        allow("FM-1.3", reason=REASON, tool="poll_*"),
    ):
        loop()
    assert "FM-1.3" in modes(found)


def test_an_allowed_run_has_no_severity(watched) -> None:
    watched()
    handle = mastwatch.instrument()
    with allow("FM-1.3", reason=REASON), allow("FM-1.5", reason=REASON):
        run_id = loop()
    assert handle.watch.runs.summary(run_id).worst in (None, Severity.INFO)


def test_children_of_the_metric_exist_from_the_start(watched, registry) -> None:
    watched()
    text = prometheus_client.generate_latest(registry).decode()
    for by in ("allow", "ignore"):
        assert (
            f'mastwatch_suppressed_findings_total{{by="{by}",mode="FM-1.5",severity="alert"}} 0.0'
            in text
        )


def test_a_rule_ignores(watched, registry) -> None:
    found = watched(rules=[{"mode": "step_repetition", "ignore": True, "reason": REASON}])
    loop()
    assert "FM-1.3" not in modes(found)
    assert suppressed(registry)[("FM-1.3", "ignore")] >= 1


def test_a_rule_caps(watched) -> None:
    found = watched(rules=[{"mode": "FM-1.3", "framework": "custom", "severity": "suspect"}])
    loop()
    of_mode = [f for f in found if f.mode == "FM-1.3"]
    assert {f.severity for f in of_mode} == {Severity.SUSPECT}
    assert len(of_mode) == len({f.episode for f in of_mode})  # no rise is a second finding


def test_thresholds_are_raised(watched) -> None:
    high = {"stuck_warn": 90, "stuck_alert": 90, "near_suspect": 90, "near_warn": 90,
            "near_alert": 90, "cycle_warn": 90, "cycle_alert": 90, "churn_info": 90,
            "churn_warn": 90, "stale_times": 90}  # fmt: skip
    found = watched(thresholds={"step_repetition": high})
    loop()
    assert not [f for f in found if f.mode == "FM-1.3" and f.severity >= Severity.WARN]


def test_problems_are_logged_once_and_the_host_runs(watched, caplog) -> None:
    found = watched(
        rules=[{"mode": "FM-1.3", "ignore": True}, 7], thresholds={"step_repetition": {"x": 1}}
    )
    loop()
    assert "FM-1.3" in modes(found)
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    for part in ("instrument(rules=) #1: ignore needs", "instrument(rules=) #2: expected a table",
                 "instrument(thresholds=).step_repetition.x: no such parameter"):  # fmt: skip
        assert sum(part in line for line in said) == 1


@pytest.mark.parametrize("rules", [5, "nonsense", {"mode": "FM-1.3"}])
def test_rules_that_are_no_list_are_a_problem_not_an_error(watched, caplog, rules) -> None:
    watched(rules=rules)
    assert "instrument(rules=): " in caplog.text


def test_a_sink_hears_of_what_was_suppressed(watched) -> None:
    heard = []

    class Ears(Sink):
        def on_suppressed(self, finding, by, reason):
            heard.append((finding.mode, by, reason))

    watched()
    mastwatch.instrument().add_sink(Ears())
    with allow("FM-1.3", reason=REASON):
        loop()
    assert ("FM-1.3", "allow", REASON) in heard


# The context itself.


def test_mistakes_of_the_host_are_told_at_once() -> None:
    with pytest.raises(ValueError, match=r"'FM-9.9' is no MAST failure mode"):
        allow("FM-9.9", reason=REASON)
    with pytest.raises(ValueError, match="needs a reason"):
        allow("FM-1.3", reason="  ")
    with pytest.raises(TypeError):
        allow("FM-1.3")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        allow("FM-1.3", reason=None)  # type: ignore[arg-type]


def test_without_instrument_it_does_nothing() -> None:
    with allow("FM-1.3", reason=REASON) as given:
        assert isinstance(given, allow)
    assert probe() is None


def test_it_nests_and_ends_with_an_exception() -> None:
    with allow("FM-1.3", reason="outer"):
        with suppress(RuntimeError), allow("step_repetition", reason="inner", agent=["A", "B"]):
            assert probe().reason == "inner"
            assert probe(agent="C").reason == "outer"
            raise RuntimeError
        assert probe().reason == "outer"
        assert probe(mode="FM-1.5") is None
    assert probe() is None


def test_one_object_may_be_entered_again() -> None:
    ours = allow("FM-1.3", reason=REASON)
    with ours:
        with ours:
            pass
        assert probe() is not None
    assert probe() is None


def test_leaving_it_in_another_context_raises_nothing() -> None:
    ours = allow("FM-1.3", reason=REASON)
    ours.__enter__()
    contextvars.Context().run(ours.__exit__, None, None, None)
    assert probe() is not None
    ours.__exit__(None, None, None)
    assert probe() is None


def test_as_a_decorator() -> None:
    @allow("FM-1.3", reason=REASON)
    def plain(x: int) -> tuple[int, bool]:
        """Kept."""
        return x, probe() is not None

    @allow("FM-1.3", reason=REASON)
    async def slow() -> bool:
        await asyncio.sleep(0)
        return probe() is not None

    async def both() -> list[bool]:
        return [*await asyncio.gather(slow(), slow()), probe() is None]

    assert plain(1) == (1, True)
    assert (plain.__name__, plain.__doc__) == ("plain", "Kept.")
    assert asyncio.run(both()) == [True, True, True]


def test_a_decorated_generator_is_warned_about(caplog) -> None:
    @allow("FM-1.3", reason=REASON)
    def steps():
        yield 1

    assert list(steps()) == [1]
    assert "does not reach into the generator" in caplog.text


def test_tasks_and_threads_that_copy_the_context_are_covered() -> None:
    ours = allow("FM-1.3", reason=REASON)

    async def tasks() -> list[bool]:
        async with ours:
            inside = await asyncio.gather(asyncio.to_thread(probe), asyncio.create_task(ask()))
        return [found is not None for found in (*inside, probe())]

    async def ask():
        return probe()

    assert asyncio.run(tasks()) == [True, True, False]
    seen = []
    with ours:
        copied = contextvars.copy_context()
        threads = [
            threading.Thread(target=lambda: seen.append(("bare", probe() is not None))),
            threading.Thread(target=lambda: seen.append(("copied", copied.run(probe) is not None))),
        ]
        for thread in threads:
            thread.start()
            thread.join()
    assert seen == [("bare", False), ("copied", True)]


def test_one_task_does_not_allow_for_another() -> None:
    async def one(allowing: bool, gate: asyncio.Event) -> bool:
        if allowing:
            async with allow("FM-1.3", reason=REASON):
                gate.set()
                await asyncio.sleep(0)
                return probe() is not None
        await gate.wait()
        return probe() is not None

    async def both() -> list[bool]:
        gate = asyncio.Event()
        return await asyncio.gather(one(True, gate), one(False, gate))

    assert asyncio.run(both()) == [True, False]


# Real frameworks.


def langgraph_loop():
    pytest.importorskip("langgraph")
    pytest.importorskip("langchain")
    from apps.langgraph_apps import INPUT, looping_supervisor_app

    return looping_supervisor_app(40), INPUT


async def drive(app, given) -> None:
    with suppress(Exception):
        await app.ainvoke(given)


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream"])
@pytest.mark.parametrize("allowed", [True, False])
def test_around_a_langgraph_app(watched, registry, how, allowed) -> None:
    app, given = langgraph_loop()
    found = watched()
    mode = "FM-1.3" if allowed else "FM-2.1"
    with allow(mode, reason=REASON), suppress(Exception):
        if how == "invoke":
            app.invoke(given)
        elif how == "stream":
            for _ in app.stream(given):
                pass
        else:
            asyncio.run(drive(app, given))
    assert ("FM-1.3" in modes(found)) is not allowed
    assert (("FM-1.3", "allow") in suppressed(registry)) is allowed


@pytest.mark.parametrize("allowed", [True, False])
def test_inside_a_node_or_tool_of_parallel_langgraph_workers(watched, registry, allowed) -> None:
    langgraph_loop()
    from apps.langgraph_apps import calls, tool_agent_app

    reply = calls(*[("lookup", {"city": "Ulm"}), ("lookup", {"city": "Ulm"})])
    app = tool_agent_app([*[reply] * 12, "done"])
    found = watched()
    with allow("FM-1.3" if allowed else "FM-2.1", reason=REASON), suppress(Exception):
        app.invoke({"messages": [("user", "How many?")]})
    assert ("FM-1.3" in modes(found)) is not allowed
    assert (("FM-1.3", "allow") in suppressed(registry)) is allowed


def ag2_pair():
    pytest.importorskip("autogen")
    from apps.autogen_apps import assistant, canned

    waiting = canned("user", "Please go on and find the invoice number in the archive, I wait here")
    return waiting, assistant("assistant", [LOOP])


@pytest.mark.parametrize("how", ["initiate_chat", "a_initiate_chat"])
@pytest.mark.parametrize("allowed", [True, False])
def test_around_an_ag2_chat(watched, registry, how, allowed) -> None:
    user, helper = ag2_pair()
    found = watched()
    with allow("FM-1.3" if allowed else "FM-2.1", reason=REASON):
        if how == "initiate_chat":
            user.initiate_chat(helper, message="Find the invoice.", max_turns=8, silent=True)
        else:
            asyncio.run(
                user.a_initiate_chat(helper, message="Find the invoice.", max_turns=8, silent=True)
            )
    assert ("FM-1.3" in modes(found)) is not allowed
    assert (("FM-1.3", "allow") in suppressed(registry)) is allowed


@pytest.mark.parametrize("allowed", [True, False])
def test_it_reaches_into_the_thread_that_ag2s_run_starts(watched, registry, allowed) -> None:
    user, helper = ag2_pair()
    found = watched()
    with allow("FM-1.3" if allowed else "FM-2.1", reason=REASON):
        user.run(helper, message="Find the invoice.", max_turns=8, silent=True).process()
    assert ("FM-1.3" in modes(found)) is not allowed
    assert (("FM-1.3", "allow") in suppressed(registry)) is allowed
