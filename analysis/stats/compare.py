"""Two sides of a change, stratum by stratum: by what factor times differ, with an interval.

One rule: a stratum is compared with itself alone; what stands on one side only is no evidence.

Times of turns are skewed, so their logarithms are compared: the factor is one of geometric means, and its
interval is Welch's for strata (Student's t, the degrees of freedom after Satterthwaite).
Road not taken: a bootstrap of means, which covers 88 to 92 % where single turns take ten times as long as others.
"""

from __future__ import annotations

from math import exp, hypot, log, sqrt
from statistics import fmean, variance
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE: Final = 0.95
FEWEST: Final = 5
"""Times on each side of a stratum; with fewer its scatter is not known."""


class Stratum(NamedTuple):
    """Times above 0 of like turns on both sides."""

    before: Sequence[float]
    after: Sequence[float]

    @property
    def weight(self) -> float:
        """As much as the thinner side knows."""
        return len(self.before) * len(self.after) / (len(self.before) + len(self.after))


class Change(NamedTuple):
    """After over before, and before less after."""

    factor: float
    low: float
    high: float
    before: float
    """Geometric mean, strata weighed alike on both sides."""
    after: float
    saved_low: float
    """Of `before - after`; both sides scatter."""
    saved_high: float

    @property
    def shown(self) -> bool:
        """Whether a difference is shown: 1 lies outside of the interval."""
        return self.low > 1 or self.high < 1


class _Mean(NamedTuple):
    """A weighed mean of logarithms, and how far off it may be."""

    value: float
    parts: tuple[tuple[float, int], ...]
    """Of each stratum: its share of the variance, and the degrees of freedom of that."""


def change(strata: Sequence[Stratum]) -> Change | None:
    """Over one or more strata; None when none has `FEWEST` times on both sides."""
    enough = [s for s in strata if min(len(s.before), len(s.after)) >= FEWEST]
    if not enough:
        return None
    whole = sum(s.weight for s in enough)
    shares = [s.weight / whole for s in enough]
    before = _mean([s.before for s in enough], shares)
    after = _mean([s.after for s in enough], shares)
    middle, off = after.value - before.value, _off((*before.parts, *after.parts))
    b, a = exp(before.value), exp(after.value)
    below, above = _ends(before), _ends(after)
    # MOVER (Zou and Donner 2008): the interval of a difference from those of its two sides.
    return Change(
        exp(middle),
        exp(middle - off),
        exp(middle + off),
        b,
        a,
        b - a - hypot(b - below[0], above[1] - a),
        b - a + hypot(below[1] - b, a - above[0]),
    )


def _mean(sides: Sequence[Sequence[float]], shares: Sequence[float]) -> _Mean:
    logs = [[log(time) for time in side] for side in sides]
    return _Mean(
        sum(share * fmean(each) for each, share in zip(logs, shares, strict=True)),
        tuple(
            (share**2 * variance(each) / len(each), len(each) - 1)
            for each, share in zip(logs, shares, strict=True)
        ),
    )


def _ends(mean: _Mean) -> tuple[float, float]:
    off = _off(mean.parts)
    return exp(mean.value - off), exp(mean.value + off)


def _off(parts: Sequence[tuple[float, int]]) -> float:
    """Half the interval: Student's t with the degrees of freedom after Satterthwaite."""
    from scipy import special  # type: ignore[import-untyped] # noqa: PLC0415 # half a second: only who needs it waits

    spread = sum(part for part, _ in parts)
    if not spread:
        return 0.0
    freedom = spread**2 / sum(part**2 / n for part, n in parts)
    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * sqrt(spread)
