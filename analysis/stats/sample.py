"""A sample of one figure: its middle, and how far the true middle may be from it.

One rule: no shape is assumed. Latencies have one long tail, so an interval of theirs comes from ranks
or from resampling, never from a standard deviation.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE: Final = 0.95
"""Of all intervals here."""

FEWEST: Final = 6
"""Values from which on ranks give an interval of the median: of 5, even all five cover only 94 %."""

ENOUGH_FOR_RATIO: Final = 20
"""Pairs from which on a resampled ratio has an interval that covers."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The middle of some values."""

    n: int
    median: float
    low: float | None
    """With `high` the 95 % interval of the median, by ranks; None below 6 values."""
    high: float | None


@dataclass(frozen=True, slots=True)
class Ratio:
    """One sum over another."""

    value: float
    low: float
    """With `high` its 95 % interval."""
    high: float


def sample(values: Sequence[float]) -> Sample | None:
    """The middle of values and its interval; None without values."""
    if not values:
        return None
    middle = statistics.median(values)
    if len(values) < FEWEST:
        return Sample(len(values), middle, None, None)
    from . import robust  # noqa: PLC0415 # scipy takes a second to load: only who needs it waits

    low, high = robust.median_interval(values, CONFIDENCE)
    return Sample(len(values), middle, low, high)


def quantile(values: Sequence[float], percent: int) -> float | None:
    """A percentile, 1 to 99, interpolated between two values; None without values."""
    if len(values) < 2:
        return values[0] if values else None
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio | None:
    """Sum over sum of pairs, resampled as pairs; None below 20 pairs.

    Deterministic: the same pairs always give the same interval. `under` is above 0.
    """
    if len(over) < ENOUGH_FOR_RATIO:
        return None
    from . import robust  # noqa: PLC0415 # as above

    low, high = robust.ratio_interval(over, under, CONFIDENCE)
    return Ratio(sum(over) / sum(under), low, high)
