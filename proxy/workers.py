"""The further relay processes as the main one sees them: started, given pipes, started again, stopped.

One rule: none of them is needed. The main process relays too, so a worker that dies costs its own
connections and nothing else; the kernel gives new ones to those that listen.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import clock
from .log import Event
from .wire.frame import FrameReader, Kind, frame
from .worker import WorkerSettings, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from .config import Config
    from .log import Log
    from .recording import Recording
    from .slots import Slots
    from .wire.frame import Frame

_START: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from proxy.worker import main; main()"
)
_AGAIN_S: Final = 1.0
_BEYOND_S: Final = 2.0
"""What a worker may take to end beyond its grace and its drain."""


class WorkerLink:
    """One worker."""

    def __init__(self, ended: Callable[[], None]) -> None:
        """`ended` is called once the process is gone or going."""
        self._ended = ended
        self._reader = FrameReader()
        self.ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Empty when it listens; else why it cannot, or `died`."""
        self.cut = 0
        """Exchanges that it cut when it was stopped."""
        self._sock, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = _exec(theirs.fileno())
            except OSError:
                self._sock.close()
                raise
        self.run = run_name(self.process.pid)
        asyncio.get_running_loop().add_reader(self._sock, self._readable)

    def tell(self, kind: Kind, data: bytes = b"", descriptor: int | None = None) -> None:
        """Tell it something. A dead one hears nothing; its end is noticed by reading."""
        word = frame(kind, 0, clock.monotonic_ns(), data).encode()
        with contextlib.suppress(OSError):
            if descriptor is None:
                self._sock.sendall(word)
            else:
                socket.send_fds(self._sock, [word], [descriptor])

    def deliver(self, sock: socket.socket) -> None:
        """Its end of a new pipe."""
        with sock:
            self.tell(Kind.PIPE, descriptor=sock.fileno())

    def _readable(self) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = self._sock.recv(4096)
        for told in self._reader.feed(data):
            self._take(told)
        if not data:
            asyncio.get_running_loop().remove_reader(self._sock)
            self._sock.close()
            if not self.ready.done():
                self.ready.set_result("it died")
            self._ended()

    def _take(self, told: Frame) -> None:
        if told.kind is Kind.READY and not self.ready.done():
            self.ready.set_result(told.data.decode())
        elif told.kind is Kind.STOP:
            self.cut = int(told.data)


class Workers:
    """All of them."""

    def __init__(self, recording: Recording, slots: Slots, memory: int, log: Log) -> None:
        """`memory`: the descriptor of the slots, of which the first is the main process's."""
        self._recording = recording
        self._slots = slots
        self._memory = memory
        self._log = log
        self._links: dict[int, WorkerLink] = {}
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._config: Config | None = None
        self._stopping = False
        self.restarts = 0

    async def start(self, config: Config) -> str:
        """Start them all. Returns why one cannot serve, else an empty text."""
        self._config = config
        for index in range(1, self._slots.count):
            self._start(index, config)
        said = [await link.ready for link in self._links.values()]
        return next((why for why in said if why), "")

    async def stop(self, hurried: asyncio.Event) -> int:
        """Stop them in good order. Returns how many exchanges they cut."""
        self._stopping = True
        for timer in self._timers.values():
            timer.cancel()
        links = list(self._links.values())
        for link in links:
            link.tell(Kind.STOP)
        hurrying = asyncio.ensure_future(self._hurry(links, hurried))
        await self._ends(links)
        hurrying.cancel()
        await asyncio.sleep(0)  # what they said last is read
        return sum(link.cut for link in links)

    async def _ends(self, links: list[WorkerLink]) -> None:
        """Wait for all of them. One that hangs is killed in the end: a stop does stop."""
        if self._config is None or not links:
            return
        loop = asyncio.get_running_loop()
        ends = [loop.run_in_executor(None, link.process.wait) for link in links]
        relay = self._config.relay
        await asyncio.wait(ends, timeout=relay.grace_s + relay.drain_s + _BEYOND_S)
        for link, end in zip(links, ends, strict=True):
            if not end.done():
                link.process.kill()
        await asyncio.gather(*ends)

    async def _hurry(self, links: list[WorkerLink], hurried: asyncio.Event) -> None:
        await hurried.wait()
        for link in links:
            link.tell(Kind.HURRY)

    def _start(self, index: int, config: Config) -> None:
        link = WorkerLink(lambda: self._ended(index))
        self._links[index] = link
        settings = WorkerSettings(config=config, index=index, slots=self._slots.count)
        link.tell(Kind.BEGIN, encode(settings), self._memory)
        self._recording.join(link.run, link.deliver)

    def _ended(self, index: int) -> None:
        link = self._links[index]
        self._recording.leave(link.run)
        self._slots.retire(index)
        if self._stopping:
            return
        pid = link.process.pid
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, link.process.wait)
        sentence = "a worker died with its connections; it is started again"
        self._log.say(Event.WORKER_LOST, sentence, pid=pid)
        self._timers[index] = loop.call_later(_AGAIN_S, self._restart, index)

    def _restart(self, index: int) -> None:
        if self._config is None or self._stopping:
            return
        try:
            self._start(index, self._config)
        except OSError as fault:
            sentence = f"a worker cannot be started ({fault.strerror}); it is tried again"
            self._log.say(Event.WORKER_LOST, sentence, pid=None)
            loop = asyncio.get_running_loop()
            self._timers[index] = loop.call_later(_AGAIN_S, self._restart, index)
        else:
            self.restarts += 1


def run_name(pid: int) -> str:
    """Names a relay process's run; with an exchange's number it is the record's id."""
    started = datetime.fromtimestamp(clock.unix_ns() / 1e9, UTC)
    return f"{started:%Y%m%dT%H%M%S}-{pid}"


def _exec(fd: int) -> subprocess.Popen[bytes]:
    folder = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-I", "-c", _START, folder, str(fd)]
    return subprocess.Popen(  # noqa: S603  our own interpreter and our own words
        command, pass_fds=(fd,), stdin=subprocess.DEVNULL
    )
