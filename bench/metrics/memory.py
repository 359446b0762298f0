"""What a thousand slow streams hold in memory."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from bench.client import connections
from bench.prompts import short
from bench.script import Script

from .base import Metric, whole

if TYPE_CHECKING:
    from bench.field import Target

    from .base import Effort

_SLOW: Final = Script(3, 1_000_000)


async def _measure(target: Target, effort: Effort) -> dict[str, float]:
    if target.tree is None:
        return {}
    request = target.request(short(_SLOW))
    async with connections(target.port, effort.slow_streams) as opened:
        asked = asyncio.gather(*[connection.ask(request) for connection in opened])
        await asyncio.sleep(_SLOW.interval_us / 1e6 * 2)
        held = target.tree.memory()
        for reply in await asked:
            whole(reply, _SLOW.chunks)
    figures = asdict(held)
    if not target.tree.has_recorder:
        del figures["recorder_rss_mb"]
    return figures


MEMORY: Final = Metric("memory", "1,000 slow streams, in a new process", _measure, fresh=True)
