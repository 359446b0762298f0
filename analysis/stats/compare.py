"""Two sides of a change, stratum by stratum: by what factor times differ, with an interval.

One rule: a stratum is compared with itself alone; what stands on one side only is no evidence.

Times of turns are skewed, so their logarithms are compared: the factor is one of geometric means, and its
interval is Welch's for strata (Student's t, the degrees of freedom after Satterthwaite).
Road not taken: a bootstrap of means, which covers 88 to 92 % where single turns take ten times as long as others.
"""

from __future__ import annotations

from math import exp, log, sqrt
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
    """After over before."""

    factor: float
    low: float
    high: float
    before: float
    """Geometric mean, strata weighed alike on both sides."""
    after: float

    @property
    def shown(self) -> bool:
        """Whether a difference is shown: 1 lies outside of the interval."""
        return self.low > 1 or self.high < 1


def change(strata: Sequence[Stratum]) -> Change | None:
    """Over one or more strata; None when none has `FEWEST` times on both sides."""
    enough = [s for s in strata if min(len(s.before), len(s.after)) >= FEWEST]
    if not enough:
        return None
    from scipy import special  # type: ignore[import-untyped] # noqa: PLC0415 # half a second: only who needs it waits

    whole = sum(s.weight for s in enough)
    sides = [
        ([log(t) for t in s.before], [log(t) for t in s.after], s.weight / whole) for s in enough
    ]
    before = sum(share * fmean(b) for b, _, share in sides)
    after = sum(share * fmean(a) for _, a, share in sides)
    parts = [
        (share**2 * variance(each) / len(each), len(each) - 1)
        for b, a, share in sides
        for each in (b, a)
    ]
    spread = sum(part for part, _ in parts)
    freedom = spread**2 / sum(part**2 / n for part, n in parts) if spread else 1.0
    t = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) if spread else 0.0
    middle, off = after - before, t * sqrt(spread)
    return Change(exp(middle), exp(middle - off), exp(middle + off), exp(before), exp(after))
