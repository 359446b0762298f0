"""Big requests: pictures of some megabytes, one at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bench.client import connections
from bench.prompts import picture
from bench.script import Script

from .base import Metric, percentiles

if TYPE_CHECKING:
    from bench.field import Target

    from .base import Effort

_PAUSE_S_PER_MB: Final = 0.01


async def _measure(target: Target, effort: Effort) -> dict[str, float]:
    figures: dict[str, float] = {}
    for megabytes, count in effort.bodies:
        request = target.request(picture(Script(0), megabytes * 1_000_000))
        took: list[int] = []
        async with connections(target.port, 1) as (connection,):
            for _ in range(count + 1):
                reply = await connection.ask(request)
                took.append(reply.ended_ns - reply.asked_ns)
                await asyncio.sleep(_PAUSE_S_PER_MB * megabytes)
        # The first one also opens the window of both connections: not what is asked here.
        took = took[1:] if count > 1 else took
        figures[f"mb{megabytes}_p50_ms"] = percentiles("", took, 10**6, "ms")["_p50_ms"]
    return figures


BODIES: Final = Metric("bodies", "requests of 2 MB and 50 MB, to the end of the reply", _measure)
