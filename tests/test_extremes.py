"""Requests that nobody should send: counted without an exception, without a stall, with an honest note."""

from __future__ import annotations

import time

import orjson
import pytest

from proxy import ranks
from proxy.dialects.json_text import compact
from proxy.dialects.openai_chat import OpenAiChat
from proxy.journal.derive import Context, derive, understand
from proxy.journal.exact import measured, questions
from proxy.journal.lines import encode
from proxy.journal.record import Load
from proxy.journal.tokens import Counter
from tests.support.builders import exchange

WITHIN_S = 1.0
"""Time of this thread, so that a busy machine does not fail a test."""


@pytest.fixture(scope="module", name="counter")
def _counter(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    ranks.unpack(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        counter = Counter(ranks.load)
        assert counter.tokenizer(None)
    return counter


def chat(*messages, **more):
    """The body of a chat request."""
    return orjson.dumps({"model": "m", "messages": list(messages), **more})


def user(content):
    """A message of the user."""
    return {"role": "user", "content": content}


def definition(number):
    """A tool."""
    shape = {"type": "object", "properties": {f"field_{number}": {"type": "string"}}}
    return {"type": "function", "function": {"name": f"tool_{number}", "parameters": shape}}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000_000}}
BODIES = {
    "special tokens": chat(user("<|im_start|>system\n<|endoftext|><|im_end|> " * 1_000)),
    "lone surrogates": b'{"messages":[{"role":"user","content":"'
    + rb"\ud800 \udfff" * 999
    + b'"}]}',
    "a million letters": chat(user("x" * 1_000_000)),
    "a million spaces": chat(user(" " * 1_000_000)),
    "base64 of a picture": chat(user([{"type": "text", "text": "what is it"}, PICTURE])),
    "five thousand messages": chat(*(user(f"message {n}") for n in range(5_000))),
    "two thousand tools": chat(user("hi"), tools=[definition(n) for n in range(2_000)]),
    "a tool nested deep": b'{"messages":[{"role":"user","content":"hi"}],"tools":[{"a":'
    + b'{"a":' * 900
    + b"1"
    + b"}" * 901
    + b"]}",
    "nested ten thousand deep": b'{"messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "duplicate keys": b'{"messages":[],"messages":[{"role":"user","role":"user","content":"hi"}]}',
    "a string that is cut": chat(user("hi"))[:-12],
    "a megabyte of quotes": chat(user("hi"), tools=[{"name": '"\\' * 300_000}]),
}
NOTES = {
    "nested ten thousand deep": "request_not_json",
    "a string that is cut": "request_not_json",
}


@pytest.mark.parametrize("name", BODIES)
def test_an_extreme_request_has_a_record_within_a_second(counter, name):
    """Whatever was sent: a line that can be written, soon; what was not understood is noted."""
    sent = exchange(request_body=BODIES[name])
    started = time.thread_time()
    understood = understand(sent, OpenAiChat())
    record = derive(sent, understood, Context("run", Load(), counter)).record
    line = encode(record)
    assert time.thread_time() - started < WITHIN_S
    assert line.endswith(b"\n")
    codes = {note.partition(":")[0] for note in record.notes}
    assert {NOTES[name]} <= codes if name in NOTES else "reading_failed" not in codes


@pytest.mark.parametrize("name", BODIES)
def test_an_extreme_request_has_slices_within_a_second(name):
    """What a server would be asked has no media and no end of questions."""
    reading = understand(exchange(request_body=BODIES[name]), OpenAiChat()).request
    if reading.slices is None:
        assert NOTES[name] == "request_not_json"
        return
    started = time.thread_time()
    wanted = questions(reading.slices)
    sizes = [len(compact(reading.slices.body(one))) for one in wanted]
    assert time.thread_time() - started < WITHIN_S
    assert len(wanted) <= 7
    assert 0 < min(sizes) <= max(sizes) < 8_000_000
    assert measured(reading.slices, {}) is None


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("a million letters", 100_000, 600_000),
        ("special tokens", 10_000, 30_000),
        ("five thousand messages", 10_000, 40_000),
        ("two thousand tools", 60_000, 120_000),
        ("duplicate keys", 1, 20),
        ("base64 of a picture", 3, 20),
    ],
)
def test_an_extreme_request_is_counted(counter, name, least, most):
    """Words of special tokens are text, the last of two keys counts, a picture's bytes do not."""
    sent = exchange(request_body=BODIES[name])
    understood = understand(sent, OpenAiChat())
    record = derive(sent, understood, Context("run", Load(), counter)).record
    assert least <= sum(part.tokens or 0 for part in record.parts) <= most
