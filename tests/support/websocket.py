"""WebSocket frames as either end sends them (RFC 6455 section 5.2), and messages compressed by RFC 7692.

    upgrade()            # the caller's head
    SWITCHED             # the upstream's
    sent(b"hi")          # a caller's message: masked
    said(b"hello")       # an upstream's

One rule: each function makes bytes and nothing else; `Deflater` alone remembers, as its stream does.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from tests.support.bodies import head

TEXT: Final = 1
CONTINUATION: Final = 0
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10

MASK: Final = b"\x37\xfa\x21\x3d"

SWITCHED: Final = head(
    "HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket"
)


def switched(*fields: str) -> bytes:
    """The upstream's head with more fields, such as an extension."""
    return SWITCHED[:-2] + "".join(f"{field}\r\n" for field in (*fields, "")).encode()


def upgrade(path: str = "/v1/responses", *fields: str) -> bytes:
    """A caller's head that asks for a WebSocket."""
    own = ("Host: in.test", "Connection: Upgrade", "Upgrade: websocket", "User-Agent: test/1.0")
    return head(f"GET {path} HTTP/1.1", *own, *fields)


def ws_frame(
    payload: bytes, opcode: int = TEXT, *, last: bool = True, mask: bytes = b"", rsv: int = 0
) -> bytes:
    """One frame; `rsv` holds the three reserved bits, 4 for the first."""
    first = (0x80 if last else 0) | rsv << 4 | opcode
    bit = 0x80 if mask else 0
    size = len(payload)
    if size < 126:
        length = bytes([bit | size])
    elif size < 65536:
        length = bytes([bit | 126]) + struct.pack(">H", size)
    else:
        length = bytes([bit | 127]) + struct.pack(">Q", size)
    if mask:
        payload = bytes(byte ^ mask[n % 4] for n, byte in enumerate(payload))
    return bytes([first]) + length + mask + payload


def sent(payload: bytes, opcode: int = TEXT) -> bytes:
    """A whole message of a caller."""
    return ws_frame(payload, opcode, mask=MASK)


def said(payload: bytes, opcode: int = TEXT) -> bytes:
    """A whole message of an upstream."""
    return ws_frame(payload, opcode)


def pieces(payload: bytes, *sizes: int, mask: bytes = b"", between: bytes = b"") -> bytes:
    """A message in fragments of these sizes and the rest, with `between` behind each but the last."""
    frames, opcode = b"", TEXT
    for size in sizes:
        frames += ws_frame(payload[:size], opcode, last=False, mask=mask) + between
        payload, opcode = payload[size:], CONTINUATION
    return frames + ws_frame(payload, opcode, mask=mask)


class Deflater:
    """The compressing side of one direction."""

    def __init__(self, *, takeover: bool = True, window: int = 15) -> None:
        self._takeover = takeover
        self._window = window
        self._stream = zlib.compressobj(wbits=-window)

    def message(self, payload: bytes, mask: bytes = b"", *sizes: int) -> bytes:
        """A compressed message, in fragments of these sizes and the rest: only the first has the bit."""
        data = self._stream.compress(payload) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        data = data.removesuffix(b"\x00\x00\xff\xff")
        if not self._takeover:
            self._stream = zlib.compressobj(wbits=-self._window)
        frames, opcode, rsv = b"", TEXT, 4
        for size in sizes:
            frames += ws_frame(data[:size], opcode, last=False, mask=mask, rsv=rsv)
            data, opcode, rsv = data[size:], CONTINUATION, 0
        return frames + ws_frame(data, opcode, mask=mask, rsv=rsv)
