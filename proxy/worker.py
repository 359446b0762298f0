"""A further relay process: it serves what the main process tells it to, and ends with it.

One rule: it decides nothing. What it is to do, its pipes and its end come over one socket from the main
process; the end of that socket is the main process's death, and its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from typing import Any

import msgspec
import uvloop

from . import clock
from .config import Config  # noqa: TC001  msgspec reads annotations of this file
from .log import Log
from .serving import Serving, StartError
from .slots import Slots
from .wire.frame import Frame, FrameReader, Kind, frame

_READ_BYTES = 64 * 1024
_DESCRIPTORS = 8


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is to do."""

    config: Config
    """The routes with the ports that the main process got."""
    index: int
    """Its slot."""
    slots: int
    """How many there are. The descriptor of their memory comes with the frame."""


def encode(settings: WorkerSettings) -> bytes:
    """As it goes to the worker."""
    return msgspec.json.encode(settings, enc_hook=str)


def decode(data: bytes) -> WorkerSettings:
    """As it came. Raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=WorkerSettings, dec_hook=_from_text)


def _from_text(kind: Any, text: Any) -> Any:
    return kind(text)


class Worker:
    """One run of it."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._reader = FrameReader()
        self._descriptors: list[int] = []
        self._early: list[socket.socket] = []
        """Pipes that came before it served."""
        self._begun: asyncio.Future[tuple[WorkerSettings, int]]
        self._begun = asyncio.get_running_loop().create_future()
        self._serving: Serving | None = None
        self._told_to_stop = asyncio.Event()
        self._hurried = False

    async def run(self) -> None:
        """Serve until told to stop."""
        asyncio.get_running_loop().add_reader(self._control, self._readable)
        settings, memory = await self._begun
        log = Log(sys.stderr.fileno(), settings.config.console.format)
        slots = Slots(memory, settings.slots)
        os.close(memory)
        try:
            serving = Serving(settings.config, log, slots, settings.index)
            await serving.listen(settings.config.route, shared=True)
        except StartError as error:
            self._say(Kind.READY, str(error))
            return
        self._serving = serving
        for sock in self._early:
            serving.pipe.attach(sock)
        serving.start()
        self._say(Kind.READY)
        await self._told_to_stop.wait()
        loop = asyncio.get_running_loop()
        cut = await serving.stop(lambda: self._hurried)
        await serving.drain(loop.time() + settings.config.relay.drain_s)
        self._say(Kind.STOP, str(cut))

    def _readable(self) -> None:
        try:
            data, descriptors, _flags, _address = socket.recv_fds(
                self._control, _READ_BYTES, _DESCRIPTORS
            )
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        self._descriptors += descriptors
        for told in self._reader.feed(data):
            self._take(told)
        if not data:  # the main process is dead: nothing is to be waited for
            asyncio.get_running_loop().remove_reader(self._control)
            self._hurried = True
            self._told_to_stop.set()
            self._begun.cancel()

    def _take(self, told: Frame) -> None:
        if told.kind is Kind.BEGIN:
            self._begun.set_result((decode(told.data), self._descriptors.pop(0)))
        elif told.kind is Kind.PIPE:
            sock = socket.socket(fileno=self._descriptors.pop(0))
            if self._serving is None:
                self._early.append(sock)
            else:
                self._serving.pipe.attach(sock)
        elif told.kind is Kind.HURRY:
            self._hurried = True
        elif told.kind is Kind.STOP:
            self._told_to_stop.set()

    def _say(self, kind: Kind, text: str = "") -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(frame(kind, 0, clock.monotonic_ns(), text.encode()).encode())


async def _run(control: socket.socket) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await Worker(control).run()


def main() -> None:
    """The worker's process: `worker FD`."""
    # Ctrl-C reaches the whole group; the main process says when and how to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as control:
        control.settimeout(0)
        uvloop.run(_run(control))
