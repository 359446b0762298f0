"""Calls without output: known by method and path, and never taken for generations."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.base import RequestReading, Usage
from proxy.dialects.known import KNOWN
from proxy.dialects.table import choose
from proxy.wire.head import ReplyHead, RequestHead

DIALECTS = {dialect.name: dialect for dialect in KNOWN}
BODY = b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"prompt":"Hi","input":"Hi"}'

CALLS = {
    "embeddings": [
        "POST /v1/embeddings", "POST /embedding", "POST /embed", "POST /api/embed", "POST /api/embeddings",
        "POST /v1/rerank", "POST /v2/rerank", "POST /reranking", "POST /score", "POST /pooling", "POST /classify",
        "POST /openai/deployments/d/embeddings?api-version=1", "POST /v1beta/models/m:embedContent",
        "POST /v1beta/models/m:batchEmbedContents",
    ],
    "tokenizer": [
        "POST /tokenize", "POST /v1/tokenize/", "POST /detokenize", "POST /chat_tokenize", "POST /apply-template",
        "GET /tokenizer_info", "POST /v1/chat/completions/render", "POST /v1/chat/completions/input_tokens",
        "POST /v1/responses/input_tokens", "POST /v1/messages/count_tokens?beta=true",
        "POST /v1beta/models/m:countTokens",
        "POST /v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict",
    ],
    "models": [
        "GET /v1/models", "HEAD /v1/models", "GET /v1/models/a%2Fb:7b", "DELETE /v1/models/m", "GET /models",
        "GET http://127.0.0.1:8000/api/v0/models?x=1", "GET /api/tags", "GET /api/ps", "POST /api/show",
        "POST /api/pull", "DELETE /api/delete", "POST /models/load", "POST /models/unload",
    ],
    "monitoring": [
        "HEAD /", "GET /health", "GET /healthz", "GET /v1/health", "HEAD /health", "GET /ping", "GET /version",
        "GET /api/version", "GET /metrics", "GET /slots", "POST /slots/0?action=save", "GET /props", "POST /props",
        "GET /load", "GET /v1/loads", "GET /server_info", "GET /get_model_info", "GET /health_generate", "GET /info",
        "GET /is_sleeping",
    ],
}  # fmt: skip

OTHERS = {
    "OPTIONS /v1/models": "opaque",
    "OPTIONS /v1/embeddings": "opaque",
    "GET /": "opaque",
    "GET /v1/embeddings": "opaque",
    "GET /healthy": "opaque",
    "GET /v1/mymodels": "opaque",
    "POST /health/chat/completions": "openai_chat",
    "POST /v1/completions": "openai_completions",
    "POST /v1/messages": "anthropic_messages",
}  # fmt: skip


def head(call):
    """A request's head from its method and target."""
    method, _, target = call.partition(" ")
    return RequestHead(method, target, (1, 1), ())


def reading(name, call, body, status=200):
    """What is read of a whole reply."""
    reader = DIALECTS[name].reply_reader(head(call), ReplyHead(status, (1, 1), ()))
    reader.feed(body, 7)
    reader.close()
    return reader.reading()


@pytest.mark.parametrize(
    ("call", "name"), [(call, name) for name, calls in CALLS.items() for call in calls]
)
def test_a_call_is_known(call, name):
    """By one dialect only, which is surer than any of what the body looks like; it generates nothing."""
    chosen = choose(head(call), BODY)

    assert chosen.name == name
    assert [dialect.name for dialect in KNOWN if dialect.bid(head(call), b"")] == [name]
    assert chosen.read_request(head(call), BODY) == RequestReading(model="m", generation=False)


@pytest.mark.parametrize(("call", "name"), OTHERS.items(), ids=OTHERS)
def test_a_call_is_not_taken_for_another(call, name):
    """A generation, a preflight and a word inside another word are none of these."""
    assert choose(head(call), b"").name == name


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": 7}', b"\xff"])
def test_a_request_without_a_model(body):
    """It names none, and that is no fault."""
    for dialect in KNOWN:
        assert dialect.read_request(head("GET /"), body) == RequestReading(generation=False)


BILLS = {
    "a prompt": ("/v1/embeddings", {"usage": {"prompt_tokens": 5, "total_tokens": 6}}, 5),
    "a total": ("/v1/rerank", {"usage": {"total_tokens": 6}}, 6),
    "Ollama's": ("/api/embed", {"prompt_eval_count": 3, "embeddings": [[0.1]]}, 3),
    "a list": ("/embedding", [{"index": 0, "embedding": [[0.1]]}], None),
    "no bill": ("/v1/embeddings", {"data": []}, None),
    "none expected": ("/embed", {"usage": {"prompt_tokens": 5}}, None),
}


@pytest.mark.parametrize(("path", "body", "read"), BILLS.values(), ids=BILLS)
def test_embeddings_have_a_bill(path, body, read):
    """The tokens that were read, where a server says so; nothing is generated."""
    found = reading("embeddings", f"POST {path}", orjson.dumps(body))

    assert found.usage == Usage(input=read)
    assert (found.text, found.output_source, found.notes) == ("", None, ())


def test_embeddings_name_their_model():
    """As the server gives it."""
    assert reading("embeddings", "POST /v1/embeddings", b'{"model":"m-1"}').model == "m-1"


def test_a_streamed_embedding_says_the_same():
    """None is known; one that came would be read."""
    body = b'data: {"usage":{"prompt_tokens":5}}\n\n'

    assert reading("embeddings", "POST /v1/embeddings", body).usage.input == 5


@pytest.mark.parametrize(
    "body", [b"# HELP x\nx 1\n", b'{"choices":[{"text":"a"}]}', b"[[0.1]]", b""]
)
def test_other_replies_are_not_read(body):
    """No form is expected of them, so none is missed."""
    for name, call in (
        ("monitoring", "GET /metrics"),
        ("models", "GET /v1/models"),
        ("embeddings", "POST /embed"),
    ):
        found = reading(name, call, body)
        assert (found.text, found.usage, found.notes) == ("", Usage(), ())  # fmt: skip


@pytest.mark.parametrize("name", DIALECTS)
def test_an_error_has_its_name(name):
    """Which is all that a report wants of it."""
    body = b'{"error":{"type":"unavailable_error","message":"Loading"}}'

    assert reading(name, "POST /v1/embeddings", body, 503).error_type == "unavailable_error"
