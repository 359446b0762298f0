"""Delay of each chunk in paced streams, and what relaying them costs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bench.client import connections
from bench.prompts import short
from bench.script import Script

from .base import Metric, percentiles, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.client import Reply
    from bench.field import Target

    from .base import Effort

INTERVAL_US: Final = 20_000
_COSTED: Final = 64
"""The number of streams at which CPU is taken."""
_OPENING: Final = 10
"""Chunks of each stream that are not counted: the requests all come at once, and that is no pace."""


async def _measure(target: Target, effort: Effort) -> dict[str, float]:
    figures: dict[str, float] = {}
    for streams, seconds in effort.levels:
        script = Script(int(seconds * 1e6 / INTERVAL_US), INTERVAL_US)
        before = await target.tree.settled() if target.tree else None
        delays = _delays(await _stream(target, streams, script))
        figures |= percentiles(f"n{streams}", delays, 1000, "us")
        if target.tree and before and streams == _COSTED:
            spent = (await target.tree.settled()).since(before)
            millions = streams * script.chunks / 1e6
            figures |= {
                "relay_s_per_m": spent.relay_s / millions,
                "total_s_per_m": spent.total_s / millions,
            }
    return figures


async def _stream(target: Target, streams: int, script: Script) -> list[Reply]:
    request = target.request(short(script))
    async with connections(target.port, streams) as opened:
        replies = await asyncio.gather(*[connection.ask(request) for connection in opened])
    return [whole(reply, script.chunks) for reply in replies]


def _delays(replies: Iterable[Reply]) -> list[int]:
    return [delay for reply in replies for delay in reply.delays_ns[_OPENING:]]


CHUNKS: Final = Metric("chunks", "delay of each chunk at 1 to 256 paced streams, and CPU", _measure)
