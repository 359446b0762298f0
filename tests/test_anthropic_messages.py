"""Requests of Messages: who bids for them, and what they ask for."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.dialects.base import RequestReading
from proxy.wire.head import ReplyHead, RequestHead

PATH = "/v1/messages"
VERTEX = "/v1/projects/p/locations/l/publishers/anthropic/models/"
VERSIONED = (("Anthropic-Version", "2023-06-01"),)


def head(path=PATH, method="POST", headers=()):
    """A request's head."""
    return RequestHead(method, path, (1, 1), headers)


def read(path=PATH, **body):
    """The reading of a request with this body."""
    return AnthropicMessages().read_request(head(path), orjson.dumps(body))


BIDS = [
    ("POST", PATH, (), b"", 90),
    ("POST", "//v1/messages/?beta=true&x=%2F", (), b"", 90),
    ("POST", "http://127.0.0.1:8000/anthropic/v1/messages", (), b"", 90),
    ("POST", f"{VERTEX}m@1:rawPredict", (), b"", 90),
    ("POST", f"{VERTEX}m@1:streamRawPredict", (), b"", 90),
    ("POST", f"{VERTEX}count-tokens:rawPredict", (), b"", 0),
    ("POST", "/claude/messages", VERSIONED, b"", 60),
    ("POST", "/model/m/invoke", (), b'{"anthropic_version" : "v"', 60),
    ("POST", "/v1/threads/t/messages", (), b'{"role":"user"}', 0),
    ("POST", "/v1/messages/count_tokens", VERSIONED, b"", 0),
    ("POST", "/v1/messages/batches", VERSIONED, b"", 0),
    ("GET", PATH, VERSIONED, b"", 0),
]


@pytest.mark.parametrize(("method", "path", "headers", "start", "bid"), BIDS)
def test_bids(method, path, headers, start, bid):
    """Sure of its paths, less sure of its marks elsewhere, and out where nothing is generated."""
    assert AnthropicMessages().bid(head(path, method, headers), start) == bid


def test_the_plain_request():
    """Model, stream, limit and sampling as they were sent."""
    reading = read(
        model="m-1", stream=True, max_tokens=9, temperature=0, top_p=0.5, top_k=40, messages=[],
        thinking={"type": "enabled", "budget_tokens": 1024}, output_config={"effort": "low"},
        tool_choice={"type": "any"},
    )  # fmt: skip

    assert (reading.model, reading.stream, reading.max_tokens) == ("m-1", True, 9)
    assert reading.sampling == {
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 40,
        "thinking.type": "enabled",
        "thinking.budget_tokens": 1024,
        "output_config.effort": "low",
        "tool_choice.type": "any",
    }
    assert (reading.generation, reading.whole, reading.notes) == (True, True, ())


def test_what_was_not_sent_is_not_there():
    """Null is not zero; but a request that does not ask for a stream says that it wants none."""
    reading = read()

    assert (reading.model, reading.max_tokens, reading.sampling) == (None, None, {})
    assert (reading.stream, reading.parts) == (False, ())


def test_a_cloud_names_the_model_in_the_path():
    """Where the body names none."""
    path = f"{VERTEX}m@1:streamRawPredict"

    assert read(path).model == "m@1"
    assert read(path, model="m").model == "m"
    assert AnthropicMessages().read_request(head(path), b"{").model == "m@1"


FORMS = [
    {"output_format": {"type": "json_schema", "schema": {}}},
    {"output_config": {"format": {"type": "json_schema"}}},
]


@pytest.mark.parametrize("form", FORMS)
def test_a_schema_for_the_answer_is_noted(form):
    """It is not counted, wherever it stands."""
    [note] = read(**form).notes

    assert str(note) == "response_format_not_counted: request body, json_schema"


def test_a_prompt_may_be_more_than_was_sent():
    """Tools that the server looks up itself, and what only the vendor can read, are in the bill."""
    hidden = [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "RXFv"}]}]

    assert not read(mcp_servers=[{"url": "https://a.test"}]).whole
    assert not read(messages=hidden).whole


def test_the_prompts_notes_are_the_readings():
    """What the prompt's reader did not know is said of the request."""
    assert [note.code for note in read(tools="all").notes] == ["field_not_understood"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"'])
def test_a_body_that_is_no_object(body):
    """It still is a request to the model, of which nothing is known."""
    reading = AnthropicMessages().read_request(head(), body)

    assert [note.code for note in reading.notes] == ["request_not_json"]
    assert reading == RequestReading(notes=reading.notes)


def test_the_reply_is_read_as_it_comes():
    """A stream is read as a stream though none was asked for."""
    reader = AnthropicMessages().reply_reader(head(), ReplyHead(200, (1, 1), ()))
    reader.feed(b'data: {"type":"content_block_delta","delta":{"text":"a"}}\n\n', 7)
    reader.close()

    assert reader.reading().first_token_ns == 7
