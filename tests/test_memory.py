"""Threads, turns and hidden requests, over what clients send one after another."""

from __future__ import annotations

import msgspec
import pytest

from proxy.dialects.base import PromptPart
from proxy.journal.memory import Memory
from proxy.journal.record import Prefix, Record
from tests.support.asking import Client, talk
from tests.support.builders import MS, record, words

TOOL = PromptPart("tools", "tool", "{}", "look")
SYSTEM = PromptPart("system", "system", "Be brief.")
LONG = "an answer that is long enough to be told from all others by its own words " * 2
TITLE = PromptPart("system", "system", "You are a title generator.")
LIBRARY = {"user_agent": "OpenAI/Python 3.57.0"}


def loop(question, *results):
    """An agent's loop: the question, then for each result the call before it."""
    yield PromptPart("question", "user", question)
    for result in results:
        yield PromptPart("history", "assistant", f"look {result}")
        yield PromptPart("tool_results", "tool", result)
        yield PromptPart("tool_results", "injected", "<system-reminder>go on</system-reminder>")


def test_a_conversation_without_ids_is_one_thread_of_several_turns():
    """Each prompt goes on with the one before it."""
    client = Client()
    texts = ["hello"]
    records = []
    for n in range(3):
        records.append(client.send(SYSTEM, *talk(*texts)))
        texts += [f"{n} {LONG}", f"more {n}"]
    assert 1 == len({r.thread for r in records})
    assert [r.id for r in records] == [r.turn for r in records]


def test_another_conversation_is_another_thread():
    """It does not go on with anything."""
    client = Client()
    assert client.send(*talk("hello")).thread != client.send(*talk("good day")).thread


def test_an_id_makes_a_thread_whatever_is_said():
    """It is short, and not what the client sent."""
    client = Client()
    one, two = (client.send(*talk(text), session="ses_secret") for text in ("hello", "good day"))
    assert one.thread == two.thread
    assert len(one.thread) == 12
    assert "secret" not in one.thread
    assert client.send(*talk("hello"), session="another").thread != one.thread


def test_an_agents_loop_is_one_turn():
    """The question stays, results are added behind it; the next question begins a turn."""
    client = Client()
    records = [client.send(TOOL, *loop("fix it", *["found " + LONG, "done"][:n])) for n in range(3)]
    assert {"r1-1"} == {r.turn for r in records}
    later = [PromptPart("history", "user", "fix it"), PromptPart("history", "assistant", LONG)]
    assert "r1-4" == client.send(TOOL, *later, *loop("and that")).turn
    assert "r1-4" == client.send(TOOL, *later, *loop("and that", "x")).turn


def test_a_question_put_again_is_another_turn():
    """Somebody waits anew."""
    client = Client()
    assert ["r1-1", "r1-2"] == [client.send(*talk("yes")).turn for _ in range(2)]
    assert "r1-2" == client.send(*loop("yes", "x")).turn


def test_a_loop_that_was_not_seen_from_its_start_begins_where_it_is_seen():
    """After a restart of the proxy."""
    client = Client()
    assert "r1-1" == client.send(*loop("fix it", "a")).turn
    assert "r1-1" == client.send(*loop("fix it", "a", "b")).turn


def test_a_prompt_that_only_goes_on_belongs_to_the_last_turn():
    """A message with results alone, for a response that the server keeps."""
    client = Client()
    client.send(*talk("fix it"), session="s", whole=False)
    result = PromptPart("tool_results", "tool", "found")
    assert "r1-1" == client.send(result, session="s", whole=False).turn
    assert "r1-3" == client.send(result, session="t", whole=False).turn


def test_a_hidden_request_is_no_turn():
    """It belongs to the conversation that its client names, and to none if it names none."""
    client = Client()
    agent = {"user_agent": "opencode/1.18.33"}
    named = client.send(TITLE, *talk("hello"), headers=agent, session="s")
    bare = client.send(TITLE, *talk("hello"), headers=agent)
    assert [("hidden", None)] * 2 == [(r.kind, r.turn) for r in (named, bare)]
    assert (True, None) == (named.thread is not None, bare.thread)
    assert ["hidden: title, system asks, no tools"] == named.notes


