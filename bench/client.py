"""The client: raw connections that ask, and take the time of every stamped chunk at its arrival.

One rule: a chunk costs one regular expression and a subtraction. What is to be judged otherwise (bytes,
framing) is kept and looked at afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from .clock import monotonic_ns
from .script import STAMP, STAMP_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END: Final = b"\r\n0\r\n\r\n"
"""How a chunked body ends; no event of the upstream has this in it."""


class BrokenReplyError(Exception):
    """A reply was not what was asked for: the message says in what."""


@dataclass
class Reply:
    """What came for one request."""

    asked_ns: int
    first_ns: int = 0
    """Arrival of the first stamped chunk; 0: none came."""
    ended_ns: int = 0
    delays_ns: list[int] = field(default_factory=list)
    """Arrival less stamp, of each chunk in order."""
    head: bytes = b""
    """To the empty line, and that included."""
    kept: list[bytes] | None = None
    """All bytes as they came, head included; None: not kept."""


class Connection(asyncio.Protocol):
    """One connection, on which one request after the other is asked."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Reply] | None = None
        self._reply = Reply(0)
        self._left = -1
        """Bytes of the body to come; below zero: the body is chunked, or the head is not whole."""
        self._tail = b""
        self._split = b""
        """The beginning of a stamp whose rest has not come."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready to ask."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """A reply that was under way is broken."""
        self._transport = None
        if self._waiter is not None and not self._waiter.done():
            why = f"the connection ended inside a reply ({exc or 'FIN'}) after {self._tail!r}"
            self._waiter.set_exception(BrokenReplyError(why))

    async def ask(self, request: bytes, *, kept: bool = False) -> Reply:
        """Send a request and wait for the whole reply. Raises BrokenReplyError unless it is a 200."""
        if self._transport is None:
            raise BrokenReplyError("the connection was closed between two requests")
        self._waiter = asyncio.get_running_loop().create_future()
        self._left, self._tail, self._split = -1, b"", b""
        self._reply = Reply(monotonic_ns(), kept=[] if kept else None)
        self._transport.write(request)
        reply = await self._waiter
        if not reply.head.startswith(b"HTTP/1.1 200 "):
            raise BrokenReplyError(f"the reply began with {reply.head[:60]!r}")
        return reply

    def data_received(self, data: bytes) -> None:
        """The hot path."""
        now = monotonic_ns()
        reply = self._reply
        if reply.kept is not None:
            reply.kept.append(data)
        stamped = self._split + data if self._split else data
        stamps = STAMP.findall(stamped)
        if stamps:
            if not reply.first_ns:
                reply.first_ns = now
            for stamp in stamps:
                reply.delays_ns.append(now - int(stamp))
        start = stamped.rfind(b"@", -STAMP_BYTES + 1)
        self._split = stamped[start:] if start >= 0 else b""
        if not reply.head:
            self._read_head(data)
        elif self._left > 0:
            self._left -= len(data)
            self._tail = b""
        else:
            self._tail = data[-7:] if len(data) >= 7 else (self._tail + data)[-7:]
        if self._left == 0 or self._tail == _END:
            self._finish(now)

    def _read_head(self, data: bytes) -> None:
        head, end, body = (self._tail + data).partition(_HEAD_END)
        if not end:
            self._tail = head
            return
        self._reply.head = head + end
        length = _LENGTH.search(head)
        self._left = int(length[1]) - len(body) if length else -1
        self._tail = b"" if length else body[-7:]

    def _finish(self, now: int) -> None:
        self._reply.ended_ns = now
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(self._reply)

    def close(self) -> None:
        """Close it, if it is open."""
        if self._transport is not None:
            self._transport.close()


@contextlib.asynccontextmanager
async def connections(port: int, count: int) -> AsyncIterator[Sequence[Connection]]:
    """So many connections to a port of loopback, while the block runs."""
    loop = asyncio.get_running_loop()
    opened: list[Connection] = []
    try:
        for _ in range(count):
            _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
            opened.append(connection)
        yield opened
    finally:
        for connection in opened:
            connection.close()
        await asyncio.sleep(0)


def request(body: bytes, headers: Sequence[str] = ()) -> bytes:
    """A chat request as the usual clients send it; `headers` are a contestant's own."""
    lines = [
        "POST /v1/chat/completions HTTP/1.1",
        "Host: 127.0.0.1",
        "Accept: application/json",
        "User-Agent: bench",
        "Authorization: Bearer sk-bench",
        "Content-Type: application/json",
        *headers,
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
