"""A caller on a raw socket: it asks, reads at its own pace, and compares the digests of both ends.

One rule: a reply is whole only if its own last digits say so and the upstream's digest of the request is
the caller's. Everything else is named: refused, broken, or wrong.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import struct
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Self

from .wish import END, END_BYTES, RECEIVED

if TYPE_CHECKING:
    from collections.abc import Iterable

READ_BYTES: Final = 256 * 1024
_START_BYTES: Final = 1024
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
WITHIN_S: Final = 120.0


class Verdict(Enum):
    """How an exchange went, as its caller saw it."""

    whole = "whole"
    refused = "refused"
    """The proxy answered that it reaches no upstream."""
    broken = "broken"
    """The connection ended first."""
    wrong = "wrong"
    """A byte was not what the other end sent: never right."""
    late = "late"
    """It took longer than anything here may take: never right."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply."""

    verdict: Verdict
    bytes: int
    """Read and written."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a caller reads."""

    read_bytes: int = READ_BYTES
    pause_s: float = 0.0
    """Before each read."""


FAST: Final = Pace()


class Caller:
    """One connection to the proxy."""

    def __init__(self, port: int, receive_buffer: int = 0) -> None:
        self._port = port
        self._sock = socket.socket()
        self._sock.settimeout(0)
        if receive_buffer:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)

    async def __aenter__(self) -> Self:
        await asyncio.get_running_loop().sock_connect(self._sock, ("127.0.0.1", self._port))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it, in good order."""
        self._sock.close()

    def reset(self) -> None:
        """Close it with a reset."""
        if self._sock.fileno() >= 0:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            self._sock.close()

    async def ask(self, pieces: Iterable[bytes], pace: Pace = FAST) -> Answer:
        """Send the pieces of one request and read its reply."""
        sent = 0
        try:
            async with asyncio.timeout(WITHIN_S):
                digest = hashlib.sha256()
                for piece in pieces:
                    digest.update(piece)
                    sent += len(piece)
                    await asyncio.get_running_loop().sock_sendall(self._sock, piece)
                answer = await self._read(digest.hexdigest().encode(), pace)
        except TimeoutError:
            return Answer(Verdict.late, sent)
        except OSError:
            return Answer(Verdict.broken, sent)
        return Answer(answer.verdict, answer.bytes + sent)

    async def _read(self, sent: bytes, pace: Pace) -> Answer:
        loop, digest = asyncio.get_running_loop(), hashlib.sha256()
        start, held, count = b"", b"", 0
        while True:
            if pace.pause_s:
                await asyncio.sleep(pace.pause_s)
            data = await loop.sock_recv(self._sock, pace.read_bytes)
            if not data:
                refused = start.startswith(b"HTTP/1.1 50")
                return Answer(Verdict.refused if refused else Verdict.broken, count)
            count += len(data)
            if len(start) < _START_BYTES:
                start += data[:_START_BYTES]
            held += data
            if found := END.search(held, max(0, len(held) - END_BYTES)):
                digest.update(held[: found.start()])
                right = digest.hexdigest().encode() == found[1] and _received(start) == sent
                return Answer(Verdict.whole if right else Verdict.wrong, count)
            digest.update(held[:-END_BYTES])
            held = held[-END_BYTES:]


def _received(start: bytes) -> bytes:
    found = RECEIVED.search(start)
    return found[1] if found else b""
