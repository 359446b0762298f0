"""Where an HTTP/1.1 message ends, told as simply as a test's own messages allow.

One rule: nothing of the product and no parser library, so that both may be judged by it.
"""

from __future__ import annotations

import re

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d+)", re.IGNORECASE | re.MULTILINE)
_CHUNKED = re.compile(rb"^transfer-encoding:.*chunked", re.IGNORECASE | re.MULTILINE)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]+)[^\n]*\n")
_TRAILERS = re.compile(rb"(?:[^\r\n]+\r?\n)*\r?\n")


def message_end(data: bytearray | bytes, start: int) -> int | None:
    """Offset behind the message that begins at `start`; None while it is not whole.

    A body is framed by chunked or Content-Length; with neither there is none.
    """
    found = _HEAD_END.search(data, start)
    if found is None:
        return None
    head = bytes(data[start : found.end()])
    if _CHUNKED.search(head):
        return _chunked_end(data, found.end())
    length = _LENGTH.search(head)
    end = found.end() + (int(length.group(1)) if length else 0)
    return end if end <= len(data) else None


def _chunked_end(data: bytearray | bytes, at: int) -> int | None:
    while found := _CHUNK_SIZE.match(data, at):
        size = int(found.group(1), 16)
        if size == 0:
            last = _TRAILERS.match(data, found.end())
            return last.end() if last else None
        at = found.end() + size + len(b"\r\n")
    return None
