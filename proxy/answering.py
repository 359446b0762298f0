"""A listener for pages of our own: a GET over HTTP/1.1, one answer, the end of the connection.

One rule: whoever asks is a stranger. What it may send is bounded in bytes, time and number, a foreign name
in `Host` is refused before anything is looked at (DNS rebinding: a page in the operator's browser that has
pointed its own name at this machine), and no other method than GET and HEAD does anything.

Not aiohttp, which makes our requests: its server would be a third of the main process's memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from .address import Address, UnusableError
from .wire.head import parse_request_head, values

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from .wire.head import RequestHead

    Page = Callable[[], Awaitable["Answer"]]

HEAD_BYTES: Final = 8 * 1024
"""The longest request head."""
WHOLE_S: Final = 10.0
"""How long a connection may take, from its beginning to its end."""
MOST: Final = 32
"""Connections at once; one more is closed unheard."""
_GOODBYE_S: Final = 1.0
"""How long a client may take to close behind its answer. A close with bytes unread would be a reset, which
can take the answer with it (RFC 9112 section 9.6)."""

_FIELDS: Final = (
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Connection: close\r\n"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    fields: str = ""
    """Further header lines."""

    def encode(self, *, body: bool) -> bytes:
        """As bytes; without the body for HEAD."""
        head = (
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n"
            f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
            f"{self.fields}{_FIELDS}\r\n"
        )
        return head.encode() + (self.body if body else b"")


def refused(status: int, sentence: str, fields: str = "") -> Answer:
    """An answer that is one sentence."""
    return Answer(status, f"{sentence}\n".encode(), fields=fields)


class Answering:
    """Listens at one address."""

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self._pages = pages
        self._tasks: set[asyncio.Task[None] | None] = set()
        self._server: asyncio.Server | None = None
        self.listen = Address("", 0)

    async def start(self, listen: Address) -> Address:
        """Listen; returns the address with the port that it got. Raises OSError."""
        server = await asyncio.start_server(
            self._serve, listen.host, listen.port, limit=HEAD_BYTES, backlog=MOST
        )
        self._server = server
        self.listen = replace(listen, port=server.sockets[0].getsockname()[1])
        return self.listen

    async def stop(self) -> None:
        """Listen no more, and let nobody finish."""
        if self._server is not None:
            self._server.close()
        tasks = [task for task in self._tasks if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= MOST:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            async with asyncio.timeout(WHOLE_S):
                await self._converse(reader, writer)
        except (OSError, EOFError, RuntimeError, asyncio.CancelledError):
            pass  # late, gone (uvloop: RuntimeError), or told to stop: there is nobody to tell
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = parse_request_head(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            head, answer = None, refused(431, f"the head is longer than {HEAD_BYTES} bytes")
        else:
            here = writer.get_extra_info("sockname")[0]
            answer = await self._answer(head, here)
        writer.transport.set_write_buffer_limits(high=0)  # so that drain waits for the last byte
        writer.write(answer.encode(body=head is None or head.method != "HEAD"))
        await writer.drain()
        writer.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_S):
                while await reader.read(HEAD_BYTES):
                    pass

    async def _answer(self, head: RequestHead | None, here: str) -> Answer:
        if head is None:
            return refused(400, "this is no HTTP request")
        if refusal := self._refusal(head, here):
            return refusal
        page = self._pages.get(head.path)
        if page is None:
            return refused(404, f"there is nothing here; there is {', '.join(self._pages)}")
        try:
            return await page()
        except Exception as fault:  # noqa: BLE001  a fault of ours: it is one page's, and not the relay's
            return refused(500, f"this page failed: {type(fault).__name__}")

    def _refusal(self, head: RequestHead, here: str) -> Answer | None:
        hosts = values(head.headers, "host")
        if len(hosts) != 1 or not head.target.startswith("/"):
            return refused(400, "a request needs one Host and a path")
        if not names(hosts[0], self.listen, here):
            return refused(
                403, f"Host has to be {self.listen}, or localhost with that port, and is neither"
            )
        if head.method not in {"GET", "HEAD"}:
            return refused(405, "only GET and HEAD do anything here", "Allow: GET, HEAD\r\n")
        return None


def names(host: str, listen: Address, here: str) -> bool:
    """Whether a `Host` means this listener, which was reached at the address `here`.

    A loopback address, `localhost`, the configured host and the address of this very connection do: none of
    them is a name that a stranger can point here. The port has to be the listener's, 80 if there is none.
    """
    try:
        asked = Address.parse(host if _has_port(host) else f"{host}:80")
    except UnusableError:
        return False
    own = {listen.host.lower(), here.lower()}
    return asked.port == listen.port and (asked.loopback or asked.host.lower() in own)


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]
