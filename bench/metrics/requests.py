"""Short requests: how many a second without a pause, and what each costs at a pace.

One rule: cost is taken at the same pace for all. Without a pause a fast contestant never sleeps, and
neither do the ends; a slow one pays for waking them each time, and would be charged for being slow twice.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bench.client import connections
from bench.clock import monotonic_ns
from bench.prompts import short
from bench.script import Script

from .base import Metric

if TYPE_CHECKING:
    from bench.client import Connection
    from bench.field import Target

    from .base import Effort

_CONNECTIONS: Final = 8
_INTERVAL_S: Final = 0.016
"""Of each connection: 500 requests a second in all."""


async def _measure(target: Target, effort: Effort) -> dict[str, float]:
    request = target.request(short(Script(0)))
    async with connections(target.port, _CONNECTIONS) as opened:
        until_ns = monotonic_ns() + int(effort.closed_loop_s * 1e9)
        done = sum(await asyncio.gather(*[_ask(each, request, until_ns) for each in opened]))
        figures = {"per_s": done / effort.closed_loop_s}
        if target.tree is None:
            return figures
        before = await target.tree.settled()
        rounds = int(effort.paced_requests / _CONNECTIONS)
        await asyncio.gather(*[_pace(n, each, request, rounds) for n, each in enumerate(opened)])
    spent = (await target.tree.settled()).since(before)
    thousands = rounds * _CONNECTIONS / 1e3
    return figures | {
        "relay_s_per_k": spent.relay_s / thousands,
        "total_s_per_k": spent.total_s / thousands,
    }


async def _ask(connection: Connection, request: bytes, until_ns: int) -> int:
    done = 0
    while monotonic_ns() < until_ns:
        await connection.ask(request)
        done += 1
    return done


async def _pace(number: int, connection: Connection, request: bytes, count: int) -> None:
    """One request after the other at set times, evenly between those of the other connections."""
    loop = asyncio.get_running_loop()
    begun = loop.time() + number * _INTERVAL_S / _CONNECTIONS
    for done in range(count):
        await asyncio.sleep(begun + done * _INTERVAL_S - loop.time())
        await connection.ask(request)


REQUESTS: Final = Metric("requests", "short requests on 8 connections: rate and CPU", _measure)
