"""AG2's runtime logging: a database made by the real library, read back as chats."""

from __future__ import annotations

import gzip
import os
import sqlite3
from pathlib import Path

import pytest

from mastwatch.events import Contract, ModelCalled, RunStarted
from mastwatch.formats import RecordedRun, read_runs
from mastwatch.testing.model_server import Said, ScriptedModelServer

from .telling import calls, ended, results, said, speakers

autogen = pytest.importorskip("autogen")


def runs_of(path: Path) -> list[RecordedRun]:
    return [item for item in read_runs(path) if isinstance(item, RecordedRun)]


def add(a: int, b: int) -> int:
    return a + b


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three chats of one session: a tool, a group that runs code, a chat inside a chat."""
    folder = tmp_path_factory.mktemp("runtime")
    path = folder / "logs.db"
    script = [
        Said(content={"a": 1, "b": 2}, tool="add"),
        Said(content="It is 3. TERMINATE"),
        Said(content="```python\nprint(6 * 7)\n```"),
        Said(content="inner answer"),
    ]
    with ScriptedModelServer(script) as server, pytest.MonkeyPatch.context() as patch:
        # The library cannot log a ``base_url`` of its own configuration.
        patch.setenv("OPENAI_BASE_URL", server.url)
        autogen.runtime_logging.start(logger_type="sqlite", config={"dbname": str(path)})
        try:
            _chats(folder)
        finally:
            autogen.runtime_logging.stop()
    return path


def _chats(folder: Path) -> None:
    model = {"config_list": [{"model": "m", "api_key": "k"}], "cache_seed": None}
    me = autogen.UserProxyAgent(
        "user_proxy",
        human_input_mode="NEVER",
        code_execution_config={"work_dir": str(folder), "use_docker": False},
        is_termination_msg=lambda message: "TERMINATE" in (message.get("content") or ""),
    )
    helper = autogen.ConversableAgent("helper", "You add.", llm_config=model)
    coder = autogen.ConversableAgent("coder", "You code.", llm_config=model)
    autogen.register_function(add, caller=helper, executor=me, name="add", description="adds")
    me.initiate_chat(helper, message="Add 1 and 2.", silent=True)
    group = autogen.GroupChat(
        [me, coder], messages=[], max_round=3, speaker_selection_method="round_robin"
    )
    manager = autogen.GroupChatManager(group, llm_config=False)
    me.initiate_chat(manager, message="Print 42.", silent=True)
    outer = autogen.ConversableAgent("outer", llm_config=False, human_input_mode="NEVER")
    inner = {"recipient": coder, "message": "inner question", "max_turns": 1}
    outer.register_nested_chats([inner], trigger=me)
    me.initiate_chat(outer, message="Ask inside.", max_turns=1, silent=True)


def test_every_chat_of_a_session_is_a_run(database):
    first, second, third = runs_of(database)
    assert speakers(first) == ["user_proxy:opener", "helper:reply", "helper:reply"]
    assert calls(first) == [(1, "add", {"a": 1, "b": 2})]
    assert results(first) == [(2, "helper", "add", "3")]
    assert first.id.removesuffix("#1") == second.id.removesuffix("#2") == first.extra["session_id"]
    assert [text for _, _, _, text in said(third)] == [
        "Ask inside.",
        "inner question",
        "inner answer",
        "inner answer",
    ]


def test_a_managers_copies_of_a_message_are_no_messages(database):
    _, group, _ = runs_of(database)
    assert speakers(group) == ["user_proxy:opener", "coder:reply", "user_proxy:code"]
    assert calls(group) == [(1, "execute_code", {"language": "python", "code": "print(6 * 7)\n"})]


def test_a_group_has_its_cap_and_has_reached_it(database):
    first, group, _ = runs_of(database)
    started = group.events[0]
    assert isinstance(started, RunStarted)
    assert started.contract == Contract(max_messages=3, source="GroupChat.max_round")
    assert (ended(group)[0], ended(first)[0]) == ("limit", "unknown")


def test_a_chat_inside_a_chat_is_a_branch(database):
    *_, nested = runs_of(database)
    assert [(e.index, e.branch) for e in nested.events if hasattr(e, "sender")] == [
        (0, ""),
        (1, "chat 1"),
        (2, "chat 1"),
        (3, ""),
    ]


def test_model_calls_stand_before_what_they_led_to(database):
    first, *_ = runs_of(database)
    asked = [e for e in first.events if isinstance(e, ModelCalled)]
    assert [(e.index, e.agent, e.model, e.error) for e in asked] == [
        (0, "helper", "m", None),
        (2, "helper", "m", None),
    ]
    assert [len(e.request or ()) for e in asked] == [2, 4]
    assert asked[0].input_tokens
    assert asked[0].seconds is not None
    started = first.events[0]
    assert isinstance(started, RunStarted)
    assert started.prompts == {"helper": "You add.", "coder": "You code."}


def test_a_database_is_read_by_its_path_only(database, tmp_path):
    with open(database, "rb") as stream:
        [problem] = read_runs(stream, name="<stdin>")
    told = "<stdin>: is an SQLite database; give it as a file, it cannot be read as a stream"
    assert str(problem) == told
    zipped = tmp_path / "logs.db.gz"
    zipped.write_bytes(gzip.compress(database.read_bytes()))
    [problem] = read_runs(zipped)
    assert str(problem).endswith("is a zipped SQLite database; unpack it first")
    [problem] = read_runs(database, "text")
    assert str(problem).endswith("is an SQLite database, not a log in the format text")


def test_another_database_and_a_broken_one_are_told(database, tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE things (name TEXT)")
    connection.close()
    [problem] = read_runs(other)
    told = "is an SQLite database, but not one that AG2's runtime logging wrote"
    assert str(problem).endswith(told)
    broken = tmp_path / "broken.db"
    broken.write_bytes(database.read_bytes()[: os.path.getsize(database) // 2])
    assert [item for item in read_runs(broken) if not isinstance(item, RecordedRun)]


def test_a_broken_row_costs_only_itself(database, tmp_path):
    path = tmp_path / "logs.db"
    path.write_bytes(database.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET json_state = '{\"message\": 7}' WHERE id = 1")
        connection.execute(
            "UPDATE chat_completions SET request = '{', response = NULL WHERE id = 1"
        )
    connection.close()
    items = list(read_runs(path))
    assert len([item for item in items if isinstance(item, RecordedRun)]) == 3
    [problem] = [item for item in items if not isinstance(item, RecordedRun)]
    assert "message 0: the message is a number, not an object; skipped" in str(problem)
