"""The recorder's process as the relay sees it: started, watched, started again.

One rule: its death costs no byte and is never silent. It is exec'd, never forked from a running loop,
so it holds none of the relay's sockets; its pipe is a socketpair whose other end nobody else has, so
the end of the pipe is its death.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from .log import Event
from .wire.frame import ACK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .handoff import Handoff
    from .log import Log
    from .settings import Settings

_START: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from proxy.recorder import main; main()"
)
"""`-I` keeps the caller's folder and PYTHON* variables out; so the package's own folder is named."""

_BUFFER_BYTES: Final = 1024 * 1024
_BACKOFF_S: Final = (0.05, 0.2, 1.0, 5.0)
_SETTLED_S: Final = 10.0
"""A recorder that lived so long starts the next one's waiting time anew."""


class Recording:
    """Keeps a recorder running behind a `Handoff`."""

    def __init__(
        self,
        handoff: Handoff,
        settings: Settings,
        environment: Mapping[str, str],
        log: Log,
        now: Callable[[], int],
    ) -> None:
        """`environment` is added to this process's own, for the recorder alone."""
        self._handoff = handoff
        self._settings = settings
        self._environment = environment
        self._log = log
        self._now = now
        self._sock: socket.socket | None = None
        self._rest = b""
        self._failures = 0
        self._started_ns = 0
        self._again: asyncio.TimerHandle | None = None
        self._stopping = False
        self.process: subprocess.Popen[bytes] | None = None
        """The running recorder; None between two."""
        self.restarts = 0

    def start(self) -> None:
        """Start a recorder and tell it what is running."""
        ours, theirs = socket.socketpair()
        with theirs:
            for sock in (ours, theirs):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            ours.settimeout(0)
            self.process = self._exec(theirs.fileno())
        self._sock, self._rest = ours, b""
        self._started_ns = self._now()
        asyncio.get_running_loop().add_reader(ours, self._readable, ours)
        self._handoff.attach(ours, self._started_ns)

    async def stop(self, within_s: float) -> None:
        """Let it write what it has, for at most `within_s`; what is left then is lost, and counted."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while loop.time() < deadline and not self._handoff.drained:
            self._handoff.flush()
            await asyncio.sleep(0.005)
        self._stopping = True
        if self._again is not None:
            self._again.cancel()
        self._handoff.goodbye(self._now())
        process = self.process
        self._handoff.detach()
        self._disconnect()
        if process is not None:
            left_s = max(0.5, deadline - loop.time())
            await loop.run_in_executor(None, _wait, process, left_s)

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

    def _readable(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(64 * 1024)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._died()
            return
        data = self._rest + data
        whole = len(data) - len(data) % ACK.size
        self._rest = data[whole:]
        self._handoff.acknowledged(number for (number,) in ACK.iter_unpack(data[:whole]))

    def _died(self) -> None:
        lost = self._handoff.detach()
        process = self.process
        self._disconnect()
        if process is None or self._stopping:
            return
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, process.wait)
        settled = self._now() - self._started_ns > _SETTLED_S * 1e9
        self._failures = 0 if settled else self._failures + 1
        wait_s = _BACKOFF_S[min(self._failures, len(_BACKOFF_S) - 1)]
        sentence = f"the recorder died; {lost} records are lost with it, no stream is touched"
        self._log.say(Event.RECORDER_LOST, sentence, pid=process.pid, lost=lost)
        self._again = loop.call_later(wait_s, self._restart)

    def _restart(self) -> None:
        self._again = None
        resumed = len(self._handoff.open_exchanges)
        try:
            self.start()
        except OSError as fault:
            self._log.say(Event.RECORDER_FAILED, detail=str(fault))
            self._failures += 1
            self._again = asyncio.get_running_loop().call_later(_BACKOFF_S[-1], self._restart)
            return
        self.restarts += 1
        pid = self.process.pid if self.process else None
        sentence = f"a new recorder runs; {resumed} exchanges go on in it"
        self._log.say(Event.RECORDER_RESTARTED, sentence, pid=pid, resumed=resumed)

    def _disconnect(self) -> None:
        if self._sock is not None:
            asyncio.get_running_loop().remove_reader(self._sock)
            self._sock.close()
        self._sock = None
        self.process = None


def _wait(process: subprocess.Popen[bytes], within_s: float) -> None:
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
