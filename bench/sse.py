"""The bytes of the scripted replies: OpenAI's chat completions, streamed and plain.

One rule: all is made beforehand, and only the stamp is put in when a chunk goes out.
"""

from __future__ import annotations

from typing import Final

_EVENT: Final = (
    b'data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1790000000,'
    b'"model":"scripted","choices":[%s]%s}\n\n'
)
_DELTA: Final = b'{"index":0,"delta":{%s},"finish_reason":%s}'

OPENER: Final = _EVENT % (_DELTA % (b'"role":"assistant","content":""', b"null"), b"")
DELTA: Final = _EVENT % (_DELTA % (b'"content":" @%019d"', b"null"), b"")
"""One chunk of text; takes the stamp."""
ENDING: Final = (
    _EVENT % (_DELTA % (b"", b'"stop"'), b"")
    + _EVENT % (b"", b',"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}')
    + b"data: [DONE]\n\n"
)
"""Finish, usage and terminator; takes prompt, completion and total tokens."""

STREAM_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def framed(data: bytes) -> bytes:
    """As one chunk of the chunked coding."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def framed_delta() -> bytes:
    """A chunk of text with its framing; takes the stamp."""
    length = len(DELTA % 0)
    return b"%x\r\n%s\r\n" % (length, DELTA)


LAST_CHUNK: Final = b"0\r\n\r\n"


def plain(received: int) -> bytes:
    """A whole reply; it says how many bytes the request's body had."""
    return document(
        b'{"id":"chatcmpl-bench","object":"chat.completion","created":1790000000,"model":"scripted",'
        b'"choices":[{"index":0,"message":{"role":"assistant","content":"received %d"},'
        b'"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":3,'
        b'"total_tokens":%d}}' % (received, received // 4, received // 4 + 3)
    )


def document(body: bytes, status: bytes = b"200 OK") -> bytes:
    """A reply with a length."""
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(body)) + body
