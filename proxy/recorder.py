"""The flight recorder: a process of its own that turns frames into records.

One rule: it may die at any moment without touching a byte in flight. It has one pipe from each relay
process and a door through which the pipes come, and ends when the door and all pipes have ended. It
stands back (nice) for the relay and for an inference server on the same machine. Reading frames and
counting tokens are two threads, so that a long prompt does not let the pipes fill.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Final

import msgspec

from . import clock
from .gauge import Gauge, Running
from .journal.load import LoadMeter
from .log import Event, Log
from .sealed import SealedQueue, Source
from .settings import Settings
from .taping import Taping
from .wire.frame import FrameReader, Kind, frame
from .writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .metrics import Metrics
    from .wire.frame import Frame

READ_BYTES: Final = 1024 * 1024
_DOOR_BYTES: Final = 64 * 1024
_DESCRIPTORS: Final = 64
"""Pipes that may come with one read of the door."""


class Pipe:
    """Frames of one relay process."""

    def __init__(self, sock: socket.socket, taping: Taping, log: Log) -> None:
        self.sock = sock
        self._taping = taping
        self._log = log
        self._reader = FrameReader()

    def readable(self, buffer: bytearray) -> bool:
        """Read once. False: it is at its end, and what was open in it is sealed."""
        size = _received(self.sock, buffer)
        if not size:
            self._finish()
            return False
        for said in self._reader.feed(memoryview(buffer)[:size]):
            self._taping.take(said)
        if self._reader.broken:
            raise ValueError("the pipe from the relay carries something that is no frame")
        return True

    def close(self) -> None:
        """Let go of it."""
        self._taping.source.close()

    def _finish(self) -> None:
        cut = self._taping.finish()
        if not self._taping.said_goodbye:
            self._log.say(Event.RELAY_LOST, f"the relay died; {cut} exchanges were cut", cut=cut)


class Door:
    """The way by which pipes and questions come in."""

    def __init__(
        self,
        sock: socket.socket,
        enter: Callable[[str, socket.socket], None],
        counted: Callable[[], bytes],
    ) -> None:
        """`counted` says what has been counted, for Prometheus."""
        self.sock = sock
        self._enter = enter
        self._counted = counted
        self._reader = FrameReader()
        self._descriptors: list[int] = []

    def readable(self, buffer: bytearray) -> bool:  # noqa: ARG002 -- descriptors come by another call
        """Read once. False: nobody is behind it any more."""
        try:
            data, descriptors, _flags, _address = socket.recv_fds(
                self.sock, _DOOR_BYTES, _DESCRIPTORS
            )
        except OSError:
            return False
        self._descriptors += descriptors
        for said in self._reader.feed(data):
            self._take(said)
        return bool(data) and not self._reader.broken

    def close(self) -> None:
        """Let go of it."""
        self.sock.close()

    def _take(self, said: Frame) -> None:
        if said.kind is Kind.PIPE and self._descriptors:
            self._enter(said.data.decode(), socket.socket(fileno=self._descriptors.pop(0)))
        elif said.kind is Kind.SCRAPE:
            self._answer()

    def _answer(self) -> None:
        try:
            text = self._counted()
        except Exception:  # noqa: BLE001  a fault of ours: each scrape would end the recorder
            text = b""
        answer = frame(Kind.METRICS, 0, clock.monotonic_ns(), text)
        with contextlib.suppress(OSError):  # nobody waits for it any more
            self.sock.sendall(answer.encode())


class Recorder:
    """All that is read, until all of it has ended."""

    def __init__(
        self,
        settings: Settings,
        out: SealedQueue,
        log: Log,
        running: Running,
        counted: Callable[[], bytes],
    ) -> None:
        """`counted` says what has been counted, for Prometheus."""
        self._counted = counted
        self._settings = settings
        self._out = out
        self._log = log
        self._running = running
        self._meter = LoadMeter()
        self._selector = selectors.DefaultSelector()

    def run(self, door: socket.socket) -> None:
        """Read until the door and every pipe have ended."""
        self._listen(Door(door, self._enter, self._counted))
        buffer = bytearray(READ_BYTES)
        while self._selector.get_map():
            for end in self._ready():
                if not end.readable(buffer):
                    self._leave(end)

    def _ready(self) -> Iterator[Pipe | Door]:
        for key, _events in self._selector.select():
            yield key.data

    def _enter(self, run: str, sock: socket.socket) -> None:
        source = Source(run, sock)
        retain = self._settings.retain_bytes
        taping = Taping(source, self._out, self._meter, retain, self._running)
        self._listen(Pipe(sock, taping, self._log))

    def _listen(self, end: Pipe | Door) -> None:
        self._selector.register(end.sock, selectors.EVENT_READ, end)

    def _leave(self, end: Pipe | Door) -> None:
        """Read it no more. Nobody is behind it: so nobody waits for what is still to be acknowledged."""
        self._selector.unregister(end.sock)
        end.close()


def _received(sock: socket.socket, buffer: bytearray) -> int:
    try:
        return sock.recv_into(buffer)
    except OSError:
        return 0


def run(door: socket.socket, settings: Settings) -> int:
    """Record until all pipes end, then write what is left."""
    log = Log(sys.stdout.fileno(), settings.form)
    out = SealedQueue()
    metrics = _metrics(out) if settings.metrics else None
    writing = Writing(settings, log, metrics)
    second = threading.Thread(target=_write, args=(writing, out, log), name="writing")
    second.start()
    running = Running((each.upstream for each in settings.gauges), clock.monotonic_ns)
    gauge = Gauge(settings, log, running)
    gauge.start()
    os.nice(settings.nice)  # of this thread alone: on Linux each has its own
    try:
        counted = metrics.text if metrics else bytes
        Recorder(settings, out, log, running, counted).run(door)
    finally:
        out.end()
        writing.hurry()
        gauge.stop()
        second.join()
    return 0


def _write(writing: Writing, out: SealedQueue, log: Log) -> None:
    """The second stage. Without it the first would go on and nothing be written: so both end.

    The relay then counts what is lost, and starts a new recorder.
    """
    try:
        writing.run(out)
    except BaseException as fault:  # noqa: BLE001  whatever it is
        try:
            log.say(Event.RECORDER_FAILED, detail=f"writing: {type(fault).__name__}")
            sys.excepthook(type(fault), fault, fault.__traceback__)
        finally:
            os._exit(1)


def _metrics(out: SealedQueue) -> Metrics:
    from .metrics import Metrics  # noqa: PLC0415 - 4 MB that only those pay who want them

    return Metrics(out.qsize)


def main() -> None:
    """The recorder's process: `recorder FD SETTINGS`."""
    # Ctrl-C reaches the whole group; the relay decides when recording ends, by closing the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    settings = msgspec.json.decode(sys.argv[2], type=Settings)
    with socket.socket(fileno=int(sys.argv[1])) as door:
        sys.exit(run(door, settings))
