"""The only currency between relay and recorder: a piece of one exchange with its time.

One rule: the byte form is fixed and self-delimiting, so the pipe, the test corpus and a dump in a
bug report are the same thing. Roads not taken: pickle (13 times slower here, and it runs code), JSON
(bytes would need an encoding), length-prefixed msgpack (nothing gained over one `struct`).
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

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
    """Exchanges that will have no record: the payload names their numbers; `code` is a `LostBy`."""
    BYE = 8
    """The relay is done and has sent everything. A pipe that ends without it was cut."""
    PIPE = 9
    """Between processes: a pipe's end comes with this frame. Payload: the name of the relay's run."""
    BEGIN = 10
    """To a worker: what it is to do (a `WorkerSettings`)."""
    READY = 11
    """From a worker: it listens; with a payload, why it cannot."""
    STOP = 12
    """To a worker: accept nobody any more, and end."""
    HURRY = 13
    """To a worker that ends: at once."""
    SCRAPE = 14
    """To the recorder: what has it counted?"""
    METRICS = 15
    """From the recorder: the answer, in Prometheus' text format."""


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


class LostBy(IntEnum):
    """Why an exchange has no record."""

    recorder_died = 0
    """Its end had not been written when the recorder died."""
    recorder_lagged = 1
    """It ran while the recorder did not keep up, and there was no room for as much as its beginning."""


HEADER: Final = struct.Struct("<BBHIQQ")
"""kind, code, flags, length, exchange, at_ns: 24 bytes, little-endian."""

ACK: Final = struct.Struct("<Q")
"""The way back: the number of an exchange that is in the journal. Also the items of `Kind.LOST`."""

_KINDS: Final = {kind.value: kind for kind in Kind}

LEFT_OUT: Final = 1
"""Flag: the bytes are not here, only their number. Leave out, never block."""


class Frame(NamedTuple):
    """One piece of one exchange. A tuple: made for each piece, it is a third of a dataclass's price."""

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
        self._rest = b""
        self.broken = False

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[Frame]:
        """Each frame that `data` completes, to be taken at any time. Behind a broken one nothing is kept."""
        return iter(() if self.broken else self._whole_ones(self._rest + data))

    def _whole_ones(self, whole: bytes) -> list[Frame]:
        frames: list[Frame] = []
        start, size = 0, len(whole)
        while size - start >= HEADER.size:
            number, code, flags, length, exchange, at_ns = HEADER.unpack_from(whole, start)
            kind = _KINDS.get(number)
            if kind is None:
                self.broken = True
                self._rest = b""
                return frames
            begin = start + HEADER.size
            end = begin if flags & LEFT_OUT else begin + length
            if end > size:
                break
            start = end
            frames.append(Frame(kind, exchange, at_ns, whole[begin:end], length, code))
        self._rest = whole[start:]
        return frames

    @property
    def pending(self) -> int:
        """Bytes of a frame that is not whole yet."""
        return len(self._rest)
