"""What a metric is: one measurement of one contestant in one round, as named figures.

One rule: the unit is the end of the name. Nothing is compared here; that is for `ratios`.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.client import BrokenReplyError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bench.client import Reply
    from bench.field import Target

_RARE: Final = 1000
"""So few values have no 99.9th percentile."""


@dataclass(frozen=True)
class Effort:
    """How much is measured in one round for one contestant."""

    ttft_requests: int
    """For each kind of connection."""
    pause_s: float
    """Between two requests, as people and agents make pauses: time in which a recorder may work."""
    levels: tuple[tuple[int, float], ...]
    """Paced streams at once, and seconds."""
    closed_loop_s: float
    paced_requests: int
    """For their CPU."""
    bodies: tuple[tuple[int, int], ...]
    """MB, and how many."""
    slow_streams: int
    recorded: int
    """Exchanges of 400 chunks for the recorder."""


FULL: Final = Effort(
    ttft_requests=120,
    pause_s=0.01,
    levels=((1, 2.0), (8, 2.0), (32, 1.6), (64, 4.0), (256, 1.6)),
    closed_loop_s=1.5,
    paced_requests=1000,
    bodies=((2, 15), (50, 3)),
    slow_streams=1000,
    recorded=32,
)
QUICK: Final = Effort(
    ttft_requests=20,
    pause_s=0.01,
    levels=((1, 0.6), (64, 0.8)),
    closed_loop_s=0.4,
    paced_requests=200,
    bodies=((2, 3), (50, 1)),
    slow_streams=100,
    recorded=4,
)


@dataclass(frozen=True)
class Metric:
    """One kind of load."""

    name: str
    told: str
    """What it does, in a line of `--help`."""
    measure: Callable[[Target, Effort], Awaitable[dict[str, float]]]
    fresh: bool = False
    """Whether it wants a process that has done nothing yet."""
    of_recorders: bool = False
    """Whether it says nothing of a contestant without a recorder."""


def percentiles(name: str, values_ns: Sequence[int], per: int, unit: str) -> dict[str, float]:
    """p50, p99 and, where there are enough values, p99.9; `per` is ns in the unit."""
    cuts = statistics.quantiles(values_ns, n=1000, method="inclusive")
    wanted = {"p50": 499, "p99": 989} | ({"p999": 998} if len(values_ns) >= _RARE else {})
    return {f"{name}_{label}_{unit}": cuts[index] / per for label, index in wanted.items()}


def whole(reply: Reply, chunks: int) -> Reply:
    """The reply, if all its chunks came. Raises BrokenReplyError."""
    if len(reply.delays_ns) != chunks:
        raise BrokenReplyError(f"{len(reply.delays_ns)} of {chunks} chunks came")
    return reply
