"""The hot side of the pipe to the recorder: frames, batched, bounded, never blocking.

One rule: leave out, never block. When the recorder lags, frames lose their bytes but keep time and
length: request bodies first, replies last, and from its first gap on all content of that direction, since
nothing behind a gap can be read. Beyond the bound pieces are told as one, and exchanges that begin then
are not told at all before there is room. Between two recorders frames wait here like any others. Whatever
has no record in the end is counted and named.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from . import clock
from .lost import Lost
from .sending import send
from .wire.flow import Flow
from .wire.frame import HEADER, LEFT_OUT, Kind, LostBy, Mark

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable

    from .wire.exchange import Ending, Opening

FLUSH_BYTES: Final = 64 * 1024
FLUSH_S: Final = 0.02
_CONTENT: Final = {Kind.REQUEST: 0.5, Kind.REPLY: 0.9}
"""Shares of the bound above which content of that direction is left out: requests first, replies last."""
_HEADER_BYTES: Final = HEADER.size
_CATCH_UP: Final = 0.25
"""Share of the bound below which exchanges that were not told are told after all."""

_MOST_AT_ONCE: Final = 2**31
"""Bytes that one frame may say were left out; its field has 32 bits."""


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
        self._most = {kind: int(queue_bytes * share) for kind, share in _CONTENT.items()}
        self._retain = retain_bytes
        self._unix_of = unix_of
        self._sock: socket.socket | None = None
        self._pieces: list[bytes] = []
        self._skip = 0
        self._queued = 0
        self._blocked = True
        """True while nothing can be sent: the pipe is full, or there is no recorder."""
        self._timer: asyncio.TimerHandle | None = None
        self._due: list[Callable[[], None]] = []
        """What is to be done before anything is sent."""
        self.exchanges = 0
        """How many were opened so far: the number of the last one."""
        self._gaps: dict[tuple[int, Kind], int] = {}
        """Directions in which content was left out, and how many of those bytes are not told yet."""
        self._unheard: set[int] = set()
        """Open exchanges of which the recorder has not been told."""
        self._tunnels: set[int] = set()
        """Exchanges in which messages flow: no bound of a request holds for all of them together."""
        self.open_exchanges: dict[int, Open] = {}
        self.unacknowledged: set[int] = set()
        self.left_out_bytes = 0
        self._lost = Lost()

    # What the relay says (Tap)

    def open(self, connection: Opening, at_ns: int) -> Flow:
        """A new exchange: its number, and its first frame."""
        self.exchanges += 1
        flow = Flow(self.exchanges)
        opening = connection.at(self._unix_of(at_ns))
        self.open_exchanges[flow.number] = Open(flow, opening, at_ns)
        if self._queued > self._bound:
            self._lag()
            self._unheard.add(flow.number)
        self.put(Kind.OPEN, flow.number, at_ns, opening.encode())
        return flow

    def put(self, kind: Kind, number: int, at_ns: int, data: bytes, code: int = 0) -> None:
        """A piece or a mark. Called for each piece that flows."""
        if number in self._unheard:
            return
        length = len(data)
        most = self._most.get(kind)
        if most is not None and self._must_leave_out(kind, number, most):
            self.left_out_bytes += length
            self._leave_out(kind, number, at_ns, length)
        else:
            if most is None:
                self._before(kind, number, at_ns, code)
            self._pieces.append(HEADER.pack(kind, code, 0, length, number, at_ns))
            if length:
                self._pieces.append(data)
            self._queued += _HEADER_BYTES + length
        if self._blocked:
            return
        if self._queued >= FLUSH_BYTES:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def end(self, flow: Flow, ending: Ending, at_ns: int) -> None:
        """The last word on an exchange. It goes out with the next flush, in 20 ms at most."""
        del self.open_exchanges[flow.number]
        self._tunnels.discard(flow.number)
        if flow.number in self._unheard:
            self._unheard.discard(flow.number)
            self._lost.add(LostBy.recorder_lagged, (flow.number,))
            return
        self.unacknowledged.add(flow.number)
        self.put(Kind.END, flow.number, at_ns, ending.encode())
        if self._gaps:
            for kind in _CONTENT:
                self._gaps.pop((flow.number, kind), None)

    def soon(self, work: Callable[[], None]) -> None:
        """Do this with the next flush, which is in 20 ms at most."""
        self._due.append(work)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def _do_due(self) -> None:
        due, self._due = self._due, []
        for work in due:
            work()

    def _lag(self) -> None:
        if not self._lagging:
            self._lagging = True
            self._lags()

    def _leave_out(self, kind: Kind, number: int, at_ns: int, length: int) -> None:
        """Tell that bytes came. Beyond the bound, once the first of a gap is told, several as one."""
        untold = self._gaps.get((number, kind))
        together = length + (untold or 0)
        if untold is not None and self._queued > self._bound and together < _MOST_AT_ONCE:
            self._gaps[number, kind] = together
            return
        self._tell_gap(kind, number, at_ns, together)

    def _before(self, kind: Kind, number: int, at_ns: int, code: int) -> None:
        """A mark holds where it stands: what came before it is told before it."""
        if kind == Kind.MARK and code == Mark.TUNNEL:
            self._tunnels.add(number)
        if not self._gaps:
            return
        for content in _CONTENT:
            if untold := self._gaps.get((number, content)):
                self._tell_gap(content, number, at_ns, untold)

    def _tell_gap(self, kind: Kind, number: int, at_ns: int, length: int) -> None:
        self._gaps[number, kind] = 0
        self._pieces.append(HEADER.pack(kind, 0, LEFT_OUT, length, number, at_ns))
        self._queued += HEADER.size

    def _must_leave_out(self, kind: Kind, number: int, most: int) -> bool:
        if self._queued > most:
            self._lag()
            return True
        if self._gaps and (number, kind) in self._gaps:
            return True
        return kind == Kind.REQUEST and self._too_long(number)

    def _too_long(self, number: int) -> bool:
        known = self.open_exchanges.get(number)
        if known is None or number in self._tunnels:
            return False
        return known.flow.request_bytes > self._retain

    # The pipe

    def attach(self, sock: socket.socket) -> None:
        """A (new) recorder listens here: what waited goes to it."""
        self._sock = sock
        self._writable()

    def detach(self) -> int:
        """The recorder is gone, with all that it had not acknowledged. Returns how many that were.

        What the next one must know comes first in the queue for it.
        """
        if self._sock is not None:
            asyncio.get_running_loop().remove_writer(self._sock)
        self._sock = None
        self._blocked = True
        self._pieces, self._skip, self._queued = [], 0, 0
        self._gaps.clear()
        lost = len(self.unacknowledged)
        self._lost.recorder_died()
        self._lost.add(LostBy.recorder_died, self.unacknowledged)
        self.unacknowledged.clear()
        self._unheard.update(self.open_exchanges)
        self._catch_up()
        return lost

    def _catch_up(self) -> None:
        """Tell what is lost, and what is running, with its bytes so far."""
        unheard, self._unheard = sorted(self._unheard), set()
        for why, numbers in self._lost.tell():
            self.put(Kind.LOST, 0, clock.monotonic_ns(), numbers, why)
        for flow, opening, opened_ns in (self.open_exchanges[number] for number in unheard):
            so_far = replace(
                opening, request_bytes=flow.request_bytes, reply_bytes=flow.reply_bytes
            )
            self.put(Kind.RESUME, flow.number, opened_ns, so_far.encode())

    def acknowledged(self, numbers: Iterable[int]) -> None:
        """These exchanges are in the journal; 0 stands for a list of what was lost."""
        for number in numbers:
            self.unacknowledged.discard(number)
            if number == 0:
                self._lost.written()

    @property
    def lost(self) -> set[int]:
        """Exchanges without a record that are not yet named in the journal."""
        return self._lost.numbers

    @property
    def lost_in_all(self) -> int:
        """Exchanges of this run that will have no record."""
        return self._lost.in_all

    @property
    def queued_bytes(self) -> int:
        """What waits for the recorder."""
        return self._queued

    @property
    def drained(self) -> bool:
        """True when nothing waits and everything that ended is in the journal."""
        return not self._queued and not self.unacknowledged and self._lost.named

    def goodbye(self, at_ns: int) -> None:
        """The relay is done: a pipe that ends behind this was not cut."""
        self.put(Kind.BYE, 0, at_ns, b"")
        self.flush()

    def flush(self) -> None:
        """Do what is due, then write what is queued, as far as the pipe takes it."""
        if self._due:
            self._do_due()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sock is None or self._blocked:
            return
        self._send(self._sock)

    def _send(self, sock: socket.socket) -> None:
        sent = send(sock, self._pieces, self._skip)
        del self._pieces[: sent.whole]
        self._skip = sent.skip
        self._queued -= sent.bytes
        self._lagging = self._lagging and self._queued > 0
        if sent.full:
            self._blocked = True
            asyncio.get_running_loop().add_writer(sock, self._writable)

    def _writable(self) -> None:
        if self._sock is not None:
            asyncio.get_running_loop().remove_writer(self._sock)
        self._blocked = False
        self.flush()
        behind = self._unheard or not self._lost.all_told
        if behind and self._queued < self._bound * _CATCH_UP:
            self._catch_up()
