"""How an upstream is reached: addresses, TLS, and what the caller is told when nobody is there.

One rule: each caller connection gets an upstream connection of its own; nothing is pooled, so nothing
can be mixed up. Addresses are tried in turn within one time-out; a look-up is kept until it fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import ssl
from typing import TYPE_CHECKING, Final

import msgspec

from .caller import Refusal
from .closing import was_reset
from .relay import Upstream, words
from .wire.exchange import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .address import Origin
    from .caller import Caller

LOOK_S: Final = 0.2
"""How often a connect that takes its time looks whether its caller is still there."""

_REASONS: Final = {502: "Bad Gateway", 504: "Gateway Timeout"}


def tls_context() -> ssl.SSLContext:
    """Verified TLS that offers http/1.1 alone: the bytes on both sides must be the same protocol."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class Reach:
    """The way to one route's upstream."""

    def __init__(self, origin: Origin, timeout_s: float) -> None:
        self._origin = origin
        self._timeout_s = timeout_s
        self._tls = tls_context() if origin.scheme == "https" else None
        self._addresses: list[str] = []

    async def connect(self, caller: Caller) -> None:
        """Connect for this caller; it hears `connected` or `refused`, once. One that has gone is cut."""
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                with _while_there(caller, limit):
                    await self._connect(caller)
        except OSError as fault:  # a TLS fault and a time-out are of this kind too
            if _gone(caller):
                caller.cut(Outcome.client_gone, os.strerror(errno.ECONNRESET), drain=False)
                return
            self._addresses = []
            caller.refused(refusal(self._origin, fault, self._timeout_s))

    async def addresses(self) -> list[str]:
        """Where the name leads now. Raises OSError when it leads nowhere."""
        host, port = self._origin.host, self._origin.port
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(address[0]) for *_, address in found))

    async def _connect(self, caller: Caller) -> None:
        known = self._addresses
        if known and await self._try(caller, known) is None:
            return
        self._addresses = await self.addresses()
        fault = await self._try(caller, self._addresses)
        if fault is not None:
            raise fault

    async def _try(self, caller: Caller, addresses: list[str]) -> OSError | None:
        """Each address in turn; None when one took the connection, else the first one's fault."""
        first: OSError | None = None
        for address in addresses:
            try:
                await self._open(caller, address)
            except OSError as fault:
                first = first or fault
            else:
                return None
        return first

    async def _open(self, caller: Caller, address: str) -> None:
        loop = asyncio.get_running_loop()
        name = self._origin.host if self._tls else None
        where = (address, self._origin.port)
        await loop.create_connection(
            lambda: Upstream(caller), *where, ssl=self._tls, server_hostname=name
        )


def _gone(caller: Caller) -> bool:
    return caller.transport is None or was_reset(caller.transport)


@contextlib.contextmanager
def _while_there(caller: Caller, limit: asyncio.Timeout) -> Iterator[None]:
    """Let the time be up as soon as the caller has gone.

    It is not read while there is nowhere to write to, so the loop does not hear its reset. Reading on,
    with a bound, would not do: a prompt beyond the bound stops the reading all the same.
    """
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal timer
        if not _gone(caller):
            timer = loop.call_later(LOOK_S, look)
        elif not limit.expired():
            limit.reschedule(loop.time())

    timer = loop.call_later(LOOK_S, look)
    try:
        yield
    finally:
        timer.cancel()


def refusal(origin: Origin, fault: BaseException, timeout_s: float) -> Refusal:
    """What to tell a caller whose upstream cannot be reached: 504 after a time-out, else 502."""
    timed_out = isinstance(fault, TimeoutError)
    status = 504 if timed_out else 502
    why = f"no connection within {timeout_s:g} s" if timed_out else words(fault)
    message = f"turnscope could not connect to {origin}: {why}. {_remedy(fault)}"
    error = {"message": message, "type": Outcome.upstream_unreachable.name, "code": status}
    body = msgspec.json.encode({"error": error})
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
        f"Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"Connection: close\r\n\r\n"
    )
    return Refusal(head.encode() + body, why, Outcome.upstream_unreachable)


def _remedy(fault: BaseException) -> str:
    if isinstance(fault, ssl.SSLError):
        return "Check that the upstream speaks TLS on that port and that its certificate is valid."
    if isinstance(fault, socket.gaierror):
        return "Check the host name in the upstream's URL."
    return "Start the inference server, or start turnscope-proxy with the right --upstream."
