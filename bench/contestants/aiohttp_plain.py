"""A plain streaming reverse proxy as one writes it with aiohttp on both sides, and how it is started.

One rule: no trick and no measuring. It is what a proxy in Python costs when it speaks HTTP to both ends.
`python -m bench.contestants.aiohttp_plain PORT UPSTREAM`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import aiohttp
import uvloop
from aiohttp import web

from .base import Contestant

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .base import Place

_HOP_BY_HOP: Final = frozenset({"connection", "keep-alive", "te", "trailer", "transfer-encoding"})
_BIGGEST: Final = 2**30
_SESSION: Final = web.AppKey("session", aiohttp.ClientSession)


def application(upstream: str) -> web.Application:
    """The proxy in front of an upstream."""

    async def session(app: web.Application) -> AsyncIterator[None]:
        options = aiohttp.ClientTimeout(total=None)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(
            upstream, connector=connector, timeout=options, auto_decompress=False
        ) as app[_SESSION]:
            yield

    async def relay(request: web.Request) -> web.StreamResponse:
        headers = {
            k: v for k, v in request.headers.items() if k.lower() not in _HOP_BY_HOP | {"host"}
        }
        body = request.content if request.can_read_body else None
        asked = request.app[_SESSION].request(
            request.method, request.raw_path, headers=headers, data=body, allow_redirects=False
        )
        async with asked as reply:
            kept = {k: v for k, v in reply.headers.items() if k.lower() not in _HOP_BY_HOP}
            response = web.StreamResponse(status=reply.status, reason=reply.reason, headers=kept)
            await response.prepare(request)
            async for data in reply.content.iter_any():
                await response.write(data)
            await response.write_eof()
            return response

    app = web.Application(client_max_size=_BIGGEST)
    app.cleanup_ctx.append(session)
    app.router.add_route("*", "/{path:.*}", relay)
    return app


def _command(place: Place) -> list[str]:
    return [sys.executable, "-m", __name__, str(place.port), place.upstream]


AIOHTTP: Final = Contestant("aiohttp", sys.executable, "make install", _command)


def main() -> None:
    """Serve until a signal."""
    port, upstream = sys.argv[1:]
    loop = uvloop.new_event_loop()
    web.run_app(
        application(upstream),
        host="127.0.0.1",
        port=int(port),
        backlog=4096,
        access_log=None,
        print=None,
        loop=loop,
    )


if __name__ == "__main__":
    main()
