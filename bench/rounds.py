"""The rounds: every contestant in every metric, in an order that is drawn anew each time.

One rule: whoever is measured, all others are idle and up. A fault is a result: the rounds go on.
"""

from __future__ import annotations

import asyncio
import gc
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .client import BrokenReplyError
from .field import StartError
from .result import Measurement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from .contestants import Contestant
    from .field import Field
    from .metrics import Effort, Metric

_AT_MOST_S: Final = 120.0
"""For one metric of one contestant."""
_FAULTS: Final = (BrokenReplyError, StartError, OSError, TimeoutError)


@dataclass(frozen=True)
class Plan:
    """What is to be run."""

    contestants: Sequence[Contestant]
    metrics: Sequence[Metric]
    rounds: int
    seed: int
    effort: Effort


async def run(plan: Plan, field: Field, say: Callable[[str], None]) -> AsyncIterator[Measurement]:
    """Run it; each measurement is given as soon as it is had."""
    drawing = random.Random(plan.seed)  # noqa: S311  an order, no secret
    for contestant in plan.contestants:
        say(f"starting {contestant.name}")
        if (fault := await _start(field, contestant)) is not None:
            say(f"  {fault}")
    for number in range(1, plan.rounds + 1):
        for metric in plan.metrics:
            order = drawing.sample(plan.contestants, len(plan.contestants))
            say(f"round {number}/{plan.rounds} {metric.name}: {', '.join(c.name for c in order)}")
            for contestant in order:
                measured = await _measure(number, metric, contestant, plan.effort, field)
                if measured is None:
                    continue
                if measured.fault:
                    say(f"  {contestant.name}: {measured.fault}")
                yield measured


async def _start(field: Field, contestant: Contestant) -> str | None:
    """Start it (again); gives what went wrong, None if nothing did."""
    try:
        async with asyncio.timeout(_AT_MOST_S):
            await field.restart(contestant)
    except _FAULTS as error:
        field.stop([contestant.name])
        return str(error) or type(error).__name__
    return None


async def _measure(
    number: int, metric: Metric, contestant: Contestant, effort: Effort, field: Field
) -> Measurement | None:
    """One cell; None where the metric has nothing to say of this contestant."""

    def measured(values: dict[str, float], fault: str | None = None) -> Measurement:
        name = contestant.name
        return Measurement(
            round=number, metric=metric.name, contestant=name, values=values, fault=fault
        )

    if metric.fresh and contestant.command is not None:
        await _start(field, contestant)
    target = field.ready(contestant)
    if target is None:
        return measured({}, "it does not run")
    if metric.of_recorders and (target.tree is None or not target.tree.has_recorder):
        return None
    gc.collect()
    gc.disable()
    try:
        async with asyncio.timeout(_AT_MOST_S):
            values = await metric.measure(target, effort)
            if target.tree is not None and target.tree.has_recorder:
                await target.tree.settled()
    except _FAULTS as error:
        return measured({}, str(error) or type(error).__name__)
    finally:
        gc.enable()
    return measured(values)
