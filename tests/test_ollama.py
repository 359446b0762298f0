"""Ollama's native API: who bids, and what a request asks for."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.base import RequestReading
from proxy.dialects.ollama import Ollama
from proxy.wire.head import RequestHead


def head(path="/api/chat", method="POST"):
    """A request's head."""
    return RequestHead(method, path, (1, 1), ())


def read(path="/api/chat", **body):
    """The reading of a request with this body."""
    return Ollama().read_request(head(path), orjson.dumps(body))


def parts(path="/api/chat", **body):
    """Part, role and text of each piece of the prompt."""
    return [(p.part, p.role, p.text) for p in read(path, **body).parts]


def user(content, **fields):
    """A user message."""
    return {"role": "user", "content": content, **fields}


BIDS = [
    ("POST", "/api/chat", 90),
    ("POST", "/api/generate/", 90),
    ("POST", "/ollama/api/chat?x=1", 90),
    ("POST", "http://127.0.0.1:11434/api/generate", 90),
    ("GET", "/api/chat", 0),
    ("POST", "/api/chat/completions", 0),
    ("POST", "/api/v1/chat", 0),
    ("POST", "/api/pull", 0),
    ("POST", "/api/create", 0),
    ("POST", "/api/embed", 0),
    ("GET", "/api/tags", 0),
]


@pytest.mark.parametrize(("method", "path", "bid"), BIDS)
def test_bids(method, path, bid):
    """Sure of its two paths behind any prefix, and out everywhere else."""
    assert Ollama().bid(head(path, method), b"") == bid


@pytest.mark.parametrize(("sent", "stream"), [({}, True), ({"stream": True}, True), ({"stream": None}, True), ({"stream": False}, False)])  # fmt: skip
def test_an_answer_is_streamed_unless_it_is_not_wanted(sent, stream):
    """Other than with OpenAI, what is not said means yes."""
    assert read(**sent).stream is stream


def test_options_are_sampling():
    """Numbers and switches by their names; the limit has a field of its own, the caller's words none."""
    reading = read(
        options={"temperature": 0.5, "num_ctx": 8192, "num_predict": 9, "penalize_newline": False,
                 "stop": "END", "seed": None, "mirostat": [1]},
        think=True, logprobs=False, top_logprobs=3, keep_alive=5,
    )  # fmt: skip

    assert reading.max_tokens == 9
    assert reading.sampling == {
        "temperature": 0.5, "num_ctx": 8192, "penalize_newline": False, "think": True, "logprobs": False,
        "top_logprobs": 3,
    }  # fmt: skip


def test_other_types_of_options():
    """An effort is a word; no limit, other types and long words do no harm."""
    reading = read(think="high" * 20, options={"num_predict": -1})

    assert reading.sampling == {"think": "highhighhighhighhigh"}
    assert reading.max_tokens is None
    assert read(options=[1], think="", raw="x").sampling == {}


LOADS = [
    ("/api/chat", {}, False),
    ("/api/chat", {"messages": []}, False),
    ("/api/chat", {"messages": [user("Hi")]}, True),
    ("/api/generate", {}, False),
    ("/api/generate", {"prompt": "", "system": "S"}, False),
    ("/api/generate", {"prompt": "Hi"}, True),
]


@pytest.mark.parametrize(("path", "body", "generation"), LOADS)
def test_without_a_prompt_a_model_is_loaded(path, body, generation):
    """That asks for no output."""
    assert read(path, **body).generation is generation


def test_a_chat():
    """Tools first, then the messages as chat completions have them, with arguments as objects."""
    tool = {"type": "function", "function": {"name": "look"}}
    calls = [{"function": {"name": "look", "arguments": {"at": 1}}}]

    assert parts(
        messages=[
            {"role": "system", "content": "S"},
            user("Q"),
            {"role": "assistant", "content": "", "thinking": "T", "tool_calls": calls},
            {"role": "tool", "tool_name": "look", "content": "R"},
        ],
        tools=[tool],
    ) == [
        ("tools", "tool", orjson.dumps(tool).decode()),
        ("system", "system", "S"),
        ("question", "user", "Q"),
        ("history", "assistant", "T"),
        ("history", "assistant", 'look {"at":1}'),
        ("tool_results", "tool", "R"),
    ]


def test_thinking_of_earlier_turns_is_not_read_again():
    """As templates have it."""
    thought = {"role": "assistant", "content": "A", "thinking": "T"}

    assert parts(messages=[user("Q1"), thought, user("Q2")]) == [
        ("history", "user", "Q1"),
        ("history", "assistant", "A"),
        ("question", "user", "Q2"),
    ]


def test_pictures_stand_in_front_of_their_text():
    """They are media, and their bytes are no text; content in pieces is taken as well."""
    assert parts(messages=[user("What?", images=["iVBORw0KGgo", "iVBORw0KGgo"])]) == [
        ("media", "user", "image"),
        ("media", "user", "image"),
        ("question", "user", "What?"),
    ]
    assert parts(messages=[user([{"type": "text", "text": "a"}])]) == [("question", "user", "a")]


def test_what_a_client_injected_stands_apart():
    """Marked text is not the user's own."""
    assert parts(messages=[user("<system-reminder>x</system-reminder>\nHi")]) == [
        ("question", "injected", "<system-reminder>x</system-reminder>\n"),
        ("question", "user", "Hi"),
    ]


def test_a_completion():
    """System, pictures, prompt; the template that a request brings is no part."""
    assert parts("/api/generate", system="S", prompt="P", images=["iVBO"], template="{{ .Prompt }}") == [
        ("system", "system", "S"),
        ("media", "user", "image"),
        ("question", "user", "P"),
    ]  # fmt: skip


@pytest.mark.parametrize("unframed", [{"raw": True}, {"suffix": "S"}])
def test_a_prompt_without_a_template_has_no_role(unframed):
    """Raw text, and a gap to be filled: no chat template is put around it."""
    texts = ["P", *(text for text in unframed.values() if text == "S")]

    assert parts("/api/generate", prompt="P", **unframed) == [
        ("question", "", text) for text in texts
    ]


NOTES = {
    "a schema": ("/api/chat", {"format": {"type": "object"}}, "response_format_not_counted: request body, schema"),
    "any json": ("/api/chat", {"format": "json"}, "response_format_not_counted: request body, json"),
    "token ids": ("/api/generate", {"prompt": "P", "context": [1, 2]}, "prompt_as_token_ids: request body, 2 of an earlier context"),
    "pictures that are no list": ("/api/generate", {"images": "iVBO"}, "field_not_understood: request body, images"),
    "messages that are no list": ("/api/chat", {"messages": "Hi"}, "field_not_understood: request body, messages"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "body", "note"), NOTES.values(), ids=NOTES)
def test_what_is_not_counted_is_noted(path, body, note):
    """Once for each kind of thing."""
    assert [str(n) for n in read(path, **body).notes] == [note]


def test_token_ids_make_the_prompt_more_than_was_sent():
    """The bill is for more than the parts."""
    assert not read("/api/generate", prompt="P", context=[1]).whole
    assert read("/api/generate", prompt="P").whole


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"'])
def test_a_body_that_is_no_object(body):
    """It still is a request to the model, of which nothing is known."""
    reading = Ollama().read_request(head(), body)

    assert [note.code for note in reading.notes] == ["request_not_json"]
    assert reading == RequestReading(notes=reading.notes)
