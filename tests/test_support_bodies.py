"""The test kit's builders and its idea of where a message ends."""

from __future__ import annotations

import pytest

from tests.support.bodies import chunk, chunked, delta, head, reply, request, sse
from tests.support.framing import message_end

MESSAGES = {
    "no body": head("GET /v1/models HTTP/1.1", "Host: a"),
    "content-length": request(b'{"model": "m"}'),
    "chunked": head("POST / HTTP/1.1", "Transfer-Encoding: chunked") + chunked(b"0\r\n\r\n", b"b"),
    "trailers": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
    + chunked(b"a" * 20, trailers=b"X-A: b\r\nX-C: d\r\n"),
    "lf only": b"POST / HTTP/1.1\ncontent-length: 3\n\nabc",
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_message_end_is_told_from_every_cut_and_with_junk_behind(message: bytes) -> None:
    """A message's end is unknown until its last byte is there, and does not move after that."""
    before = b"before"
    for size in range(len(message)):
        assert message_end(before + message[:size], len(before)) is None
    for junk in (b"", b"x", b"0\r\n\r\n", message):
        assert message_end(before + message + junk, len(before)) == len(before + message)


def test_builders_make_the_bytes_they_name() -> None:
    """The builders' bytes are what RFC 9112 and the event stream format ask for."""
    assert chunk(b"a" * 17) == b"11\r\n" + b"a" * 17 + b"\r\n"
    assert chunked(b"ab") == b"2\r\nab\r\n0\r\n\r\n"
    assert chunked(trailers=b"A: b\r\n") == b"0\r\nA: b\r\n\r\n"
    assert sse("[DONE]") == b"data: [DONE]\n\n"
    assert sse({"a": "é"}) == 'data: {"a":"é"}\n\n'.encode()
    assert b'"delta":{"content":"hi"}' in delta("hi")
    assert b'"delta":{"role":"assistant"}' in delta(role="assistant")
    assert reply(b"ok") == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
