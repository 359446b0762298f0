"""The only currency between relay and recorder: a piece of one exchange with its time.

One rule: the byte form is fixed and self-delimiting, so the pipe, the test corpus and a dump in a
bug report are the same thing. Roads not taken: pickle (13 times slower here, and it runs code), JSON
(bytes would need an encoding), length-prefixed msgpack (nothing gained over one `struct`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


class Kind(IntEnum):
    """What a frame says. Numbers are on the wire: never reuse one."""

    OPEN = 1
    """An exchange began: the time is its first request byte's, the payload an `Opening`."""
    REQUEST = 2
    """Bytes from the caller, as they came (before `Host` was rewritten)."""
    REPLY = 3
    """Bytes from the upstream, as they came."""
    MARK = 4
    """A moment without bytes; `code` is a `Mark`."""
    END = 5
    """The exchange is over: the payload is an `Ending`. Nothing follows for its number."""
    RESUME = 6
    """After a restart of the recorder: an exchange that was already running. Payload: `Opening`."""
    LOST = 7
    """Exchanges that ended in a recorder that died: the payload names their numbers."""
    BYE = 8
    """The relay is done and has sent everything. A pipe that ends without it was cut."""


class Mark(IntEnum):
    """A moment on the byte path that no bytes show."""

    DIAL = 1
    """The upstream connection was begun."""
    CONNECTED = 2
    """The upstream connection is ready, TLS included: `host:port` is the payload. Before `OPEN`'s time
    if it was reused."""
    SENT = 3
    """The last request byte has been handed to the kernel."""
    REQUEST_END = 4
    """The last byte of the request came: u0, the origin of every waiting time."""
    REPLY_END = 5
    """The last byte of the reply came."""
    UNFRAMED_REQUEST = 6
    """From here on the caller's bytes could not be told into messages; they still flow."""
    UNFRAMED_REPLY = 7
    """The same for the upstream's bytes."""
    TUNNEL = 8
    """The reply turned the connection into a tunnel (101, or 2xx to CONNECT)."""


HEADER: Final = struct.Struct("<BBHIQQ")
"""kind, code, flags, length, exchange, at_ns: 24 bytes, little-endian."""

ACK: Final = struct.Struct("<Q")
"""The way back: the number of an exchange that is in the journal. Also the items of `Kind.LOST`."""

_KINDS: Final = {kind.value: kind for kind in Kind}

LEFT_OUT: Final = 1
"""Flag: the bytes are not here, only their number. Leave out, never block."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One piece of one exchange."""

    kind: Kind
    exchange: int
    """The exchange's number in its run, from 1; 0 for frames about the run itself."""
    at_ns: int
    """Monotonic time of the socket read that brought it, before any parsing."""
    data: bytes = b""
    """Payload; empty when left out."""
    length: int = 0
    """Bytes that came, also when `data` was left out."""
    code: int = 0
    """A `Mark` for `Kind.MARK`, else 0."""

    @property
    def left_out(self) -> bool:
        """True when the bytes came but were not kept."""
        return len(self.data) != self.length

    def encode(self) -> bytes:
        """The frame in its byte form."""
        left_out = self.left_out
        flags = LEFT_OUT if left_out else 0
        head = HEADER.pack(self.kind, self.code, flags, self.length, self.exchange, self.at_ns)
        return head if left_out else head + self.data


def frame(kind: Kind, exchange: int, at_ns: int, data: bytes = b"", code: int = 0) -> Frame:
    """A frame that carries all of its bytes."""
    return Frame(kind, exchange, at_ns, data, len(data), code)


class FrameReader:
    """Push parser for the byte form: feed pieces, get whole frames.

    It never raises. Bytes that cannot be a frame set `broken`; nothing after them can be trusted,
    because the only thing that says where the next frame begins is the one before it.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self.broken = False

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[Frame]:
        """Yield each frame that `data` completes. Behind a broken one nothing is kept."""
        if self.broken:
            return
        rest = self._rest
        rest += data
        while len(rest) >= HEADER.size:
            number, code, flags, length, exchange, at_ns = HEADER.unpack_from(rest)
            kind = _KINDS.get(number)
            if kind is None:
                self.broken = True
                rest.clear()
                return
            end = HEADER.size if flags & LEFT_OUT else HEADER.size + length
            if end > len(rest):
                return
            payload = bytes(rest[HEADER.size : end])
            del rest[:end]
            yield Frame(kind, exchange, at_ns, payload, length, code)

    @property
    def pending(self) -> int:
        """Bytes of a frame that is not whole yet."""
        return len(self._rest)