def test_the_turn_beside_a_title_is_a_turn_of_its_own():
    """The title has nothing that it goes on with."""
    client = Client()
    agent = {"user_agent": "opencode/1.18.33"}
    title = client.send(TITLE, *talk("hello"), headers=agent, session="s")
    turn = client.send(TOOL, SYSTEM, *talk("hello"), headers=agent, session="s", after_ns=MS)
    assert ("turn", title.thread, turn.id) == (turn.kind, turn.thread, turn.turn)
    assert (None, None) == (turn.prefix.parent, turn.prefix.cause)


def test_a_request_is_compared_with_its_clients_last_turn():
    """Another model, no tools, not streamed: the client's own doing."""
    client = Client()
    client.send(TOOL, *talk("hello"))
    other = client.send(*talk("pick one"), model="small", stream=False)
    assert ("hidden", "chat-client/1.0") == (other.kind, other.client)
    assert "turn" == client.send(TOOL, *talk("hello", LONG, "more")).kind


def test_users_of_one_library_are_not_compared():
    """Two programs on one machine may share a user agent."""
    client = Client()
    client.send(TOOL, *talk("hello"), headers=LIBRARY)
    assert "turn" == client.send(*talk("x"), model="small", stream=False, headers=LIBRARY).kind


def test_tools_once_had_are_remembered():
    """A turn without them between does not make the client one without tools."""
    client = Client()
    client.send(TOOL, *talk("hello"))
    client.send(*talk("plain"))
    assert "hidden" == client.send(*talk("x"), model="small", stream=False).kind


def test_what_asks_for_no_output_has_a_thread_and_nothing_more():
    """A count of tokens, under its client's id."""
    client = Client()
    record = client.send(*talk("hello"), session="s", generation=False)
    assert ("not_generation", None, None) == (record.kind, record.turn, record.prefix)
    assert record.thread == client.send(*talk("hello"), session="s").thread


def test_the_body_names_a_conversation_too():
    """As Claude Code does beside its header."""
    client = Client()
    body = b'{"metadata": {"user_id": "user_1_account__session_0f0e0d0c"}}'
    one, two = (client.send(*talk(text), body=body) for text in ("a", "b"))
    assert one.thread == two.thread


def test_llama_cpps_own_figure_is_a_report_of_the_cache():
    """It sends no usage unless asked; a figure of another type is none."""
    client = Client()
    for cache, reported in ((7, 7), ("7", None)):
        found = client.send(*talk("hello"), said={"reported": {"cache_n": cache}}).prefix
        assert reported == found.reported


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ({}, True),
        ({"first_token_ns": None, "streamed": False}, True),
        ({"first_token_ns": None, "finish_reason": None, "terminal_event_ns": None}, False),
    ],
)
def test_what_a_server_did_not_read_is_in_no_cache(said, known):
    """A prompt counts from its first token or its whole answer on."""
    client = Client()
    client.send(SYSTEM, *talk(words(50)), said=said)
    assert known is (client.send(SYSTEM, *talk(words(50))).prefix.parent is not None)


def test_what_is_remembered_is_bounded(monkeypatch):
    """The turns and clients used last."""
    monkeypatch.setattr("proxy.journal.memory._MOST", 3)
    client = Client()
    for n in range(6):
        client.send(*talk(f"question {n}"), session=f"s{n}")
    memory = client.memory
    assert (3, 3) == (len(memory._turns), len(memory._peers))


def test_nothing_is_known_without_a_request():
    """No head could be read: nobody asked for anything."""
    client = Client()
    record = client.send(generation=False, bare=True)
    assert (None, None, None) == (record.client, record.thread, record.prefix)


def test_a_memory_of_its_own_size():
    """The bound is the caller's to choose."""
    client = Client()
    client.memory = Memory(most_bytes=100)
    client.send(*talk("hello"))
    assert client.send(*talk("hello")).prefix.parent is None


def test_a_record_of_before_there_was_a_memory_is_read():
    """It had an empty object for a prefix."""
    fields = msgspec.to_builtins(record()) | {"prefix": {}}
    assert Prefix() == msgspec.convert(fields, Record).prefix
