"""Requests of chat completions: who bids for them, and what they ask for."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.base import RequestReading
from proxy.dialects.openai_chat import OpenAiChat
from proxy.wire.head import ReplyHead, RequestHead

PATH = "/v1/chat/completions"
MESSAGES = b'{"model": "m", "messages" : [{"role": '


def head(path=PATH, method="POST"):
    """A request's head."""
    return RequestHead(method, path, (1, 1), ())


def read(path=PATH, **body):
    """The reading of a request with this body."""
    return OpenAiChat().read_request(head(path), orjson.dumps(body))


BIDS = [
    ("POST", PATH, b"", 90),
    ("POST", "/v1/chat/completions/", b"", 90),
    ("POST", "/openai/v1/chat/completions?api-version=1", b"", 90),
    ("POST", "http://127.0.0.1:8000/api/v0/chat/completions", b"", 90),
    ("POST", "/openai/deployments/d/chat/completions?api-version=1", b"", 90),
    ("POST", "/chat", MESSAGES, 20),
    ("POST", "/chat", b'{"prompt": "the word messages"}', 0),
    ("POST", "/v1/completions", b'{"prompt": ', 0),
    ("POST", "/tokenize", MESSAGES, 0),
    ("POST", "/apply-template", MESSAGES, 0),
    ("POST", "/v1/chat/completions/input_tokens", MESSAGES, 0),
    ("POST", "/v1/chat/completions/render", MESSAGES, 0),
    ("POST", "/v1/messages/count_tokens", MESSAGES, 0),
    ("GET", PATH, b"", 0),
    ("OPTIONS", PATH, b"", 0),
    ("GET", "/v1/models", b"", 0),
]


@pytest.mark.parametrize(("method", "path", "start", "bid"), BIDS)
def test_bids(method, path, start, bid):
    """Sure of its path, unsure of the shape of a body, and out where nothing is generated."""
    assert OpenAiChat().bid(head(path, method), start) == bid


def test_the_plain_request():
    """Model, stream, limit and sampling as they were sent."""
    reading = read(
        model="m-1", stream=True, max_tokens=9, temperature=0, top_p=0.5, seed=7, messages=[{"role": "user"}]
    )  # fmt: skip

    assert (reading.model, reading.stream, reading.max_tokens) == ("m-1", True, 9)
    assert reading.sampling == {"temperature": 0, "top_p": 0.5, "seed": 7}
    assert reading.generation
    assert reading.notes == ()


def test_what_was_not_sent_is_not_there():
    """Null is not zero; but a request that does not ask for a stream says that it wants none."""
    reading = read(messages=[])

    assert (reading.model, reading.max_tokens, reading.sampling, reading.parts) == (
        None,
        None,
        {},
        (),
    )
    assert reading.stream is False


def test_limits_have_several_names():
    """The newer name holds; llama.cpp's -1 is no limit."""
    assert read(max_tokens=9, max_completion_tokens=5).max_tokens == 5
    assert read(n_predict=7).max_tokens == 7
    assert read(max_tokens=-1).max_tokens is None


def test_sampling_of_other_types_is_left_out():
    """Only numbers, words and switches are kept, inner ones under their path."""
    reading = read(
        temperature=None,
        top_p=[1],
        logprobs=True,
        reasoning_effort="high" * 100,
        stream_options={"include_usage": True},
        chat_template_kwargs={"enable_thinking": False, "other": "x"},
    )

    assert reading.sampling == {
        "logprobs": True,
        "reasoning_effort": ("high" * 100)[:80],
        "stream_options.include_usage": True,
        "chat_template_kwargs.enable_thinking": False,
    }


def test_azure_names_the_model_in_the_path():
    """Where the body names none the deployment is the model."""
    path = "/openai/deployments/d-1/chat/completions?api-version=1"

    assert read(path).model == "d-1"
    assert read(path, model="m").model == "m"
    assert OpenAiChat().read_request(head(path), b"{").model == "d-1"


def test_a_schema_for_the_answer_is_noted():
    """It steers the sampler and is no text of the prompt; plain text is the default."""
    [note] = read(response_format={"type": "json_schema", "json_schema": {}}).notes

    assert str(note) == "response_format_not_counted: request body, json_schema"
    assert read(response_format={"type": "text"}, messages=[]).notes == ()


def test_the_prompts_notes_are_the_readings():
    """What the prompt's reader did not know is said of the request."""
    assert [note.code for note in read(tools="all").notes] == ["field_not_understood"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"'])
def test_a_body_that_is_no_object(body):
    """It still is a request to the model, of which nothing is known."""
    reading = OpenAiChat().read_request(head(), body)

    assert [note.code for note in reading.notes] == ["request_not_json"]
    assert reading == RequestReading(notes=reading.notes)


def test_the_reply_is_read_as_it_comes():
    """A stream is read as a stream though none was asked for."""
    reader = OpenAiChat().reply_reader(head(), ReplyHead(200, (1, 1), ()))
    reader.feed(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', 7)
    reader.close()

    assert reader.reading().first_token_ns == 7
