"""Requests of the Responses API: who bids for them, and what they ask for."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.base import RequestReading
from proxy.dialects.openai_responses import OpenAiResponses
from proxy.dialects.table import choose
from proxy.wire.head import RequestHead

PATH = "/v1/responses"
MESSAGE = b' {"type": "response.create", "model": '


def head(path=PATH, method="POST"):
    """A request's head."""
    return RequestHead(method, path, (1, 1), ())


def read(path=PATH, **body):
    """The reading of a request with this body."""
    return OpenAiResponses().read_request(head(path), orjson.dumps(body))


BIDS = [
    ("POST", PATH, b"", 90),
    ("POST", "/v1/responses/", b"", 90),
    ("POST", "/openai/responses?api-version=1", b"", 90),
    ("POST", "http://127.0.0.1:8000/backend-api/codex/responses", b"", 90),
    ("POST", "/v1/responses/compact", b"", 90),
    ("GET", PATH, MESSAGE, 90),
    ("GET", PATH, b"", 0),
    ("GET", "/v1/responses/resp_1?stream=true", b"", 0),
    ("POST", "/v1/responses/resp_1/cancel", b"", 0),
    ("POST", "/v1/responses/input_tokens", b"", 0),
    ("POST", "/chat", MESSAGE, 0),
    ("GET", "/chat", MESSAGE, 0),
    ("DELETE", PATH, b"", 0),
]


@pytest.mark.parametrize(("method", "path", "start", "bid"), BIDS)
def test_bids(method, path, start, bid):
    """Sure of its paths, and of a message under the head of an upgrade."""
    assert OpenAiResponses().bid(head(path, method), start) == bid


def test_it_is_in_the_table():
    """A request finds it; the upgrade itself is nobody's."""
    assert choose(head(), b"").name == "openai_responses"
    assert choose(head(method="GET"), MESSAGE).name == "openai_responses"
    assert choose(head(method="GET"), b"").name == "opaque"


# What is asked for


def test_what_was_not_sent_is_not_there():
    """Null is not zero."""
    reading = read()

    assert (reading.model, reading.max_tokens, reading.sampling, reading.parts) == (
        None,
        None,
        {},
        (),
    )
    assert (reading.stream, reading.generation, reading.whole, reading.notes) == (
        False,
        True,
        True,
        (),
    )


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"'])
def test_a_body_that_is_no_object(body):
    """It still is a request to the model, of which nothing is known."""
    reading = OpenAiResponses().read_request(head(), body)

    assert [note.code for note in reading.notes] == ["request_not_json"]
    assert reading == RequestReading(notes=reading.notes)


@pytest.mark.parametrize("extra", [{}, {"response": None}, {"response": {}}, {"response": "x"}])
def test_a_message_that_asks_is_streamed_without_saying_so(extra):
    """Flat, as it is sent, whatever stands in a field `response` that is no request."""
    reading = read(type="response.create", model="m-1", input="Hi", **extra)

    assert (reading.model, reading.stream, len(reading.parts)) == ("m-1", True, 1)


@pytest.mark.parametrize("body", [{"generate": False}, {"prompt_cache_options": {"prewarm": True}}])
def test_a_pre_warm_is_a_generation_with_a_note(body):
    """It costs a prefill: whether it is a turn is for whoever tells turns apart."""
    reading = read(**body)

    assert ([note.code for note in reading.notes], reading.generation) == (["prewarm"], True)


def test_a_schema_for_the_answer_is_noted():
    """It steers the sampler and is no text of the prompt; plain text is the default."""
    [note] = read(text={"format": {"type": "json_schema", "schema": {}}}).notes

    assert str(note) == "response_format_not_counted: request body, json_schema"
    assert read(text={"format": {"type": "text"}}).notes == ()
