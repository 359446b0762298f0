"""A relay process's end of its pipe to the recorder: acknowledgements in, and the news of its death.

One rule: the end of the pipe is the recorder's death, since nobody else holds its other end.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from . import clock
from .log import Event
from .wire.frame import ACK

if TYPE_CHECKING:
    import socket

    from .handoff import Handoff
    from .log import Log

_STEP_S: Final = 0.005


class Pipe:
    """What a `Handoff` writes to, while there is a recorder."""

    def __init__(self, handoff: Handoff, log: Log) -> None:
        self._handoff = handoff
        self._log = log
        self._sock: socket.socket | None = None
        self._rest = b""

    def attach(self, sock: socket.socket) -> None:
        """A (new) recorder has the other end; tell it what is running."""
        self._disconnect()
        sock.settimeout(0)
        self._sock, self._rest = sock, b""
        asyncio.get_running_loop().add_reader(sock, self._readable, sock)
        self._handoff.attach(sock)

    async def drain(self, deadline: float) -> None:
        """Let the recorder write what it has, until this time of the loop at most; then say goodbye.

        What is left then is lost, and counted.
        """
        loop = asyncio.get_running_loop()
        while loop.time() < deadline and not self._handoff.drained:
            self._handoff.flush()
            await asyncio.sleep(_STEP_S)
        self._handoff.goodbye(clock.monotonic_ns())
        if self._sock is None:
            self._say_lost(self._handoff.detach())
        else:
            self._disconnect()

    def _readable(self, sock: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError):
            try:
                data = sock.recv(64 * 1024)
            except BlockingIOError:
                return
        if not data:
            self._disconnect()
            return
        data = self._rest + data
        whole = len(data) - len(data) % ACK.size
        self._rest = data[whole:]
        self._handoff.acknowledged(number for (number,) in ACK.iter_unpack(data[:whole]))

    def _disconnect(self) -> None:
        if self._sock is None:
            return
        self._say_lost(self._handoff.detach())
        asyncio.get_running_loop().remove_reader(self._sock)
        self._sock.close()
        self._sock = None

    def _say_lost(self, lost: int) -> None:
        if lost:
            sentence = f"{lost} records are lost with the recorder; no stream is touched"
            self._log.say(Event.RECORDS_LOST, sentence, lost=lost)
