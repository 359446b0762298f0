"""What the recorder spends on one exchange: a long prompt whose prefix it has seen, and 400 chunks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bench.client import connections
from bench.prompts import LongPrompt
from bench.script import Script

from .base import Metric, whole

if TYPE_CHECKING:
    from bench.field import Target

    from .base import Effort

_SCRIPT: Final = Script(400, 5_000)
_AT_ONCE: Final = 16


async def _measure(target: Target, effort: Effort) -> dict[str, float]:
    if target.tree is None:
        return {}
    prompt = LongPrompt(_SCRIPT)
    requests = [target.request(prompt.body()) for _ in range(effort.recorded)]
    before = await target.tree.settled()
    while requests:
        now, requests = requests[:_AT_ONCE], requests[_AT_ONCE:]
        async with connections(target.port, len(now)) as opened:
            pairs = zip(opened, now, strict=True)
            for reply in await asyncio.gather(*[each.ask(request) for each, request in pairs]):
                whole(reply, _SCRIPT.chunks)
    spent = (await target.tree.settled()).since(before)
    return {"cpu_ms": spent.recorder_s / effort.recorded * 1e3}


RECORDER: Final = Metric(
    "recorder",
    "CPU of the recorder for an 8k-token prompt seen before and 400 chunks",
    _measure,
    of_recorders=True,
)
