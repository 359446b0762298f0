"""Ollama's answers: how lines are told from one object, and what counts as output."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.dialects.ollama import Ollama
from proxy.wire.head import ReplyHead, RequestHead
from tests.support.cuts import at_random, every_cut


def head(path="/api/chat"):
    """A request's head."""
    return RequestHead("POST", path, (1, 1), ())


def answer(*pieces, kind="application/json", status=200):
    """The reading of a reply in these pieces, which arrive at 10, 20, ... ns."""
    reply = ReplyHead(status, (1, 1), (("Content-Type", kind),))
    reader = Ollama().reply_reader(head(), reply)
    for n, piece in enumerate(pieces, 1):
        reader.feed(piece, n * 10)
    reader.close()
    return reader.reading()


LINES = (
    b'{"message":{"content":"a"},"done":false}\n',
    b'{"message":{"content":"b"},"done":false}\n',
)


@pytest.mark.parametrize("kind", ["application/x-ndjson", "Application/X-NDJSON; charset=utf-8", "application/json", ""])  # fmt: skip
def test_lines_are_a_stream(kind):
    """Whatever their label, and each with its own time."""
    reading = answer(*LINES, kind=kind)

    assert (reading.streamed, reading.token_event_ns, reading.text) == (True, (10, 20), "ab")


WHOLE = {
    "an object": b'{"response":"ab","done":true}',
    "an object and a line end": b'{"response":"ab","done":true}\n',
    "an object over several lines": b'{\n "response": "ab",\n "done": true\n}\n',
    "one cut in its first line": b'{"response":"ab","done":false}',
}


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
@every_cut
def test_one_object_is_no_stream(body, kind, cut):
    """It has no events, so that nothing in it has a time."""
    reading = answer(*cut(body), kind=kind)

    assert (reading.streamed, reading.first_token_ns, reading.text) == (False, None, "ab")
    assert reading.notes == ()


def test_a_long_object_is_no_stream():
    """No line of a stream is that long: the choice need not wait for its end."""
    body = orjson.dumps({"response": "ab", "done": True, "context": [1] * 200_000})
    reading = answer(*at_random(body, seed=1, longest=30_000))

    assert (reading.streamed, reading.text) == (False, "ab")


@pytest.mark.parametrize("body", [b"", b"oops", b"\n\n"])
def test_no_json_at_all(body):
    """Nothing is read, and nothing raises."""
    assert answer(body).text == ""


ODD = {
    "nothing": b"{}",
    "other types": b'{"model":7,"message":[1],"response":{"a":1},"done":"true","logprobs":3}',
    "calls of other types": b'{"message":{"tool_calls":[7,{"function":"x"},{"function":{"name":3}}]}}',
    "figures of other types": b'{"done":true,"eval_count":"3","total_duration":null}',
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_fields_of_other_types_are_not_there(body):
    """None of them is output or a figure."""
    reading = answer(body)

    assert (reading.text, reading.called, reading.usage.output, reading.reported) == (
        "",
        (),
        None,
        {},
    )


CALLS = {
    "an object": ({"name": "look", "arguments": {"at": 1}}, 'look{"at":1}'),
    "a text, as OpenAI has it": ({"name": "look", "arguments": '{"at": 1}'}, 'look{"at": 1}'),
    "no arguments": ({"name": "look"}, "look"),
}


@pytest.mark.parametrize(("function", "text"), CALLS.values(), ids=CALLS)
def test_calls_are_output(function, text):
    """Name and arguments, whichever way those come."""
    body = {"message": {"tool_calls": [{"function": function}]}, "done": True}
    reading = answer(orjson.dumps(body))

    assert (reading.called, reading.text) == (("look",), text)


@pytest.mark.parametrize("body", [b'{"message":{"images":["iVBO"]},"done":true}', b'{"image":"iVBO","done":true}'])  # fmt: skip
def test_pictures_in_the_answer_are_noted(body):
    """They are output that no text accounts for."""
    assert [str(note) for note in answer(body).notes] == ["media_output: reply, image"]


FIELDS = (
    "messages", "role", "content", "images", "thinking", "tool_calls", "function", "name", "arguments",
    "tools", "type", "options", "num_predict", "think", "prompt", "system", "suffix", "raw", "context",
    "format", "message", "response", "done", "done_reason", "eval_count", "logprobs", "error", "user",
)  # fmt: skip
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.floats() | st.sampled_from(FIELDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(FIELDS), SHAPES, max_size=5))
def test_no_shape_of_json_raises(body):
    """Whatever stands under names that mean something, in a request and in an answer."""
    for path in ("/api/chat", "/api/generate"):
        reading = Ollama().read_request(head(path), orjson.dumps(body))
        assert all(part.text or part.part == "tools" for part in reading.parts)
    line = orjson.dumps(body)
    assert answer(line).model == answer(line + b"\n", kind="application/x-ndjson").model
