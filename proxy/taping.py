"""The exchanges of one relay process as the recorder hears them: frames in, sealed exchanges out.

One rule: each exchange that was opened is sealed exactly once, by its own end or by the end of its pipe.
A pipe that ends without a goodbye means that its relay died, and what was running is `proxy_killed`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from . import clock
from .dialects import table
from .journal.load import RunLoad
from .journal.tunnel import Tunnel, speaks
from .sealed import Sealed
from .wire.exchange import Ending, Exchange, Opening, Outcome
from .wire.frame import ACK, Frame, Kind, LostBy, Mark
from .wire.tape import Tape, cut_short

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .dialects.base import ReplyReader
    from .gauge import Running
    from .journal.load import LoadMeter
    from .journal.record import Load
    from .journal.tunnel import Inside
    from .sealed import SealedQueue, Source
    from .wire.head import ReplyHead, RequestHead

_OF_A_TAPE: Final = frozenset({Kind.REQUEST, Kind.REPLY, Kind.MARK})


class Taping:
    """What one relay process sends."""

    def __init__(
        self,
        source: Source,
        out: SealedQueue,
        meter: LoadMeter,
        retain_bytes: int,
        running: Running,
    ) -> None:
        """`meter` and `running` see the exchanges of all relay processes."""
        self.source = source
        self._out = out
        self._retain = retain_bytes
        self._tapes: dict[int, Tape[ReplyReader]] = {}
        self._tunnels: dict[int, Tunnel] = {}
        """Of those, the ones with exchanges inside that are followed."""
        self._load = RunLoad(meter, source.run)
        self._running = running
        self._last_ns = 0
        self.said_goodbye = False

    def take(self, frame: Frame) -> None:
        """One more frame."""
        kind = frame.kind
        self._last_ns = max(self._last_ns, frame.at_ns)
        if kind in _OF_A_TAPE:
            self._hear(frame)
        elif kind in (Kind.OPEN, Kind.RESUME):
            self._open(frame)
        elif kind is Kind.END:
            self._end(frame)
        elif kind is Kind.LOST:
            numbers = [number for (number,) in ACK.iter_unpack(frame.data)]
            why = LostBy(frame.code).name
            self._out.put(Sealed.lost(self.source, numbers, why, clock.unix_ns()))
        elif kind is Kind.BYE:
            self.said_goodbye = True

    def _hear(self, frame: Frame) -> None:
        tape = self._tapes.get(frame.exchange)
        if tape is None:
            return
        tape.take(frame)
        if self._tunnels or frame.kind is Kind.MARK:
            self._inside(frame, tape)

    def finish(self) -> int:
        """The pipe is at its end: seal what is still open. Returns how many that were."""
        outcome = Outcome.shutdown if self.said_goodbye else Outcome.proxy_killed
        for number, tape in sorted(self._tapes.items()):
            self._end_tunnel(number, outcome, "", self._last_ns)
            self._seal(cut_short(tape, outcome, self._last_ns))
        count = len(self._tapes)
        self._tapes.clear()
        return count

    def _open(self, frame: Frame) -> None:
        opening = Opening.decode(frame.data)
        tape = Tape(frame.exchange, opening, frame.at_ns, _listen, body_bound=self._retain)
        if frame.kind is Kind.RESUME:
            tape.take(frame)
        self._tapes[frame.exchange] = tape
        self._load.opened(frame.exchange, frame.at_ns)
        self._running.opened(opening.upstream)

    def _end(self, frame: Frame) -> None:
        tape = self._tapes.pop(frame.exchange, None)
        if tape is not None:
            ending = Ending.decode(frame.data)
            self._end_tunnel(frame.exchange, ending.outcome, ending.detail, frame.at_ns)
            self._seal(tape.seal(ending, frame.at_ns))

    def _inside(self, frame: Frame, tape: Tape[ReplyReader]) -> None:
        tunnel = self._tunnels.get(frame.exchange)
        if tunnel is not None:
            self._put_all(tunnel.take(frame))
        elif frame.kind is Kind.MARK and frame.code == Mark.TUNNEL:
            shake = tape.handshake()
            if shake is not None and speaks(shake):
                self._tunnels[frame.exchange] = Tunnel(
                    shake, _listen, self._load, frame.at_ns, body_bound=self._retain
                )

    def _end_tunnel(self, number: int, outcome: Outcome, detail: str, at_ns: int) -> None:
        tunnel = self._tunnels.get(number)
        if tunnel is not None:
            self._put_all(tunnel.close(outcome, detail, at_ns))

    def _put_all(self, inside: Iterable[Inside]) -> None:
        for exchange, load in inside:
            self._put(exchange, load)

    def _seal(self, exchange: Exchange[ReplyReader]) -> None:
        self._running.ended(exchange.opening.upstream)
        tunnel = self._tunnels.pop(exchange.number, None)
        if tunnel is None:
            self._put(exchange, self._load.ended(exchange.number, exchange.ended_ns))
        else:
            notes = (*exchange.notes, *tunnel.notes)
            self._put(replace(exchange, notes=notes), tunnel.own_load)

    def _put(self, exchange: Exchange[ReplyReader], load: Load) -> None:
        self._out.put(Sealed(self.source, exchange, load))


def _listen(request: RequestHead, start: bytes, reply: ReplyHead) -> ReplyReader:
    return table.choose(request, start).reply_reader(request, reply)
