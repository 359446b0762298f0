"""A scripted inference server on a real socket: it says what no real server says on demand.

    async with Upstream([Await(), Send(reply, split=1), Reset()]) as up:
        ...  # point the proxy at up.url
        first = await up.connection(0)
        assert first.received == request

Each accepted connection plays one script: the first connection the first, the second the second, the
last script again for all that follow. When a script is over its connection stays open and read until
the peer ends, and is closed then.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from tests.support.edge import WITHIN_S, EndedError, Endpoint
from tests.support.tls import Tls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tests.support.tls import Certificate


class Connection(Endpoint):
    """One accepted connection: all that `Endpoint` records, and how its script went."""

    def __init__(self, sock: socket.socket, number: int, tls: Tls | None) -> None:
        super().__init__(sock, tls)
        self.number = number
        """From 0, in the order of acceptance."""
        self.steps_done = 0
        self.script_over = asyncio.Event()
        self.fault: Exception | None = None
        """Why the script stopped early: the peer's end (EndedError, ConnectionError) or worse."""

    @property
    def alpn(self) -> str | None:
        """The protocol agreed on in the TLS handshake; None without one."""
        return None if self._tls is None else self._tls.alpn

    async def play(self, script: Sequence[Step]) -> None:
        """Do each step in turn; stop at the first that fails."""
        try:
            await self.handshake()
            for step in script:
                await step.play(self)
                self.steps_done += 1
        except Exception as fault:  # noqa: BLE001 -- whatever it is, the test gets it at the end
            self.fault = fault
        finally:
            self.script_over.set()
        if self._open and not self._fault_of_test:
            with contextlib.suppress(TimeoutError):
                await self.wait_end(within=3600)
        self.close()

    @property
    def _fault_of_test(self) -> bool:
        return self.fault is not None and not isinstance(self.fault, (EndedError, ConnectionError))


class Step(Protocol):
    """One line of a script."""

    async def play(self, connection: Connection) -> None:
        """Do it."""


@dataclass(frozen=True, slots=True)
class Await:
    """Wait for `size` bytes, or up to `until`, or (neither given) for one whole HTTP request."""

    size: int = 0
    until: bytes = b""
    within: float = WITHIN_S

    async def play(self, connection: Connection) -> None:
        """Take it."""
        if self.size:
            await connection.read_exactly(self.size, self.within)
        elif self.until:
            await connection.read_until(self.until, self.within)
        else:
            await connection.read_message(self.within)


@dataclass(frozen=True, slots=True)
class Send:
    """Send, in pieces of `split` bytes with `pause` seconds between them (0: whole)."""

    data: bytes
    split: int = 0
    pause: float = 0.0
    within: float = WITHIN_S

    async def play(self, connection: Connection) -> None:
        """Send it; `connection.sent` has a stamp for each piece."""
        await connection.send(self.data, piece=self.split, pause=self.pause, within=self.within)


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for so long; what comes meanwhile is read and stamped."""

    seconds: float

    async def play(self, _connection: Connection) -> None:
        """Wait."""
        await asyncio.sleep(self.seconds)


@dataclass(frozen=True, slots=True)
class StopReading:
    """Leave in the kernel what comes from here on: the peer meets back-pressure."""

    async def play(self, connection: Connection) -> None:
        """Stop."""
        connection.stop_reading()


@dataclass(frozen=True, slots=True)
class StartReading:
    """Read again."""

    async def play(self, connection: Connection) -> None:
        """Start."""
        connection.start_reading()


@dataclass(frozen=True, slots=True)
class Fin:
    """Send FIN; go on reading."""

    async def play(self, connection: Connection) -> None:
        """Half-close."""
        await connection.fin()


@dataclass(frozen=True, slots=True)
class Reset:
    """End with RST."""

    async def play(self, connection: Connection) -> None:
        """Break off."""
        connection.reset()


@dataclass(frozen=True, slots=True)
class Close:
    """Close both ways."""

    async def play(self, connection: Connection) -> None:
        """End."""
        connection.close()


@dataclass(frozen=True, slots=True)
class Hang:
    """Say nothing more, read on, until the peer ends. Steps after it see an ended peer."""

    async def play(self, connection: Connection) -> None:
        """Wait for the peer's end."""
        await connection.wait_end(within=3600)


@dataclass(frozen=True, slots=True)
class Call:
    """Call `function(connection)`, and await what it returns if that can be awaited."""

    function: Callable[[Connection], Awaitable[object] | object]

    async def play(self, connection: Connection) -> None:
        """Call it."""
        result = self.function(connection)
        if inspect.isawaitable(result):
            await result


class Upstream:
    """Listens on a free port of `host` and plays its scripts.

    A script's own fault (a time-out, an error in a `Call`) is raised when the block ends; that the
    peer went away is no fault and is only kept in `Connection.fault`.
    """

    def __init__(
        self,
        *scripts: Sequence[Step],
        tls: Certificate | None = None,
        host: str = "127.0.0.1",
        receive_buffer: int = 0,
    ) -> None:
        self._scripts = scripts
        self._context = tls.server() if tls is not None else None
        self._host = host
        self._receive_buffer = receive_buffer
        self._accepted = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.connections: list[Connection] = []

    async def __aenter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        self._listener = socket.create_server((self._host, 0), family=family, backlog=1024)
        if self._receive_buffer:  # inherited by what is accepted; the kernel doubles it
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
        self._listener.settimeout(0)
        self.port: int = self._listener.getsockname()[1]
        asyncio.get_running_loop().add_reader(self._listener, self._accept)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self.connections:
            connection.close()
        faults = [c.fault for c in self.connections if c.fault is not None and c._fault_of_test]
        if faults and kind is None:
            raise faults[0]

    @property
    def authority(self) -> str:
        """`host:port`, as it stands in a URL."""
        return f"[{self._host}]:{self.port}" if ":" in self._host else f"{self._host}:{self.port}"

    @property
    def url(self) -> str:
        """What goes into the proxy's config."""
        return f"{'http' if self._context is None else 'https'}://{self.authority}"

    async def connection(self, number: int, within: float = WITHIN_S) -> Connection:
        """The connection of that number, from 0, as soon as it has been accepted."""
        async with asyncio.timeout(within):
            while len(self.connections) <= number:
                self._accepted.clear()
                await self._accepted.wait()
        return self.connections[number]

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            sock, _ = self._listener.accept()
            number = len(self.connections)
            tls = None if self._context is None else Tls(self._context)
            try:
                connection = Connection(sock, number, tls)
            except OSError:  # reset before it could be looked at
                sock.close()
                return
            self.connections.append(connection)
            script = self._scripts[min(number, len(self._scripts) - 1)] if self._scripts else ()
            self._tasks.append(asyncio.create_task(connection.play(script)))
            self._accepted.set()
