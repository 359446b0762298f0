"""The numeric core: scipy's estimators, with intervals that cover where noise grows with the figure.

One rule: this is the only module that knows numpy, and nobody imports it before there is something to
compute, or while a long journal is being read anyway: the two take a second to load.

Sen's interval of a slope (scipy's own) counts how far Kendall's S can be from zero if all errors are
alike. Waits are not: they scatter in proportion to their length, and then his interval covers 88 %
instead of 95 % where most prompts are short. So the spread of S is taken from the ranks themselves:
S is a sum over pairs, the part of each point in it is known, and the parts are nearly independent.
Resampling pairs covers as well, at many times the work: it is left to what ranks cannot give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special, stats  # type: ignore[import-untyped] # scipy has no types of its own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SPENT: Final = 4
"""Points that the slope takes from its own spread, as two are taken in least squares: with two, 24 points
cover 94 % in the mean of the known truths, with four 95 %."""

_WIDEST: Final = 30.0
"""Standard deviations at which the interval is all slopes there are."""

_MOST_RESAMPLED: Final = 150
"""Points of which draws are made: of more an even selection, as everywhere."""

_RESAMPLES: Final = 199

_SEED: Final = 20_260_101
"""Of resampling: any number does, as long as it stays."""


class Slope(NamedTuple):
    """The median of the slopes of all pairs, and its interval."""

    value: float
    low: float
    high: float


def thinned(
    x: Sequence[float] | Floats, y: Sequence[float] | Floats, most: int
) -> tuple[Floats, Floats]:
    """Points in the order of x; of more than `most` an even selection, the ends included."""
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    order = np.lexsort((ys, xs))
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).round().astype(int)]
    return xs[order], ys[order]


def slope(x: Floats, y: Floats, confidence: float) -> Slope:
    """Theil-Sen, with an interval for errors that need not be alike. At least 3 different x."""
    between = np.median(_slopes(x, y))
    alike = _spread_if_alike(x, y)
    wider = _spread(x, y - between * x) / alike if alike else 1.0
    z = special.stdtrit(len(x) - 2, (1 + confidence) / 2) * wider
    # scipy takes a confidence and makes a z of it: it is told the one that gives the z wanted here.
    told = 2 * special.ndtr(-min(z, _WIDEST))
    found = stats.theilslopes(y, x, alpha=told)
    return Slope(float(found.slope), float(found.low_slope), float(found.high_slope))


def intercept(x: Floats, y: Floats, confidence: float) -> Slope:
    """The median of y - b x, b being the slope, and its interval: pairs are resampled.

    The median of the intercepts of all pairs would have an interval by ranks, as the slope has; but
    where waits are added that are skewed, as in a queue, it lies beside the truth.
    """
    found = np.median(y - np.median(_slopes(x, y)) * x)
    x, y = thinned(x, y, _MOST_RESAMPLED)
    n = len(x)
    drawn = np.random.default_rng(_SEED).integers(0, n, (_RESAMPLES, n))
    slopes = _resampled_slopes(x, y, drawn)
    intercepts = np.median(y[drawn] - slopes[:, None] * x[drawn], axis=1)
    low, high = np.quantile(intercepts, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Slope(float(found), float(low), float(high))


def bend(x: Floats, residual: Floats, confidence: float) -> int:
    """1 if what a line leaves over is larger at both ends than in the middle, -1 if smaller, else 0.

    By ranks of x: squares of x would leave the test to the few longest prompts.
    """
    from_middle = np.abs(stats.rankdata(x) / len(x) - 0.5)
    found = slope(from_middle, residual, confidence)
    return int(found.low > 0) - int(found.high < 0)


def median_interval(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Between two of the values, by the binomial distribution of ranks: exact for any shape."""
    tested = stats.quantile_test(np.asarray(values, np.float64), p=0.5)
    low, high = tested.confidence_interval(confidence_level=confidence)
    return float(low), float(high)


def ratio_interval(
    over: Sequence[float], under: Sequence[float], confidence: float
) -> tuple[float, float]:
    """Of sum over sum, pairs being resampled."""
    pairs = (np.asarray(over, np.float64), np.asarray(under, np.float64))
    found = stats.bootstrap(
        pairs, _sum_over_sum, paired=True, vectorized=True, n_resamples=999, method="percentile",
        confidence_level=confidence, rng=np.random.default_rng(_SEED),
    ).confidence_interval  # fmt: skip
    return float(found.low), float(found.high)


def _sum_over_sum(over: Floats, under: Floats, axis: int = -1) -> Floats:
    ratio: Floats = over.sum(axis=axis) / under.sum(axis=axis)
    return ratio


def _slopes(x: Floats, y: Floats) -> Floats:
    """Of all pairs with different x."""
    right = x[:, None] > x
    slopes: Floats = (y[:, None] - y)[right] / (x[:, None] - x)[right]
    return slopes


def _resampled_slopes(x: Floats, y: Floats, drawn: NDArray[np.int64]) -> Floats:
    """Theil-Sen of each draw: the slopes of pairs stay what they are, only how often each is there differs."""
    n = len(x)
    slopes = _slopes(x, y)
    order = np.argsort(slopes)
    one, two = (ends[order] for ends in np.nonzero(x[:, None] > x))
    places = drawn + n * np.arange(len(drawn))[:, None]
    times = (
        np.bincount(places.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float32)
    )
    upto = np.cumsum(times[:, one] * times[:, two], axis=1)
    middle: Floats = slopes[order][(upto >= upto[:, -1:] / 2).argmax(axis=1)]
    return middle


def _spread(x: Floats, residual: Floats) -> float:
    """Standard deviation of Kendall's S, whatever the errors are.

    S is half the sum of all points' parts. Their squares count each pair twice where once is right;
    with errors that are alike the rest is n (n - 1) (2 n + 5) / 18 in the mean, as Kendall has it.
    """
    n = len(x)
    signs = np.sign(x[:, None] - x) * np.sign(residual[:, None] - residual)
    parts = signs.sum(axis=1)
    pairs = np.abs(signs).sum() / 2
    return float(np.sqrt(max(parts @ parts - pairs, 1.0) * n / (n - _SPENT)))


def _spread_if_alike(x: Floats, y: Floats) -> float:
    """The same as scipy takes it: Sen's formula with its correction for ties."""
    n = len(x)
    variance = (n * (n - 1) * (2 * n + 5) - _tied(x) - _tied(y)) / 18
    return float(np.sqrt(max(variance, 0.0)))


def _tied(values: Floats) -> int:
    counts = np.unique(values, return_counts=True)[1]
    return int((counts * (counts - 1) * (2 * counts + 5)).sum())
