"""Time to the first token of a long prompt, one request at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bench.client import connections
from bench.clock import monotonic_ns
from bench.prompts import LongPrompt
from bench.script import Script

from .base import Metric, percentiles, whole

if TYPE_CHECKING:
    from bench.field import Target

    from .base import Effort

_CHUNKS: Final = 2


async def _measure(target: Target, effort: Effort) -> dict[str, float]:
    prompt = LongPrompt(Script(_CHUNKS))
    kept: list[int] = []
    async with connections(target.port, 1) as (connection,):
        for _ in range(effort.ttft_requests):
            request = target.request(prompt.body())
            reply = whole(await connection.ask(request), _CHUNKS)
            kept.append(reply.first_ns - reply.asked_ns)
            await asyncio.sleep(effort.pause_s)
    new: list[int] = []
    for _ in range(effort.ttft_requests):
        request = target.request(prompt.body())
        begun_ns = monotonic_ns()
        async with connections(target.port, 1) as (connection,):
            reply = whole(await connection.ask(request), _CHUNKS)
        new.append(reply.first_ns - begun_ns)
        await asyncio.sleep(effort.pause_s)
    return percentiles("kept", kept, 1000, "us") | percentiles("new", new, 1000, "us")


TTFT: Final = Metric("ttft", "first token of an 8k-token prompt, kept and new connection", _measure)
