"""The flight recorder: a process of its own that turns frames into records.

One rule: it may die at any moment without touching a byte in flight. It ends when its pipe ends; a pipe
that ends without a goodbye means that the relay died, and what was running is sealed as `proxy_killed`.
It stands back (nice) for the relay and for an inference server on the same machine. Reading frames and
counting tokens are two threads, so that a long prompt does not let the pipe fill.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Iterator  # noqa: TC003  msgspec reads annotations of this file
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from . import clock
from .dialects import table
from .journal.load import LoadMeter
from .journal.tunnel import Tunnel, speaks
from .log import Event, Log
from .settings import Settings
from .wire.exchange import Ending, Exchange, Note, Opening, Outcome
from .wire.frame import ACK, Frame, FrameReader, Kind, Mark
from .wire.tape import Tape, cut_short
from .writing import Sealed, Writing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .dialects.base import ReplyReader
    from .journal.record import Load
    from .journal.tunnel import Inside
    from .wire.head import ReplyHead, RequestHead

READ_BYTES: Final = 1024 * 1024
WAITING_BYTES: Final = 256 * 1024 * 1024
"""Request bodies that may wait to be counted; beyond that they are let go and the record says so."""


class Recorder:
    """Frames in; sealed exchanges out to the second stage."""

    def __init__(self, settings: Settings, out: queue.SimpleQueue[Sealed | None]) -> None:
        self._settings = settings
        self._out = out
        self._tapes: dict[int, Tape[ReplyReader]] = {}
        self._tunnels: dict[int, Tunnel] = {}
        """Of those, the ones with exchanges inside that are followed."""
        self._load = LoadMeter()
        self._last_ns = 0
        self.said_goodbye = False
        self.waiting_bytes = 0
        """Request bodies handed on and not yet counted; the second stage takes off what it has done."""
        self.lock = threading.Lock()

    def take(self, frame: Frame) -> None:
        """One more frame."""
        self._last_ns = max(self._last_ns, frame.at_ns)
        if frame.kind in (Kind.OPEN, Kind.RESUME):
            self._open(frame)
        elif frame.kind is Kind.END:
            self._end(frame)
        elif frame.kind is Kind.LOST:
            numbers = [number for (number,) in ACK.iter_unpack(frame.data)]
            self._out.put(Sealed.lost(numbers, clock.unix_ns()))
        elif frame.kind is Kind.BYE:
            self.said_goodbye = True
        elif (tape := self._tapes.get(frame.exchange)) is not None:
            tape.take(frame)
            self._inside(frame, tape)

    def finish(self) -> int:
        """The pipe is at its end: seal what is still open. Returns how many that were."""
        outcome = Outcome.shutdown if self.said_goodbye else Outcome.proxy_killed
        for number, tape in sorted(self._tapes.items()):
            self._end_tunnel(number, outcome, "", self._last_ns)
            self._seal(cut_short(tape, outcome, self._last_ns))
        count = len(self._tapes)
        self._tapes.clear()
        self._out.put(None)
        return count

    def _open(self, frame: Frame) -> None:
        opening = Opening.decode(frame.data)
        tape = Tape(
            frame.exchange,
            opening,
            frame.at_ns,
            _listen,
            body_bound=self._settings.retain_bytes,
        )
        if frame.kind is Kind.RESUME:
            tape.take(frame)
        self._tapes[frame.exchange] = tape
        self._load.opened(frame.exchange, frame.at_ns)

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
                bound = self._settings.retain_bytes
                self._tunnels[frame.exchange] = Tunnel(
                    shake, _listen, self._load, frame.at_ns, body_bound=bound
                )

    def _end_tunnel(self, number: int, outcome: Outcome, detail: str, at_ns: int) -> None:
        tunnel = self._tunnels.get(number)
        if tunnel is not None:
            self._put_all(tunnel.close(outcome, detail, at_ns))

    def _put_all(self, inside: Iterable[Inside]) -> None:
        for exchange, load in inside:
            self._put(exchange, load)

    def _seal(self, exchange: Exchange[ReplyReader]) -> None:
        tunnel = self._tunnels.pop(exchange.number, None)
        if tunnel is None:
            self._put(exchange, self._load.ended(exchange.number, exchange.ended_ns))
        else:
            notes = (*exchange.notes, *tunnel.notes)
            self._put(replace(exchange, notes=notes), tunnel.own_load)

    def _put(self, exchange: Exchange[ReplyReader], load: Load) -> None:
        size = len(exchange.request_body)
        with self.lock:
            room = self.waiting_bytes + size <= WAITING_BYTES or not self.waiting_bytes
            self.waiting_bytes += size if room else 0
        if not room:
            note = Note("content_left_out", "request", "the recorder had too much to count")
            exchange = replace(exchange, request_body=b"", notes=(*exchange.notes, note))
        self._out.put(Sealed.of(exchange, load))

    def counted(self, exchange: Exchange[ReplyReader]) -> None:
        """The second stage is done with this one."""
        with self.lock:
            self.waiting_bytes -= len(exchange.request_body)


def _listen(request: RequestHead, start: bytes, reply: ReplyHead) -> ReplyReader:
    return table.choose(request, start).reply_reader(request, reply)


def frames(sock: socket.socket) -> Iterator[Frame]:
    """All frames that come, to the end of the pipe."""
    reader = FrameReader()
    buffer = bytearray(READ_BYTES)
    view = memoryview(buffer)
    while True:
        try:
            size = sock.recv_into(buffer)
        except OSError:
            return
        if not size:
            return
        yield from reader.feed(view[:size])
        if reader.broken:
            raise ValueError("the pipe from the relay carries something that is no frame")


def run(sock: socket.socket, settings: Settings) -> int:
    """Record until the pipe ends, then write what is left."""
    log = Log(sys.stdout.fileno(), settings.form)
    out: queue.SimpleQueue[Sealed | None] = queue.SimpleQueue()
    recorder = Recorder(settings, out)
    writing = Writing(settings, sock, log, recorder.counted)
    second = threading.Thread(target=writing.run, args=(out,), name="writing")
    second.start()
    os.nice(settings.nice)  # of this thread alone: on Linux each has its own
    try:
        for frame in frames(sock):
            recorder.take(frame)
    finally:
        left = recorder.finish()
        writing.hurry()
        second.join()
    if not recorder.said_goodbye:
        log.say(Event.RELAY_LOST, f"the relay died; {left} exchanges were cut", cut=left)
    return 0


def main() -> None:
    """The recorder's process: `recorder FD SETTINGS`."""
    # Ctrl-C reaches the whole group; the relay decides when recording ends, by closing the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    settings = msgspec.json.decode(sys.argv[2], type=Settings)
    with socket.socket(fileno=int(sys.argv[1])) as sock:
        sys.exit(run(sock, settings))
