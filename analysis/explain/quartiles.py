"""Median and quartiles of one figure over turns.

One rule: a figure is first worked out for each turn and then summarised. The factor of an average turn
is no turn's factor: a mean of F and of D has a share of decode that nobody waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The middle half of a figure, in the figure's own unit."""

    low: float
    """A quarter of the turns has less."""
    median: float
    high: float
    """A quarter of the turns has more."""


def quartiles(values: Sequence[float]) -> Quartiles:
    """Of at least one value. Between two values it is interpolated: they are all there were.

    Between a number and infinity nothing can be: then the lower one of the two stands there.
    """
    if len(values) == 1 or inf in values:
        ordered = sorted(values)
        return Quartiles(*(ordered[(len(ordered) - 1) * quarter // 4] for quarter in (1, 2, 3)))
    return Quartiles(*quantiles(values, n=4, method="inclusive"))
