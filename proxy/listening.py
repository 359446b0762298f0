"""A route's listener: takes callers in, those who may come, over TLS where it is wanted.

One rule: who may not come in is reset before a byte is read from them, TLS handshake included, and a
caller is a caller only once its handshake is done. Where there is neither an allow-list nor TLS the loop's
own server does it all; it knows no peer before the handshake, so otherwise we accept ourselves.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
from typing import TYPE_CHECKING, Final, Protocol

from .caller import Caller
from .certificate import server_context
from .closing import unsent
from .wire.pairing import Pairing

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence

    from .config import Route
    from .doorway import Doorway
    from .relay import Session

HANDSHAKE_S: Final = 10.0
"""How long a TLS handshake may take."""
MOST_HANDSHAKES: Final = 128
"""At once; more callers wait in the kernel's queue, so that idle ones cannot use up the descriptors."""
GOODBYE_S: Final = 1.0
"""Between two looks at a caller that has to answer the end of TLS: after two with nothing left to be sent
to it, it is not waited for."""
PARTING_S: Final = 600.0
"""How long a caller may take for its last bytes and that answer. The loop would cut it off after 30 s."""
BACKLOG: Final = 1024

_AT_ONCE: Final = 64
"""Callers taken in before other work has its turn."""
_PAUSE_S: Final = 1.0
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_LINGER_NOT: Final = struct.pack("ii", 1, 0)


class Listener(Protocol):
    """What listens; an `asyncio.Server` is one."""

    @property
    def sockets(self) -> Sequence[socket.socket]:
        """Those that listen; the loop's own may be stand-ins that know their name."""

    def close(self) -> None:
        """Take nobody in any more."""

    async def wait_closed(self) -> None:
        """Wait until that is so."""


async def listen(
    route: Route, session: Session, doorway: Doorway, *, reuse_port: bool = False
) -> Listener:
    """Listen for one route. Raises OSError where that is not possible."""
    loop = asyncio.get_running_loop()
    where = (route.listen.host, route.listen.port)
    context = server_context(route)
    if context is None and route.allow is None:
        return await loop.create_server(
            lambda: Caller(session), *where, backlog=BACKLOG, reuse_port=reuse_port
        )
    sockets = await _bound(*where, reuse_port=reuse_port)
    kind = Caller if context is None else TlsCaller
    return _Gate(sockets, lambda: kind(session), doorway, context)


class TlsCaller(Caller):
    """A caller behind TLS, where both directions end together.

    RFC 8446 section 6.1 allows one to go on; OpenSSL and the loop do not.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._parting = False
        self._all_sent = False

    def eof_received(self) -> bool:
        """Its close_notify: as a FIN, but the connection cannot stay half open."""
        super().eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """A FIN without close_notify comes here at once: then it was the caller that left.

        If the upstream ended first that has been noted, and stays.
        """
        if exc is None:
            self.listen(Pairing.caller_finished)
        super().connection_lost(exc)

    def close(self) -> None:
        """End the pair; do not wait long for the other's close_notify once all has been sent."""
        super().close()
        if not self._parting:  # a stop closes what is idle again and again
            self._parting = True
            asyncio.get_running_loop().call_later(GOODBYE_S, self._goodbye)

    def _goodbye(self) -> None:
        transport = self.transport
        if transport is None:
            return
        # Two looks: between TLS and the kernel there is one more buffer, which nobody can ask about. While
        # something is in it the kernel's queue is full, but for the moment in which it is filled again.
        sent_before, self._all_sent = self._all_sent, not unsent(transport)
        if sent_before and self._all_sent:
            transport.abort()
        else:
            asyncio.get_running_loop().call_later(GOODBYE_S, self._goodbye)


class _Gate:
    """Accepts, asks the doorway, shakes hands."""

    def __init__(
        self,
        sockets: list[socket.socket],
        make: Callable[[], Caller],
        doorway: Doorway,
        context: ssl.SSLContext | None,
    ) -> None:
        self._make = make
        self._doorway = doorway
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._shaking: set[asyncio.Task[None]] = set()
        self._open = True
        self._accepting = False
        self.sockets: Sequence[socket.socket] = sockets
        self._accept_again()

    def close(self) -> None:
        """Take nobody in any more; who has not shaken hands yet is let go."""
        self._pause()
        self._open = False
        for task in self._shaking:
            task.cancel()
        for each in self.sockets:
            each.close()

    async def wait_closed(self) -> None:
        """Wait for those that were let go."""
        while self._shaking:
            await asyncio.wait(self._shaking)

    def _accept_again(self) -> None:
        if self._open and not self._accepting and len(self._shaking) < MOST_HANDSHAKES:
            self._accepting = True
            for each in self.sockets:
                self._loop.add_reader(each, self._accept, each)

    def _pause(self) -> None:
        if self._accepting:
            self._accepting = False
            for each in self.sockets:
                self._loop.remove_reader(each)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            if len(self._shaking) >= MOST_HANDSHAKES:
                self._pause()
                return
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as fault:
                if fault.errno not in _NO_ROOM:
                    raise
                self._pause()  # it stays readable: without a pause the loop would turn for nothing
                self._loop.call_later(_PAUSE_S, self._accept_again)
                return
            self._take(sock, address)

    def _take(self, sock: socket.socket, address: tuple[str, int]) -> None:
        host, port = address[:2]
        peer = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if not self._doorway.admits(host):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            sock.close()
            self._doorway.turn_away(peer)
            return
        sock.settimeout(0)
        task = self._loop.create_task(self._welcome(sock, peer))
        self._shaking.add(task)
        task.add_done_callback(self._shaken)

    def _shaken(self, task: asyncio.Task[None]) -> None:
        self._shaking.discard(task)
        self._accept_again()

    async def _welcome(self, sock: socket.socket, peer: str) -> None:
        handshake_s, parting_s = (None, None) if self._context is None else (HANDSHAKE_S, PARTING_S)
        try:
            await self._loop.connect_accepted_socket(
                self._make,
                sock,
                ssl=self._context,
                ssl_handshake_timeout=handshake_s,
                ssl_shutdown_timeout=parting_s,
            )
        except OSError as fault:
            self._doorway.failed(peer, fault)


async def _bound(host: str, port: int, *, reuse_port: bool) -> list[socket.socket]:
    """Sockets that listen on each address that the host stands for, as the loop's own server has them."""
    flags = socket.AI_PASSIVE
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            each = socket.socket(family, kind, protocol)
            sockets.append(each)
            _listen(each, address, reuse_port=reuse_port)
    except OSError:
        for each in sockets:
            each.close()
        raise
    return sockets


def _listen(sock: socket.socket, address: object, *, reuse_port: bool) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if reuse_port:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind(address)  # type: ignore[arg-type] # of whatever family getaddrinfo gave
    sock.listen(BACKLOG)
    sock.settimeout(0)
