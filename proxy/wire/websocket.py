"""WebSocket frames of one direction (RFC 6455) put together to messages, compression undone (RFC 7692).

One rule: it never raises. What comes is read as a tolerant end would read it; where two ends could
disagree about the next frame, the direction is `broken` with a note, and nothing behind that is claimed
to be known: only the frame before says where the next one begins.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .exchange import Note
from .head import values

if TYPE_CHECKING:
    from .head import ReplyHead

MESSAGE_BOUND: Final = 64 * 2**20
"""Bytes of one message. Reading ends at a longer one: what answers it, or what it answers, would be
taken for another's."""

_CONTINUATION: Final = 0
_DATA: Final = frozenset({1, 2})
_CLOSE: Final = 8
_CONTROL: Final = frozenset({8, 9, 10})

_FINAL: Final = 0x80
_COMPRESSED: Final = 0x40
_RESERVED: Final = 0x30
_MASKED: Final = 0x80
_LENGTH_BYTES: Final = {126: 2, 127: 8}
_CONTROL_LENGTH: Final = 125

_TAIL: Final = b"\x00\x00\xff\xff"
"""RFC 7692 section 7.2.1: what a sender takes off the end of a compressed message."""

_EXTENSION: Final = "permessage-deflate"


@dataclass(frozen=True, slots=True)
class Message:
    """A whole data message."""

    data: bytes
    first_ns: int
    """Arrival of its first byte."""
    at_ns: int
    """Arrival of its last byte."""
    wire_bytes: int
    """Its frames as they came: headers, and compressed if they were."""


@dataclass(frozen=True, slots=True)
class Deflate:
    """What the two ends agreed on about compression."""

    offered: bool = False
    """True when messages may be compressed."""
    client_takeover: bool = True
    """False when each of the client's messages is compressed by itself."""
    server_takeover: bool = True
    """The same for the server's."""


def agreed_deflate(reply: ReplyHead) -> Deflate:
    """What the reply to the upgrade says. A smaller window needs no telling: 15 bits read them all."""
    for extension in ",".join(values(reply.headers, "sec-websocket-extensions")).split(","):
        name, *parameters = (part.strip().lower() for part in extension.split(";"))
        if name == _EXTENSION:
            return Deflate(
                offered=True,
                client_takeover="client_no_context_takeover" not in parameters,
                server_takeover="server_no_context_takeover" not in parameters,
            )
    return Deflate()


class _Inflate:
    """The compressed messages of one direction."""

    def __init__(self, *, takeover: bool) -> None:
        self._takeover = takeover
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)

    def feed(self, data: bytes, room: int) -> bytes:
        """What a piece becomes: of more than `room` bytes, one byte more. Raises zlib.error."""
        found = b""
        while data and len(found) <= room:
            found += self._stream.decompress(data, room + 1 - len(found))
            data = self._stream.unused_data  # a sender may end its stream (section 7.2.3.4)
            if self._stream.eof:
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        return found

    def end(self) -> None:
        """The message is over."""
        if not self._takeover:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)


