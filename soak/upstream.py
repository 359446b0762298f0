"""The scripted upstream: `python -m soak.upstream`. It prints its port, and ends when its input does.

One rule: it hashes what it reads and what it sends, and does what the request's head asks for.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import socket
import struct
import sys
from typing import TYPE_CHECKING, Final

import uvloop

from .limits import raise_descriptors
from .wish import Wish, wished

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_READ_BYTES: Final = 256 * 1024
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
_STREAM_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Soak-Received: %s\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
_PLAIN_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Soak-Received: %s\r\n"
    b"Content-Length: %d\r\n\r\n"
)
_EVENT: Final = (
    b'data: {"id":"soak","object":"chat.completion.chunk","model":"soak","choices":'
    b'[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}\n\n'
)
_FINISH: Final = (
    b'data: {"id":"soak","object":"chat.completion.chunk","model":"soak","choices":'
    b'[{"index":0,"delta":{},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":500,"completion_tokens":%d,"total_tokens":%d}}\n\ndata: [DONE]\n\n'
)
_PLAIN: Final = (
    b'{"id":"soak","object":"chat.completion","model":"soak","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"yes"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":500,"completion_tokens":1,"total_tokens":501},"digest":"'
)
_HEX_BYTES: Final = 64


class _ResetNowError(Exception):
    """The wish was to break off here."""


class _Reply:
    """What is sent, hashed as it goes."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._digest = hashlib.sha256()

    async def send(self, data: bytes) -> None:
        self._digest.update(data)
        self._writer.write(data)
        await self._writer.drain()

    async def end(self, before: bytes, after: bytes) -> None:
        """The last bytes, with the digest of all that came before it."""
        self._digest.update(before)
        self._writer.write(before + self._digest.hexdigest().encode() + after)
        await self._writer.drain()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _texts(wish: Wish) -> Iterator[bytes]:
    word = b"token "
    text = (word * (wish.size // len(word) + 1))[: wish.size]
    for _ in range(wish.events):
        yield _chunk(_EVENT % text)


async def _answer(writer: asyncio.StreamWriter, wish: Wish, received: bytes) -> None:
    reply = _Reply(writer)
    if not wish.events:
        length = len(_PLAIN) + _HEX_BYTES + len(b'"}')
        await reply.end(_PLAIN_HEAD % (received, length) + _PLAIN, b'"}')
        return
    await reply.send(_STREAM_HEAD % received)
    for number, event in enumerate(_texts(wish), start=1):
        await reply.send(event)
        if number == wish.reset_after:
            raise _ResetNowError
        if wish.gap_ms:
            await asyncio.sleep(wish.gap_ms / 1000)
    finish = _FINISH % (wish.events, wish.events + 500)
    last_bytes = len(b": ") + _HEX_BYTES + len(b"\n\n")
    last = _chunk(finish) + b"%x\r\n: " % last_bytes
    await reply.end(last, b"\n\n\r\n0\r\n\r\n")


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request and its reply. Raises EOFError at the end of the connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    digest = hashlib.sha256(head)
    length = _LENGTH.search(head)
    left = int(length[1]) if length else 0
    while left:
        data = await reader.read(min(left, _READ_BYTES))
        if not data:
            raise EOFError
        digest.update(data)
        left -= len(data)
    await _answer(writer, wished(head), digest.hexdigest().encode())


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            await _exchange(reader, writer)
    except _ResetNowError:
        # Not at once: a reset takes back what the peer has not read yet.
        await asyncio.sleep(0.05)
        sock: socket.socket = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        writer.transport.abort()
    except (OSError, EOFError, asyncio.LimitOverrunError):
        writer.close()


async def _run() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=4096, limit=_READ_BYTES)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.buffer.read)


def main() -> None:
    """Listen on any free port of loopback."""
    raise_descriptors()
    uvloop.run(_run())


if __name__ == "__main__":
    main()
