"""A raw client: bytes out, bytes in, with times, and no opinion about HTTP.

    async with await Caller.connect(port) as caller:
        await caller.send(request, piece=1)
        reply = await caller.read_all()
        assert caller.ended == "fin"

All it can do is `Endpoint`'s.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Self

from tests.support.edge import WITHIN_S, Endpoint
from tests.support.tls import Tls

if TYPE_CHECKING:
    import ssl


class Caller(Endpoint):
    """A connected client. `connect` makes it; it is read from its first moment on."""

    @classmethod
    async def connect(
        cls,
        port: int,
        host: str = "127.0.0.1",
        *,
        tls: ssl.SSLContext | None = None,
        receive_buffer: int = 0,
        within: float = WITHIN_S,
    ) -> Self:
        """Connect, over TLS if a context is given.

        `receive_buffer` bytes (the kernel doubles them) make a caller that stops reading felt soon.
        Raises ConnectionRefusedError where nobody listens and TimeoutError where nobody answers.
        """
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            sock.settimeout(0)
            if receive_buffer:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            async with asyncio.timeout(within):
                await asyncio.get_running_loop().sock_connect(sock, (host, port))
        except BaseException:
            sock.close()
            raise
        caller = cls(sock, None if tls is None else Tls(tls, host))
        await caller.handshake(within)
        return caller
