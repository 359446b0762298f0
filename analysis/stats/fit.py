"""A straight line through measured points: what one more of x costs, and what is there without any.

One rule: a line that the points do not carry is refused, with the reason; one that bends says so, and
has a slope for each stretch instead of one that is true nowhere.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from dataclasses import dataclass
from math import hypot
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from .sample import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .robust import Floats

FEWEST: Final = 12
"""Points that a line takes; so many are in each stretch of one that bends."""

FEWEST_PLACES: Final = 4
"""Different x among them: two places have a line, but no word on whether it bends."""

LEAST_SPAN: Final = 1.5
"""Largest x over smallest: what is nearly one place says nothing of the way between two."""

MOST_POINTS: Final = 300
"""Of more an even selection stands for all: pairs grow with the square."""

LEAST_SHARE: Final = 1 / 3
"""Of the slope, that must be left at the low end of its interval: with no slope at all that is so once
in 500 times, where an interval that only leaves out zero lies above it once in 40."""

_SURE_OF_BEND: Final = 0.99

Why = Literal["few", "narrow", "flat", "bent"]
"""Too few points; all at nearly one place; y does not grow beyond its noise; it bends, and the points
are too few to say how much where."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why there is no line."""

    why: Why
    reason: str
    """The same in words, of points, x and y."""
    n: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """One piece of a line that bends."""

    at_x: float
    """The middle of its points: there the slope is its own."""
    slope: float
    slope_low: float
    slope_high: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A line. All intervals are of 95 %."""

    slope: float
    """In the middle of the points, if it bends."""
    slope_low: float
    slope_high: float
    intercept: float | None
    """None if it bends: no point lies where the line would have to be followed to."""
    intercept_low: float | None
    intercept_high: float | None
    n: int
    low_x: float
    high_x: float
    stretches: tuple[Stretch, ...] = ()
    """Two or three from small x to large, if it bends; else none."""

    @property
    def curved(self) -> bool:
        """Whether the slope is another at another x, as far as the points can tell."""
        return bool(self.stretches)


def slope_at(stretches: Sequence[Stretch], x: float) -> tuple[float, float, float]:
    """Slope of a line that bends, with its 95 % interval, at one place.

    Between the middles of two stretches it is laid between their slopes; before the first middle and
    behind the last it is theirs. So a parabola has its own slope at each place between.
    """
    right = bisect_left(stretches, x, key=lambda s: s.at_x)
    if right in {0, len(stretches)}:
        only = stretches[min(right, len(stretches) - 1)]
        return only.slope, only.slope_low, only.slope_high
    one, two = stretches[right - 1], stretches[right]
    share = (x - one.at_x) / (two.at_x - one.at_x)
    slope = one.slope + share * (two.slope - one.slope)
    # Two stretches share no point, so their errors are not off together.
    below = hypot((1 - share) * (one.slope - one.slope_low), share * (two.slope - two.slope_low))
    above = hypot((1 - share) * (one.slope_high - one.slope), share * (two.slope_high - two.slope))
    return slope, slope - below, slope + above


def line(x: Sequence[float], y: Sequence[float]) -> Fit | Unfit:
    """The line through points in any order; x is above 0.

    The line is that of medians: at each x as many points lie above it as below. So the intercept holds
    the median of whatever waits are added, not their mean.
    """
    if refused := _refused(x):
        return refused
    from . import robust  # noqa: PLC0415 # scipy takes a second to load: only who needs it waits

    xs, ys = robust.thinned(x, y, MOST_POINTS)
    found = robust.slope(xs, ys, CONFIDENCE)
    if found.low <= max(0.0, found.value * LEAST_SHARE):
        return Unfit("flat", "y does not grow with x beyond its noise", len(x))
    low_x, high_x = float(xs[0]), float(xs[-1])
    if robust.bend(xs, ys - found.value * xs, _SURE_OF_BEND):
        stretches = _stretches(xs, ys)
        if not stretches:
            return Unfit("bent", f"the line bends, and {len(x)} points do not say where", len(x))
        at = stretches[len(stretches) // 2]
        slope = (at.slope, at.slope_low, at.slope_high)
        return Fit(*slope, None, None, None, len(x), low_x, high_x, stretches)
    base = robust.intercept(xs, ys, CONFIDENCE)
    return Fit(*found, *base, len(x), low_x, high_x)


def _refused(x: Sequence[float]) -> Unfit | None:
    if len(x) < FEWEST:
        return Unfit("few", f"{len(x)} points, {FEWEST} are needed", len(x))
    if len(set(x)) < FEWEST_PLACES or max(x) < LEAST_SPAN * min(x):
        return Unfit("narrow", f"x is {min(x):,.0f} to {max(x):,.0f}: too much alike", len(x))
    return None


def _stretches(xs: Floats, ys: Floats) -> tuple[Stretch, ...]:
    """Thirds or halves of the points, by x; none if they would be too thin."""
    from . import robust  # noqa: PLC0415 # as above

    pieces = min(3, len(xs) // FEWEST)
    if pieces < 2:
        return ()
    cuts = [len(xs) * piece // pieces for piece in range(pieces + 1)]
    found = []
    for start, end in itertools.pairwise(cuts):
        x, y = xs[start:end], ys[start:end]
        if len(set(x.tolist())) < FEWEST_PLACES:
            return ()
        found.append(Stretch(float(median(x)), *robust.slope(x, y, CONFIDENCE)))
    return tuple(found)
