"""The recorder's process as the relay sees it: started, watched, started again.

One rule: its death costs no byte and is never silent. It is exec'd, never forked from a running loop,
so it holds none of the relay's sockets. Its door is a socketpair whose other end nobody else has, so the
end of the door is its death. Each relay process gets a pipe to it, now and after each new start.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from . import clock
from .log import Event
from .wire.frame import FrameReader, Kind, frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .log import Log
    from .settings import Settings

    Deliver = Callable[[socket.socket], None]

_START: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from proxy.recorder import main; main()"
)
"""`-I` keeps the caller's folder and PYTHON* variables out; so the package's own folder is named."""

_BUFFER_BYTES: Final = 1024 * 1024
_BACKOFF_S: Final = (0.05, 0.2, 1.0, 5.0)
_SETTLED_S: Final = 10.0
"""A recorder that lived so long starts the next one's waiting time anew."""


class Recording:
    """Keeps a recorder running behind the relay processes."""

    def __init__(self, settings: Settings, environment: Mapping[str, str], log: Log) -> None:
        """`environment` is added to this process's own, for the recorder alone."""
        self._settings = settings
        self._environment = environment
        self._log = log
        self._door: socket.socket | None = None
        self._reader = FrameReader()
        self._answer: asyncio.Future[bytes | None] | None = None
        """What the recorder is being asked for."""
        self._relays: dict[str, Deliver] = {}
        self._failures = 0
        self._started_ns = 0
        self._again: asyncio.TimerHandle | None = None
        self._stopping = False
        self.process: subprocess.Popen[bytes] | None = None
        """The running recorder; None between two."""
        self.restarts = 0

    def join(self, run: str, deliver: Deliver) -> None:
        """A relay process: `deliver` gets its end of a pipe, now and from each new recorder."""
        self._relays[run] = deliver
        if self._door is not None:
            self._connect(self._door, run, deliver)

    def leave(self, run: str) -> None:
        """That relay process is gone."""
        self._relays.pop(run, None)

    def start(self) -> None:
        """Start a recorder and give it a pipe from each relay process. Raises OSError."""
        ours, theirs = socket.socketpair()
        with theirs:
            ours.settimeout(0)
            # Room for an answer, so that the recorder never waits for us to read it.
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            self.process = self._exec(theirs.fileno())
        self._door = ours
        self._reader = FrameReader()
        self._started_ns = clock.monotonic_ns()
        asyncio.get_running_loop().add_reader(ours, self._readable, ours)
        for run, deliver in self._relays.items():
            self._connect(ours, run, deliver)

    async def counted(self, within_s: float) -> bytes | None:
        """What the recorder has counted, for Prometheus; None if it is gone or does not say it in time.

        It is asked one question at a time: who asks meanwhile gets the same answer, and behind a late one
        no further questions pile up.
        """
        if self._answer is None:
            if self._door is None or not _said(self._door, Kind.SCRAPE):
                return None
            self._answer = asyncio.get_running_loop().create_future()
        answer = self._answer
        await asyncio.wait((answer,), timeout=within_s)
        return answer.result() if answer.done() else None

    async def stop(self, deadline: float) -> None:
        """Let it end by itself until this time of the loop; its pipes have been said goodbye to."""
        loop = asyncio.get_running_loop()
        self._stopping = True
        if self._again is not None:
            self._again.cancel()
        process = self.process
        self._disconnect()
        if process is not None:
            ended = loop.run_in_executor(None, process.wait)
            await asyncio.wait((ended,), timeout=max(0.5, deadline - loop.time()))
            if not ended.done():
                process.kill()
            await ended

    def _exec(self, fd: int) -> subprocess.Popen[bytes]:
        folder = str(Path(__file__).resolve().parent.parent)
        settings = msgspec.json.encode(self._settings).decode()
        command = [sys.executable, "-I", "-c", _START, folder, str(fd), settings]
        return subprocess.Popen(  # noqa: S603  our own interpreter and our own words
            command,
            pass_fds=(fd,),
            stdin=subprocess.DEVNULL,
            env={**os.environ, **self._environment},
        )

    def _connect(self, door: socket.socket, run: str, deliver: Deliver) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            for sock in (ours, theirs):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            word = frame(Kind.PIPE, 0, clock.monotonic_ns(), run.encode()).encode()
            with contextlib.suppress(OSError):  # it has died: the next one gets a pipe too
                socket.send_fds(door, [word], [theirs.fileno()])
        deliver(ours)

    def _readable(self, door: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError):
            try:
                data = door.recv(64 * 1024)
            except BlockingIOError:
                return
        for said in self._reader.feed(data):
            if said.kind is Kind.METRICS:
                self._answered(said.data)
        if not data:
            self._died()

    def _answered(self, text: bytes | None) -> None:
        if self._answer is not None:
            self._answer.set_result(text)
        self._answer = None

    def _died(self) -> None:
        process = self.process
        self._disconnect()
        if process is None or self._stopping:
            return
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, process.wait)
        settled = clock.monotonic_ns() - self._started_ns > _SETTLED_S * 1e9
        self._failures = 0 if settled else self._failures + 1
        wait_s = _BACKOFF_S[min(self._failures, len(_BACKOFF_S) - 1)]
        sentence = "the recorder died; it is started again, and no stream is touched"
        self._log.say(Event.RECORDER_LOST, sentence, pid=process.pid)
        self._again = loop.call_later(wait_s, self._restart)

    def _restart(self) -> None:
        self._again = None
        try:
            self.start()
        except OSError as fault:
            self._log.say(Event.RECORDER_FAILED, detail=str(fault))
            self._failures += 1
            self._again = asyncio.get_running_loop().call_later(_BACKOFF_S[-1], self._restart)
            return
        self.restarts += 1
        pid = self.process.pid if self.process else None
        self._log.say(Event.RECORDER_RESTARTED, "a new recorder runs", pid=pid)

    def _disconnect(self) -> None:
        if self._door is not None:
            asyncio.get_running_loop().remove_reader(self._door)
            self._door.close()
        self._door = None
        self.process = None
        self._answered(None)


def _said(door: socket.socket, kind: Kind) -> bool:
    """Tell the recorder something; False if it is gone, or has not read for long."""
    try:
        door.sendall(frame(kind, 0, clock.monotonic_ns()).encode())
    except OSError:
        return False
    return True
