"""The hot side of the pipe to the recorder: frames, batched, bounded, never blocking.

One rule: leave out, never block. When the recorder lags, frames lose their bytes but keep time and
length: request bodies first, replies last, and from its first gap on all content of that direction, since
nothing behind a gap can be read. Whatever is lost with a recorder that dies is counted and named.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from .wire.frame import ACK, HEADER, LEFT_OUT, Kind, Mark
from .wire.pairing import Flow

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable

    from .wire.exchange import Ending, Opening

FLUSH_BYTES: Final = 64 * 1024
FLUSH_S: Final = 0.005
_PIECES: Final = 512
"""Buffers for one sendmsg; Linux takes 1,024 (UIO_MAXIOV)."""

_REQUESTS_GO: Final = 0.5
_REPLIES_GO: Final = 0.9
"""Shares of the bound above which content of that direction is left out."""


class Open(NamedTuple):
    """An exchange that the recorder must know again after a restart."""

    flow: Flow
    opening: Opening
    opened_ns: int


class Handoff:
    """The relay's `Tap`."""

    def __init__(
        self,
        queue_bytes: int,
        retain_bytes: int,
        unix_of: Callable[[int], int],
        lags: Callable[[], None] = lambda: None,
    ) -> None:
        """Bounds in bytes: of what may wait here, and of a request that is kept for reading.

        `unix_of` gives the wall time in ns of a monotonic stamp. `lags` is called when content begins to
        be left out because the recorder does not keep up.
        """
        self._lags = lags
        self._lagging = False
        self._bound = queue_bytes
        self._retain = retain_bytes
        self._unix_of = unix_of
        self._sock: socket.socket | None = None
        self._pieces: list[bytes] = []
        self._skip = 0
        self._queued = 0
        self._blocked = False
        self._timer: asyncio.TimerHandle | None = None
        self.exchanges = 0
        """How many were opened so far: the number of the last one."""
        self._gaps: set[tuple[int, Kind]] = set()
        self._tunnels: set[int] = set()
        """Exchanges in which messages flow: no bound of a request holds for all of them together."""
        self.open_exchanges: dict[int, Open] = {}
        self.unacknowledged: set[int] = set()
        self.left_out_bytes = 0
        self.lost: set[int] = set()
        """Exchanges that ended in a recorder that died, and are not yet told to the next one."""
        self.lost_in_all = 0
        """How many that were in this run."""

    # What the relay says (Tap)

    def open(self, connection: Opening, at_ns: int) -> Flow:
        """A new exchange: its number, and its first frame."""
        self.exchanges += 1
        flow = Flow(self.exchanges)
        opening = replace(connection, at_unix_ns=self._unix_of(at_ns))
        self.open_exchanges[flow.number] = Open(flow, opening, at_ns)
        self.put(Kind.OPEN, flow.number, at_ns, opening.encode())
        return flow

    def put(self, kind: Kind, number: int, at_ns: int, data: bytes, code: int = 0) -> None:
        """A piece or a mark. Called for each piece that flows."""
        length = len(data)
        if kind is Kind.MARK and code == Mark.TUNNEL:
            self._tunnels.add(number)
        if self._sock is None:
            return  # the next recorder is told of what is running, with its bytes so far
        if length and self._must_leave_out(kind, number):
            self.left_out_bytes += length
            self._pieces.append(HEADER.pack(kind, code, LEFT_OUT, length, number, at_ns))
            self._queued += HEADER.size
        else:
            self._pieces.append(HEADER.pack(kind, code, 0, length, number, at_ns))
            if length:
                self._pieces.append(data)
            self._queued += HEADER.size + length
        if self._queued >= FLUSH_BYTES and not self._blocked:
            self._flush()
        elif self._timer is None and not self._blocked:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._flush)

    def end(self, flow: Flow, ending: Ending, at_ns: int) -> None:
        """The last word on an exchange; what is queued goes out with it."""
        del self.open_exchanges[flow.number]
        self.unacknowledged.add(flow.number)
        self._tunnels.discard(flow.number)
        if self._sock is None:
            self._lose()
        self._gaps -= {(flow.number, Kind.REQUEST), (flow.number, Kind.REPLY)}
        self.put(Kind.END, flow.number, at_ns, ending.encode())
        if not self._blocked:
            self._flush()

    def _must_leave_out(self, kind: Kind, number: int) -> bool:
        if kind is Kind.REPLY:
            share = _REPLIES_GO
        elif kind is Kind.REQUEST:
            share = _REQUESTS_GO
        else:
            return False
        lagging = self._queued > self._bound * share
        if lagging and not self._lagging:
            self._lagging = True
            self._lags()
        if lagging or (kind is Kind.REQUEST and self._too_long(number)):
            self._gaps.add((number, kind))
        return bool(self._gaps) and (number, kind) in self._gaps

    def _too_long(self, number: int) -> bool:
        known = self.open_exchanges.get(number)
        if known is None or number in self._tunnels:
            return False
        return known.flow.request_bytes > self._retain

    # The pipe

    def attach(self, sock: socket.socket, at_ns: int) -> None:
        """A (new) recorder listens here: tell it what is lost and what is running."""
        self._sock = sock
        if self.lost:
            self.put(Kind.LOST, 0, at_ns, _numbers(sorted(self.lost)))
            self.unacknowledged.add(0)
        for flow, opening, opened_ns in self.open_exchanges.values():
            so_far = replace(
                opening, request_bytes=flow.request_bytes, reply_bytes=flow.reply_bytes
            )
            self.put(Kind.RESUME, flow.number, opened_ns, so_far.encode())
        self._flush()

    def detach(self) -> int:
        """The recorder is gone, with all that it had not acknowledged. Returns how many that were."""
        if self._sock is not None and self._blocked:
            asyncio.get_running_loop().remove_writer(self._sock)
        self._sock = None
        self._blocked = False
        self._pieces, self._skip, self._queued = [], 0, 0
        self._gaps.clear()
        return self._lose()

    def _lose(self) -> int:
        lost = self.unacknowledged - {0}
        self.lost |= lost
        self.lost_in_all += len(lost)
        self.unacknowledged.clear()
        return len(lost)

    def acknowledged(self, numbers: Iterable[int]) -> None:
        """These exchanges are in the journal; 0 stands for the list of what was lost."""
        for number in numbers:
            self.unacknowledged.discard(number)
            if number == 0:
                self.lost.clear()

    @property
    def drained(self) -> bool:
        """True when nothing waits and everything that ended is in the journal."""
        return not self._queued and not self.unacknowledged

    def flush(self) -> None:
        """Write what is queued, as far as the pipe takes it."""
        self._flush()

    def goodbye(self, at_ns: int) -> None:
        """The relay is done: a pipe that ends behind this was not cut."""
        self.put(Kind.BYE, 0, at_ns, b"")
        self._flush()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sock is None or self._blocked:
            return
        self._send(self._sock)

    def _send(self, sock: socket.socket) -> None:
        pieces, done = self._pieces, 0
        try:
            while done < len(pieces):
                batch: list[bytes | memoryview] = list(pieces[done : done + _PIECES])
                if self._skip:
                    batch[0] = memoryview(pieces[done])[self._skip :]
                done += self._account(sock.sendmsg(batch), pieces, done)
        except BlockingIOError:
            self._blocked = True
            asyncio.get_running_loop().add_writer(sock, self._writable)
        except OSError:
            return  # the recorder is dead: whoever watches its process detaches it
        del pieces[:done]

    def _account(self, sent: int, pieces: list[bytes], first: int) -> int:
        """Take note of `sent` bytes; return how many pieces are whole."""
        self._queued -= sent
        self._lagging = self._lagging and self._queued > 0
        sent += self._skip
        index = first
        while index < len(pieces) and sent >= len(pieces[index]):
            sent -= len(pieces[index])
            index += 1
        self._skip = sent
        return index - first

    def _writable(self) -> None:
        if self._sock is not None:
            asyncio.get_running_loop().remove_writer(self._sock)
        self._blocked = False
        self._flush()


def _numbers(numbers: list[int]) -> bytes:
    return b"".join(ACK.pack(number) for number in numbers)
