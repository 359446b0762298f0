"""A scripted server with a `/metrics` that a test can change while it runs.

metrics = Metrics(expositions.VLLM)
async with metrics.serving() as up:
...  # point the gauge at up.url
metrics.text = expositions.TGI
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.support.upstream import Await, Call, Upstream

if TYPE_CHECKING:
    from tests.support.tls import Certificate
    from tests.support.upstream import Connection

_REQUESTS = 500
"""On one connection."""
CHAT = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Metrics:
    """What it answers, and what it was asked."""

    def __init__(self, text: str, path: str = "/metrics") -> None:
        self.text = text
        self.path = path
        """Where the metrics are; all other paths but the chat's are 404."""
        self.status = 200
        self.delay_s = 0.0
        self.away = False
        """True: it breaks off each connection."""
        self.elsewhere = (404, "{}")
        """Status and text of a GET for another path."""
        self.heads: list[str] = []
        """Heads of the requests for metrics, in order."""
        self._places: dict[int, int] = {}

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for."""
        return [head.split(" ")[1] for head in self.heads]

    def serving(self, tls: Certificate | None = None) -> Upstream:
        """The server, not yet running."""
        return Upstream([step for _ in range(_REQUESTS) for step in self._steps()], tls=tls)

    def _steps(self) -> list[Await | Call]:
        return [Await(within=120), Call(self._answer)]

    async def _answer(self, connection: Connection) -> None:
        place = self._places.get(connection.number, 0)
        head = bytes(connection.received[place:]).partition(b"\r\n\r\n")[0].decode()
        self._places[connection.number] = len(connection.received)
        if self.away:
            connection.reset()
            return
        if not head.startswith("GET "):
            await asyncio.sleep(self.delay_s)
            await connection.send(CHAT)
            return
        self.heads.append(head)
        status, text = self.elsewhere
        if self.asked[-1] == self.path:
            status, text = self.status, self.text
            await asyncio.sleep(self.delay_s)
        body = text.encode()
        start = (
            f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nLocation: /elsewhere\r\n\r\n"
        )
        await connection.send(start.encode() + body)
