"""The language between client and upstream: what is asked for, and how a stamp looks.

One rule: all of it survives a proxy that reads and writes JSON anew. So the wish is the name of the
model, and the stamp is the text of a delta; headers of our own would be dropped on the way.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

STAMP: Final = re.compile(rb"@(\d{19})")
"""CLOCK_MONOTONIC in ns, of the moment before a chunk was given to the kernel."""
STAMP_BYTES: Final = 20
LAST: Final = "/bench/last"
"""Path at which the upstream tells what it saw and sent in the last exchange that was to be kept."""

_ASKED: Final = re.compile(rb'"model": ?"(?:[a-z]+/)?scripted-(\d+)x(\d+)us(-kept)?"')


@dataclass(frozen=True)
class Script:
    """One reply, as the client wants it."""

    chunks: int
    """Deltas of text, each stamped; 0: a short plain JSON reply."""
    interval_us: int = 0
    """Between two chunks; 0: as fast as the socket takes them."""
    kept: bool = False
    """Whether both ends keep all bytes for comparison."""

    @property
    def model(self) -> str:
        """The name of the model that asks for it."""
        return f"scripted-{self.chunks}x{self.interval_us}us{'-kept' if self.kept else ''}"


def asked(pieces: list[bytes]) -> Script:
    """What a request body asks for: clients that name the model first are understood by one piece.

    A body that asks for nothing gets a plain reply.
    """
    found = _ASKED.search(pieces[0]) if pieces else None
    if found is None and len(pieces) > 1:
        found = _ASKED.search(b"".join(pieces))
    if found is None:
        return Script(0)
    chunks, interval_us, kept = found.groups()
    return Script(int(chunks), int(interval_us), kept is not None)


def without_host(head: bytes) -> bytes:
    """A request head but for its Host, which a reverse proxy sets."""
    lines = head.split(b"\r\n")
    return b"\r\n".join(line for line in lines if not line.lower().startswith(b"host:"))


def unchunked(data: bytes) -> bytes:
    """A chunked body without its framing."""
    out = []
    while data:
        size, _, rest = data.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        out.append(rest[:length])
        data = rest[length + 2 :] if length else b""
    return b"".join(out)


def digest(data: bytes) -> str:
    """What is compared in place of bytes."""
    return hashlib.sha256(data).hexdigest()