class WebSocketParser:
    """Push parser of one direction. Give it the bytes behind the upgrade's heads."""

    def __init__(
        self, where: str, *, deflated: bool, takeover: bool, bound: int = MESSAGE_BOUND
    ) -> None:
        """`where` names the direction in notes; the others are that direction's part of `Deflate`."""
        self.notes: list[Note] = []
        """Why it is broken; empty while all is well, and where bytes are missing."""
        self.broken = False
        """True once nothing more is read: a frame that is none, too long a message, or bytes missing."""
        self.closed_ns: int | None = None
        """Arrival of the frame that begins the closing handshake; what stands behind it is no data."""
        self._where = where
        self._bound = bound
        self._inflate = _Inflate(takeover=takeover) if deflated else None
        self._head = bytearray()
        self._frame_ns = 0
        self._begin_message()
        self._left = 0
        self._mask = b""
        self._control = b""
        self._frame_ends_message = False

    def feed(self, data: bytes, at_ns: int) -> list[Message]:
        """The messages that this piece completes."""
        found: list[Message] = []
        position = 0
        while position < len(data) and not self.broken and self.closed_ns is None:
            if self._left:
                position = self._payload(data, position)
            else:
                position = self._header(data, position, at_ns)
            if not self._left and not self._head and not self.broken:
                self._end_frame(found, at_ns)
        return found

    def lost(self) -> None:
        """Bytes are missing here: whoever knows of it notes it."""
        self.broken = True
        self._begin_message()
        self._head.clear()

    def _begin_message(self) -> None:
        self._opcode = _CONTINUATION
        self._compressed = False
        self._data = bytearray()
        self._first_ns = 0
        self._wire_bytes = 0

    # Frames

    def _header(self, data: bytes, start: int, at_ns: int) -> int:
        """Take header bytes (section 5.2): one byte more each time until it is whole."""
        head = self._head
        if not head:
            self._frame_ns = at_ns
        wanted = 2 if len(head) < 2 else _header_size(head)
        end = min(len(data), start + wanted - len(head))
        head += data[start:end]
        if len(head) >= 2 and len(head) == _header_size(head):
            self._begin_frame(bytes(head))
            head.clear()
        return end

    def _begin_frame(self, head: bytes) -> None:
        flags, opcode = head[0], head[0] & 0x0F
        length = head[1] & 0x7F
        behind = 2 + _LENGTH_BYTES.get(length, 0)
        if behind > 2:
            length = int.from_bytes(head[2:behind], "big")
        self._left, self._mask = length, head[behind:]
        self._control = bytes([opcode]) if opcode in _CONTROL else b""
        fault = self._fault(flags, opcode, length)
        if fault:
            self._fail(fault)
        elif not self._control:
            self._begin_data(flags, opcode, len(head) + length)

    def _fault(self, flags: int, opcode: int, length: int) -> str:
        """What makes the frame none; empty if it is one."""
        if opcode in _CONTROL:
            sound = flags & (_FINAL | _COMPRESSED | _RESERVED) == _FINAL
            return "" if sound and length <= _CONTROL_LENGTH else "a control frame in pieces"
        if flags & _RESERVED or (flags & _COMPRESSED and self._inflate is None):
            return "a reserved bit"
        if opcode not in (_CONTINUATION, *_DATA):
            return "an unknown kind of frame"
        if (opcode == _CONTINUATION) != bool(self._opcode):
            return "a message inside a message" if opcode else "a continuation of nothing"
        return ""

    def _begin_data(self, flags: int, opcode: int, size: int) -> None:
        if opcode:
            self._opcode = opcode
            self._first_ns = self._frame_ns
            self._compressed = bool(flags & _COMPRESSED)
        self._wire_bytes += size
        self._frame_ends_message = bool(flags & _FINAL)

    def _payload(self, data: bytes, start: int) -> int:
        end = min(len(data), start + self._left)
        self._left -= end - start
        if not self._control:
            piece = data[start:end]
            if self._mask:
                piece = _unmask(piece, self._mask)
                turn = len(piece) % len(self._mask)
                self._mask = self._mask[turn:] + self._mask[:turn]
            self._keep(piece)
        return end

    def _end_frame(self, found: list[Message], at_ns: int) -> None:
        if self._control:
            if self._control[0] == _CLOSE:
                self.closed_ns = at_ns
        elif self._frame_ends_message:
            self._end_message(found, at_ns)

    # Messages

    def _keep(self, piece: bytes) -> None:
        room = self._bound - len(self._data)
        if self._compressed and self._inflate is not None:
            try:
                piece = self._inflate.feed(piece, room)
            except zlib.error as fault:
                self._fail(f"not deflated: {fault}")
                return
        if len(piece) > room:
            self.notes.append(
                Note("message_too_long", self._where, f"more than {self._bound} bytes")
            )
            self.lost()
        else:
            self._data += piece

    def _end_message(self, found: list[Message], at_ns: int) -> None:
        if self._compressed and self._inflate is not None:
            self._keep(_TAIL)
            self._inflate.end()
        if not self.broken:
            whole = bytes(self._data)
            found.append(Message(whole, self._first_ns, at_ns, self._wire_bytes))
        self._begin_message()

    def _fail(self, why: str) -> None:
        self.notes.append(Note("websocket_broken", self._where, why))
        self.lost()


def _header_size(head: bytes | bytearray) -> int:
    mask = 4 if head[1] & _MASKED else 0
    return 2 + _LENGTH_BYTES.get(head[1] & 0x7F, 0) + mask


def _unmask(data: bytes, mask: bytes) -> bytes:
    """XOR with the mask over and over (section 5.3), as one big number: bytes one by one take 50 times."""
    size = len(data)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "little") ^ int.from_bytes(key, "little")).to_bytes(size, "little")
