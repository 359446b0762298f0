"""Gemini's API: who bids, what is asked of which model, and what a request leaves unsaid."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.base import RequestReading
from proxy.dialects.gemini import Gemini
from proxy.dialects.gemini_fields import pick, respelled
from proxy.wire.head import RequestHead

PATH = "/v1beta/models/gem-1:generateContent"
STREAM = "/v1beta/models/gem-1:streamGenerateContent?alt=sse"


def head(path=PATH, method="POST"):
    """A request's head."""
    return RequestHead(method, path, (1, 1), ())


def read(path=PATH, **body):
    """The reading of a request with this body."""
    return Gemini().read_request(head(path), orjson.dumps(body))


def content(role, *pieces):
    """A content; a text stands for a part with it."""
    return {"role": role, "parts": [{"text": p} if isinstance(p, str) else p for p in pieces]}


BIDS = [
    ("POST", PATH, 90),
    ("POST", STREAM, 90),
    ("POST", "/v1beta/models/gem-1:streamGenerateContent?key=k", 90),
    ("POST", "/gw/v1/models/gem-1%3AgenerateContent/", 90),
    ("POST", "/v1/projects/p/locations/l/publishers/google/models/gem-1:streamGenerateContent", 90),
    ("POST", "/v1beta/tunedModels/t-1:generateContent", 90),
    ("POST", "/v1internal:streamGenerateContent?alt=sse", 90),
    ("POST", "/v1beta/models/gem-1:countTokens", 0),
    ("POST", "/v1beta/models/gem-1:embedContent", 0),
    ("POST", "/v1beta/models/gem-1:batchGenerateContent", 0),
    ("POST", "/v1beta/models/gem-1:generateContent/more", 0),
    ("POST", "/generateContent", 0),
    ("GET", PATH, 0),
    ("GET", "/v1beta/models", 0),
]


@pytest.mark.parametrize(("method", "path", "bid"), BIDS)
def test_bids(method, path, bid):
    """Sure of two verbs, behind any prefix; counting and embedding are no generations."""
    assert Gemini().bid(head(path, method), b"") == bid


MODELS = [
    (PATH, {}, "gem-1", False),
    (STREAM, {"model": "other"}, "gem-1", True),
    ("/v1/publishers/google/models/gem-1:generateContent", {}, "gem-1", False),
    ("/v1/models/vendor/gem-1:tuned:generateContent", {}, "vendor/gem-1:tuned", False),
    ("/v1beta/tunedModels/t-1:streamGenerateContent", {}, "t-1", True),
    ("/v1internal:streamGenerateContent", {"model": "models/gem-1"}, "gem-1", True),
    ("/v1internal:generateContent", {}, None, False),
]


@pytest.mark.parametrize(("path", "body", "model", "stream"), MODELS)
def test_the_path_says_what_is_asked(path, body, model, stream):
    """The model and whether the answer is streamed; only without a model there the body names it."""
    reading = read(path, **body)

    assert (reading.model, reading.stream) == (model, stream)


def test_the_configuration():
    """Limit and sampling in either spelling, under the names of the reference."""
    config = {"temperature": 0, "topP": 0.5, "max_output_tokens": 9, "top_k": 3, "stopSequences": ["END"],
              "thinking_config": {"thinking_level": "low", "includeThoughts": True}, "seed": None}  # fmt: skip
    reading = read(generation_config=config)

    assert reading.max_tokens == 9
    assert reading.sampling == {
        "temperature": 0, "topP": 0.5, "topK": 3, "thinkingConfig.thinkingLevel": "low",
        "thinkingConfig.includeThoughts": True,
    }  # fmt: skip


def test_what_was_not_sent_is_not_there():
    """Null is not zero."""
    reading = read()

    assert (reading.max_tokens, reading.sampling, reading.parts, reading.notes) == (
        None, {}, (), (),
    )  # fmt: skip


NOTES = {
    "a part of an unknown kind": ({"contents": [content("user", "Q", {"hologram": {}}, {"x": 1})]}, "content_part_unknown: request body, hologram"),
    "an unknown role": ({"contents": [content("narrator", "x")]}, "role_unknown: request body, narrator"),
    "contents that are no list": ({"contents": "Hi"}, "field_not_understood: request body, contents"),
    "tools that are no list": ({"contents": [], "tools": "all"}, "field_not_understood: request body, tools"),
    "parts that are no list": ({"contents": [{"parts": "Hi"}]}, "field_not_understood: request body, parts"),
    "a schema": ({"generationConfig": {"responseJsonSchema": {"a": 1}}}, "response_format_not_counted: request body, responseJsonSchema"),
    "a schema in the other spelling": ({"generation_config": {"response_schema": {"a": 1}}}, "response_format_not_counted: request body, responseSchema"),
    "a cache": ({"cached_content": "c/1"}, "prompt_incomplete: request body, cachedContent"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "note"), NOTES.values(), ids=NOTES)
def test_what_is_not_understood_is_noted(body, note):
    """Each kind of thing not understood or not counted gives one note, and the rest is read."""
    assert [str(n) for n in read(**body).notes] == [note]


def test_a_cache_makes_the_prompt_more_than_was_sent():
    """The bill is for more than the parts."""
    assert not read(cachedContent="c/1").whole
    assert read(contents=[]).whole


def test_a_wrapped_request():
    """Code Assist has model and request side by side; what is in there is read as ever."""
    reading = read("/v1internal:generateContent", model="m", request={"contents": [content("user", "Q")]})  # fmt: skip

    assert [(p.part, p.text) for p in reading.parts] == [("question", "Q")]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"'])
def test_a_body_that_is_no_object(body):
    """It still is a request to the model that the path names."""
    reading = Gemini().read_request(head(), body)

    assert [note.code for note in reading.notes] == ["request_not_json"]
    assert reading == RequestReading(model="gem-1", stream=False, notes=reading.notes)


def test_spelling():
    """Both spellings are one name, the reference's comes first, and what callers named is left alone."""
    assert pick({"max_output_tokens": 1}, "maxOutputTokens") == 1
    assert pick({"maxOutputTokens": 0, "max_output_tokens": 1}, "maxOutputTokens") == 0
    assert pick({"maxOutputTokens": None, "max_output_tokens": 1}, "maxOutputTokens") == 1
    assert pick({}, "maxOutputTokens") is None
    assert respelled({"top_p": {"in_ner": 1}, "_x": 2, "a__b": 3}) == {
        "topP": {"in_ner": 1}, "_x": 2, "a__b": 3,
    }  # fmt: skip
