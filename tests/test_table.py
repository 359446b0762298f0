"""The choice of a dialect: the highest bid, and ties by the order of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.dialects.table import DIALECTS, choose
from proxy.wire.head import RequestHead

CORPUS = Path(__file__).parent / "corpus"

CHOICES = [
    ("POST", "/v1/chat/completions", b"", "openai_chat"),
    ("POST", "/chat", b'{"messages":[', "openai_chat"),
    ("GET", "/v1/chat/completions", b"", "opaque"),
    ("POST", "/v1/messages?beta=true", b'{"messages":[', "anthropic_messages"),
    ("POST", "/model/m/invoke", b'{"anthropic_version":"v","messages":[', "anthropic_messages"),
    ("POST", "/v1/messages/count_tokens", b'{"messages":[', "tokenizer"),
    ("POST", "/v1/completions", b"", "openai_completions"),
    ("POST", "/completion", b"", "openai_completions"),
    ("POST", "/v1/embeddings", b"", "embeddings"),
    ("POST", "/tokenize", b'{"messages":[', "tokenizer"),
    ("POST", "/v1/chat/completions/input_tokens", b'{"messages":[', "tokenizer"),
    ("GET", "/v1/models", b"", "models"),
    ("GET", "/health", b"", "monitoring"),
    ("OPTIONS", "/v1/models", b"", "opaque"),
    ("POST", "/api/chat", b'{"messages":[', "ollama"),
    ("POST", "/v1beta/models/m:streamGenerateContent?alt=sse", b"", "gemini"),
    ("CONNECT", "127.0.0.1:443", b"", "opaque"),
    ("BREW", "*", b"\0\xff", "opaque"),
]


@pytest.mark.parametrize(("method", "path", "start", "name"), CHOICES)
def test_each_request_finds_its_dialect(method, path, start, name):
    """The dialect that is surest reads it; what nobody knows is opaque."""
    assert choose(RequestHead(method, path, (1, 1), ()), start).name == name


def test_names_are_distinct():
    """A name in a record means one dialect."""
    names = [dialect.name for dialect in DIALECTS]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", [dialect.name for dialect in DIALECTS])
def test_each_dialect_has_a_corpus(name):
    """A row in the table comes with cases of real quirks."""
    assert len(list((CORPUS / name).glob("*.tape"))) >= 3
