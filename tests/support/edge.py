"""One end of a real connection: what both the scripted upstream and the raw client are made of.

One rule: it reads in the loop's own callback and stamps there, so that an arrival time is as near to
the kernel as Python gets, and an end of the peer is seen whatever the test is doing at the moment.
Nothing waits for ever: each wait has a bound and says at its end what had come.

Times are `time.monotonic_ns()`, the clock that the product uses too, so they can be compared.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from tests.support.framing import message_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.tls import Tls

WITHIN_S = 5.0
"""How long any wait lasts unless the call says otherwise."""


class EndedError(ConnectionError):
    """The peer ended before what was waited for had come."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one socket read brought."""

    at_ns: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """One hand-over to the kernel: `at_ns` before it began, `done_ns` when the kernel had all."""

    at_ns: int
    done_ns: int
    size: int


class Endpoint:
    """A connected socket that is always read, unless told not to.

    `read_*` take what has not been taken yet, in order; `received` is all that ever came.
    """

    def __init__(self, sock: socket.socket, tls: Tls | None = None) -> None:
        sock.settimeout(0)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._open = True
        self._reading = False
        self._taken = 0
        self.received = bytearray()
        self.pieces: list[Piece] = []
        self.sent: list[Sent] = []
        self.fin_ns: int | None = None
        """When the peer's FIN was seen; None: it has not come."""
        self.reset_ns: int | None = None
        """When the peer's reset was seen, by a read or a failed write; None: it has not come."""
        self.address: tuple[str, int] = sock.getsockname()[:2]
        self.peer: tuple[str, int] = sock.getpeername()[:2]
        self.start_reading()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    # How the peer ended

    @property
    def ended(self) -> Literal["fin", "reset"] | None:
        """How the peer ended; None while it has not. A reset after a FIN counts as a reset."""
        if self.reset_ns is not None:
            return "reset"
        return None if self.fin_ns is None else "fin"

    @property
    def ended_ns(self) -> int | None:
        """When it ended so; None while it has not."""
        return self.fin_ns if self.reset_ns is None else self.reset_ns

    async def wait_end(self, within: float = WITHIN_S) -> Literal["fin", "reset"]:
        """Wait for the peer's end and say how it was."""
        await self._until(lambda: self.ended is not None, "the peer's end", within, anyway=True)
        assert self.ended is not None
        return self.ended

    # Reading

    def stop_reading(self) -> None:
        """Take nothing more from the kernel: back-pressure. An end of the peer is not seen either."""
        if self._reading:
            self._loop.remove_reader(self._sock)
            self._reading = False

    def start_reading(self) -> None:
        """Read again."""
        if self._open and not self._reading and self.ended is None:
            self._loop.add_reader(self._sock, self._readable)
            self._reading = True

    async def read_exactly(self, size: int, within: float = WITHIN_S) -> bytes:
        """The next `size` bytes."""
        await self._until(lambda: self._waiting >= size, f"{size} bytes", within)
        return self._take(size)

    async def read_until(self, mark: bytes, within: float = WITHIN_S) -> bytes:
        """All up to and with the next `mark`."""
        await self._until(lambda: self._find(mark) >= 0, repr(mark), within)
        return self._take(self._find(mark) + len(mark) - self._taken)

    async def read_message(self, within: float = WITHIN_S) -> bytes:
        """One whole message: head, then a body by chunked or Content-Length, or none.

        Right for each request. Of replies, not for one to HEAD (`read_until` its empty line) and
        not for one that ends with its connection (`read_all`).
        """
        await self._until(lambda: self._message_end() is not None, "a whole message", within)
        end = self._message_end()
        assert end is not None
        return self._take(end - self._taken)

    async def read_all(self, within: float = WITHIN_S) -> bytes:
        """All up to the peer's end, whether FIN or reset: `ended` tells them apart."""
        await self.wait_end(within)
        return self._take(self._waiting)

    @property
    def _waiting(self) -> int:
        return len(self.received) - self._taken

    def _find(self, mark: bytes) -> int:
        return self.received.find(mark, self._taken)

    def _take(self, size: int) -> bytes:
        self._taken += size
        return bytes(self.received[self._taken - size : self._taken])

    def _message_end(self) -> int | None:
        return message_end(self.received, self._taken)

    async def _until(
        self, come: Callable[[], bool], what: str, within: float, *, anyway: bool = False
    ) -> None:
        """Wait until `come()`. An end of the peer makes that hopeless, unless `anyway`."""
        try:
            async with asyncio.timeout(within):
                while not come():
                    if self.ended is not None and not anyway:
                        raise EndedError(f"{self._so_far(what)}; then the peer's {self.ended}")
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TimeoutError(f"{self._so_far(what)} within {within} s") from None

    def _so_far(self, what: str) -> str:
        tail = bytes(self.received[self._taken :][-200:])
        return f"waited for {what}, got {len(self.received)} bytes in all, unread end {tail!r}"

    def _readable(self) -> None:
        # To its end: once libuv has told of an error, it does not watch the socket any more, and the
        # error may stand behind data.
        while self._reading and self._read_once():
            pass

    def _read_once(self) -> bool:
        try:
            data = self._sock.recv(1 << 16)
        except BlockingIOError:
            return False
        except ConnectionError:
            self._reset_seen()
            return False
        at_ns = time.monotonic_ns()
        self._keep(data if self._tls is None else self._tls.decrypt(data), at_ns)
        if not data or (self._tls is not None and self._tls.closed):
            self.stop_reading()
            self.fin_ns = at_ns
        self._news.set()
        return bool(data)

    def _keep(self, plain: bytes, at_ns: int) -> None:
        if plain:
            self.received += plain
            self.pieces.append(Piece(at_ns, plain))

    def _reset_seen(self) -> None:
        self.stop_reading()
        self.reset_ns = self.reset_ns or time.monotonic_ns()
        self._news.set()

    # Writing

    async def handshake(self, within: float = WITHIN_S) -> None:
        """Shake hands over TLS; nothing to do without it."""
        while self._tls is not None and not self._tls.handshake():
            await self._flush(within)
            await self._until(self._tls.has_news, "the peer's part of the handshake", within)
        await self._flush(within)
        if self._tls is not None:  # a peer may send its first data with its last handshake bytes
            self._keep(self._tls.decrypt_waiting(), time.monotonic_ns())
            self._news.set()

    async def send(
        self, data: bytes, *, piece: int = 0, pause: float = 0.0, within: float = WITHIN_S
    ) -> None:
        """Send in pieces of `piece` bytes (0: whole), `pause` seconds between them.

        Raises ConnectionError if the peer has gone and TimeoutError if it does not read: then what
        was not sent is lost, as `sent` shows.
        """
        step = piece or max(len(data), 1)
        for start in range(0, len(data), step):
            if start:
                await asyncio.sleep(pause)
            part = data[start : start + step]
            at_ns = time.monotonic_ns()
            await self._send_raw(part if self._tls is None else self._tls.encrypt(part), within)
            self.sent.append(Sent(at_ns, time.monotonic_ns(), len(part)))

    async def _flush(self, within: float) -> None:
        if self._tls is not None:
            await self._send_raw(self._tls.outgoing(), within)

    async def _send_raw(self, data: bytes, within: float) -> None:
        try:
            async with asyncio.timeout(within):
                await self._loop.sock_sendall(self._sock, data)
        except TimeoutError:
            raise TimeoutError(f"the peer did not take {len(data)} bytes in {within} s") from None
        except ConnectionError:
            self._reset_seen()
            raise

    async def fin(self) -> None:
        """Say that nothing more will come; the peer may go on. Over TLS: close_notify, then FIN."""
        if self._tls is not None:
            self._tls.close()
            await self._flush(WITHIN_S)
        self._sock.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """End at once with RST; what the kernel still held is dropped."""
        if self._open:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        """Close both ways. The kernel makes it a reset if bytes were left unread."""
        self.stop_reading()
        self._open = False
        self._sock.close()


@contextlib.contextmanager
def refusing_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses connections and that nobody else can get meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """A port of 127.0.0.1 that answers no SYN: its accept queue is full, so Linux drops them."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(2):  # a queue of 0 still holds one; the second proves that it is full
            filler = stack.enter_context(socket.socket())
            filler.settimeout(0)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
