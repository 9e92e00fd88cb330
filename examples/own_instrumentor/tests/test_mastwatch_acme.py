from acme_agents import Agent, Team, Use
from exercise import Exercise, scripted
from mastwatch_acme import AcmeInstrumentor

import mastwatch
from mastwatch.testing import Recording, check_instrumentor


def test_it_keeps_the_contract():
    check_instrumentor(AcmeInstrumentor, Exercise())


def test_what_it_tells():
    recording = Recording()
    instrumentor = AcmeInstrumentor()
    instrumentor.install(recording.emitter)
    try:
        Exercise().run()
    finally:
        instrumentor.uninstall()
    recording.check()
    assert [speaker for speaker, _ in recording.said] == ["pilot", "pilot", "captain"]
    assert recording.tools == [("pilot", "read_page", {"page": 4})]
    assert recording.ends == [("completed", "every agent has spoken")]


def test_a_loop_is_found():
    same = [Use("read_page", {"page": 4})] * 5
    pilot = Agent(
        "pilot", scripted([*same, "It will be deep enough."]), {"read_page": lambda page: "?"}
    )
    found = []
    with mastwatch.instrument(metrics="none", frameworks=["acme"]):
        mastwatch.on_finding(found.append)
        Team("voyage", [pilot]).run("How deep is it?")
    assert {(finding.mode, finding.agent) for finding in found} == {("FM-1.3", "pilot")}
