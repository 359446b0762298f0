"""Pieces into a socket that does not block: as many as it takes, and how far that was.

One rule: no piece is copied or cut. Where one was taken in part, the number of its bytes that are gone is
kept, and the next call begins behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

_BUFFERS: Final = 512
"""For one sendmsg; Linux takes 1,024 (UIO_MAXIOV)."""


class Sent(NamedTuple):
    """What went."""

    whole: int
    """Pieces that are gone to their last byte."""
    skip: int
    """Bytes that are gone of the next one."""
    bytes: int
    full: bool
    """True when the socket takes no more for now."""


def send(sock: socket.socket, pieces: Sequence[bytes], skip: int) -> Sent:
    """Send pieces, the first from its byte `skip` on. A socket whose peer is dead takes nothing."""
    done = total = 0
    full = False
    try:
        while done < len(pieces):
            batch: list[bytes | memoryview] = list(pieces[done : done + _BUFFERS])
            if skip:
                batch[0] = memoryview(pieces[done])[skip:]
            sent = sock.sendmsg(batch)
            total += sent
            done, skip = _reached(pieces, done, skip + sent)
    except BlockingIOError:
        full = True
    except OSError:
        pass  # whoever watches the peer's process says what that means
    return Sent(done, skip, total, full)


def _reached(pieces: Sequence[bytes], first: int, sent: int) -> tuple[int, int]:
    """The piece at which `sent` bytes from the start of piece `first` end, and how far into it."""
    while first < len(pieces) and sent >= len(pieces[first]):
        sent -= len(pieces[first])
        first += 1
    return first, sent
