"""Whether the bytes at one end are those of the other: of a long request and a stream of 400 chunks.

One rule: each end takes the digest of what it has; only digests travel, and around the contestant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from bench.client import BrokenReplyError, connections
from bench.prompts import LongPrompt
from bench.script import LAST, Script, digest, unchunked, without_host

from .base import Metric, whole

if TYPE_CHECKING:
    from bench.field import Target

    from .base import Effort

_SCRIPT: Final = Script(400, 500, kept=True)


async def _measure(target: Target, _: Effort) -> dict[str, float]:
    request = target.request(LongPrompt(_SCRIPT).body())
    head, end, body = request.partition(b"\r\n\r\n")
    async with connections(target.port, 1) as (connection,):
        reply = whole(await connection.ask(request, kept=True), _SCRIPT.chunks)
    came = b"".join(reply.kept or [])
    here = {
        "request_head": digest(without_host(head + end)),
        "request_body": digest(body),
        "reply": digest(came),
        "reply_body": digest(unchunked(came[len(reply.head) :])),
    }
    there = await _last(target.upstream_port)
    return {name: float(there[name] == value) for name, value in here.items()}


async def _last(port: int) -> dict[str, str]:
    async with connections(port, 1) as (connection,):
        told = await connection.ask(f"GET {LAST} HTTP/1.1\r\n\r\n".encode(), kept=True)
    found: dict[str, str] = orjson.loads(b"".join(told.kept or []).partition(b"\r\n\r\n")[2])
    if not found:
        raise BrokenReplyError("the request reached the upstream without the name of its model")
    return found


EXACT: Final = Metric("exact", "whether all bytes are the same at both ends", _measure)
