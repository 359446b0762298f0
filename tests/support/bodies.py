"""Builders of what goes over the wire, so that a test shows what is special and not what is usual."""

from __future__ import annotations

import orjson


def head(start: str, *fields: str) -> bytes:
    """A message head: start line, fields, empty line."""
    return "".join(f"{line}\r\n" for line in (start, *fields, "")).encode("latin-1")


def request(body: bytes = b"", *fields: str, line: str = "POST /v1/chat/completions") -> bytes:
    """A request with Content-Length and a Host of its own (`in.test`), which the proxy replaces."""
    own = ("Host: in.test", f"Content-Length: {len(body)}")
    return head(f"{line} HTTP/1.1", *own, *fields) + body


def reply(body: bytes = b"", *fields: str, status: str = "200 OK") -> bytes:
    """A response with Content-Length."""
    return head(f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields) + body


def chunk(data: bytes) -> bytes:
    """One chunk (RFC 9112 section 7.1); empty `data` would be the last one: use `chunked`."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunked(*pieces: bytes, trailers: bytes = b"") -> bytes:
    """A whole chunked body: each piece a chunk, the last chunk, trailer lines (with their CRLF)."""
    return b"".join(map(chunk, pieces)) + b"0\r\n" + trailers + b"\r\n"


STREAM_HEAD = head(
    "HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"
)
"""The head of a streamed reply; its body is `chunked(sse(...), ...)`, or `chunk` by `chunk`."""


def sse(data: object) -> bytes:
    """One server-sent event: JSON of `data`, or a str as it is (`[DONE]`)."""
    text = data.encode() if isinstance(data, str) else orjson.dumps(data)
    return b"data: " + text + b"\n\n"


def delta(content: str | None = None, **more: object) -> bytes:
    """One event of an OpenAI chat stream that carries `content`, and `more` in its delta."""
    said = {"content": content} if content is not None else {}
    choice = {"index": 0, "delta": said | more, "finish_reason": None}
    return sse({"object": "chat.completion.chunk", "choices": [choice]})
