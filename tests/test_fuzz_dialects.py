"""Readers of replies under streams that never end and never repeat: what they keep is bounded.

One rule: what is measured is what a reader holds, by the interpreter's own account, so that no place in
which something could pile up is forgotten.
"""

from __future__ import annotations

import gc
import tracemalloc

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.deferred_reply import START_BOUND
from proxy.dialects.table import DIALECTS, choose
from proxy.dialects.tally import TEXT_BOUND
from proxy.wire.head import ReplyHead, RequestHead
from tests.support.cuts import at_random
from tests.support.damage import HOSTILE, examples

unhurried = examples(0.3)
SEEDS = st.integers(0, 2**32)
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_completions": "/v1/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
    "ollama": "/api/chat",
    "gemini": "/v1beta/models/m:streamGenerateContent",
    "embeddings": "/v1/embeddings",
    "opaque": "/x",
}
EVENTS, SIZE = 800, 10_000
"""Of a stream that never says the same twice: 8 MB of names, twice what is kept of text, and as many names, ids and indexes as events."""

SLACK = 1_500_000
"""What a reader may hold beside the text that it keeps for counting."""


def reader(dialect, *fields, status=200):
    """A reader for a reply of a dialect."""
    request = RequestHead("POST", PATHS[dialect], (1, 1), ())
    found = choose(request, b"{}")
    assert found.name == dialect
    return found.reply_reader(request, ReplyHead(status, (1, 1), fields))


def calls(n, name):
    """One event of each format in which call `n` begins, by its path."""
    function = {"name": name, "arguments": "{}"}
    call = {"index": n, "id": name, "function": function}
    item = {"type": "function_call", "id": name, "call_id": name, "name": name}
    return {
        "openai_chat": {"choices": [{"index": n, "delta": {"tool_calls": [call]}}]},
        "openai_completions": {"index": n * 1000, "content": "", "tokens_predicted": n, "x": name},
        "openai_responses": {"type": "response.output_item.added", "output_index": n, "item": item},
        "anthropic_messages": {
            "type": "content_block_start", "content_block": {"type": "tool_use", "id": name, "name": name},
        },
        "ollama": {"message": {"tool_calls": [{"function": function}]}, "done": False, name: n},
        "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"name": name}}]}}]},
        "embeddings": {"usage": {name: n}, "model": name},
        "opaque": {"error": {"type": name}},
    }  # fmt: skip


def framed(dialect, value):
    """An event as the dialect's streams have it."""
    text = orjson.dumps(value)
    return text + b"\n" if dialect == "ollama" else b"data: " + text + b"\n\n"


def kept_by(feed):
    """Bytes that are held when `feed` is done and no garbage is left."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        held = feed()
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held is not None
    return after - before


def test_every_dialect_with_a_reader_is_here():
    """A new one gets its row; those that read nothing of a reply share the opaque one's reader."""
    assert {dialect.name for dialect in DIALECTS} - set(PATHS) == {
        "tokenizer",
        "models",
        "monitoring",
    }


@pytest.mark.parametrize("dialect", PATHS)
def test_names_without_end_do_not_pile_up(dialect):
    """Each event with a call, an index, an id and a figure of its own."""

    def feed():
        found = reader(dialect, ("Content-Type", "text/event-stream"))
        for n in range(EVENTS):
            name = f"{n:06}" + "x" * SIZE
            found.feed(framed(dialect, calls(n, name)[dialect]), n)
        return found

    assert kept_by(feed) < TEXT_BOUND + SLACK


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("piece", [b"\n" * 2000, b" " * 1000 + b"\r\n" * 500])
def test_blanks_without_end_do_not_pile_up(dialect, piece):
    """Servers send them while they compute: they are looked at and let go."""

    def feed():
        found = reader(dialect, ("Content-Type", "text/event-stream"))
        for at in range(50):
            found.feed(piece, at)
        return found

    assert kept_by(feed) < SIZE


BEGINNINGS = st.sampled_from([b"", b"\n", b" ", b"\xef\xbb\xbf", b"\n" * 4095, b" " * 4096, b"\r\n" * 3_000,
                              b" " * (START_BOUND - 1), b"\n" * START_BOUND])  # fmt: skip
LABELS = st.sampled_from(["", "text/event-stream", "application/json", "application/x-ndjson"])


@pytest.mark.parametrize("dialect", PATHS)
@unhurried
@given(st.lists(st.sampled_from([b"{", b"[", b"d", b"data: ", b": x\n", b"\n\n", b"x", *HOSTILE[:12]]), max_size=6), BEGINNINGS, LABELS, SEEDS)  # fmt: skip
def test_no_cut_changes_how_a_beginning_is_read(dialect, parts, blanks, label, seed):
    """However much white space there is in front, and wherever it is cut."""
    told = orjson.dumps({**calls(1, "name")[dialect], "done": False})
    for data in (
        blanks + b"".join(parts),
        blanks + b"data: " + told + b"\n\n",
        blanks + told + b"\n",
    ):
        whole, cut = (reader(dialect, ("Content-Type", label)) for _ in range(2))
        whole.feed(data, 5)
        for piece in at_random(data, seed, 1 + len(data) // 20):
            cut.feed(piece, 5)
        whole.close()
        cut.close()
        assert cut.reading() == whole.reading()


@pytest.mark.parametrize("dialect", PATHS)
@unhurried
@given(st.lists(st.sampled_from(HOSTILE), max_size=40), st.sampled_from([200, 404, 503]))
def test_notes_are_few_whatever_comes(dialect, values, status):
    """A hundred faults of one kind are one note: in a stream of nothing but what nobody expects."""
    found = reader(dialect, ("Content-Type", "text/event-stream"), status=status)
    for at, value in enumerate(values):
        found.feed(b"data: " + value + b"\n\n", at)
        found.feed(value + b"\n", at)
    found.close()
    reading = found.reading()

    assert len({note.code for note in reading.notes}) == len(reading.notes)
    assert all(len(str(note)) < 300 for note in reading.notes)
    assert list(reading.token_event_ns) == sorted(reading.token_event_ns)
