"""Lines and samples by hand: what is found, what is refused, what is said of a bend."""

from __future__ import annotations

import random

import pytest

from analysis.stats.fit import Fit, Stretch, Unfit, line, slope_at
from analysis.stats.sample import quantile, ratio, sample

X = [100.0 * n for n in range(1, 41)]


def noisy(y, seed=1):
    """A little noise, so that an interval has a width."""
    draw = random.Random(seed)
    return [value + draw.uniform(-5, 5) for value in y]


def test_a_straight_line_is_found():
    """Slope and intercept lie in intervals around the truth, and the span is said."""
    fit = line(X, noisy([300 + 2 * x for x in X]))

    assert isinstance(fit, Fit)
    assert fit.slope_low < 2 < fit.slope_high
    assert fit.intercept_low < 300 < fit.intercept_high
    assert (fit.n, fit.low_x, fit.high_x, fit.curved) == (40, 100, 4000, False)


def test_a_third_of_outliers_moves_nothing():
    """Stalls of any length leave slope and intercept where they are."""
    y = noisy([300 + 2 * x for x in X])
    for place in range(0, 40, 4):
        y[place] += 50_000

    fit = line(X, y)

    assert fit.slope == pytest.approx(2, rel=0.05)
    assert fit.intercept == pytest.approx(300, rel=0.2)


def test_the_order_of_points_does_not_matter():
    """The same points give the same line, draws included."""
    y = noisy([300 + 2 * x for x in X])
    mixed = list(zip(X, y, strict=True))
    random.Random(7).shuffle(mixed)

    assert line(X, y) == line(*zip(*mixed, strict=True))


def test_a_bend_has_slopes_of_its_own():
    """A parabola is called bent, has no intercept, and its slope grows."""
    fit = line(X, noisy([300 + x * x / 1_000 for x in X]))

    assert fit.curved
    assert fit.intercept is None
    assert [s.slope for s in fit.stretches] == sorted(s.slope for s in fit.stretches)
    assert slope_at(fit.stretches, 2_000)[0] == pytest.approx(4, rel=0.1)


def test_a_slope_between_two_stretches_lies_between_theirs():
    """Before the first middle and behind the last it is theirs."""
    two = (Stretch(10, 1, 0.5, 1.5), Stretch(20, 3, 2.5, 3.5))

    assert [slope_at(two, x)[0] for x in (0, 10, 15, 20, 99)] == [1, 1, 2, 3, 3]
    assert slope_at(two, 15)[1:] == (pytest.approx(2 - 0.5**1.5), pytest.approx(2 + 0.5**1.5))


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        (X[:11], X[:11], "few"),
        ([100.0, 200.0, 300.0] * 8, [1.0, 2.0, 3.0] * 8, "narrow"),
        ([1000.0 + n for n in range(40)], X, "narrow"),
        (X, noisy([900.0] * 40), "flat"),
        (X, [900.0] * 40, "flat"),
        (X, noisy([9_000 - x for x in X]), "flat"),
        (X[:20], noisy([x * x for x in X[:20]]), "bent"),
    ],
    ids=["11 points", "3 places", "alike", "noise", "constant", "falling", "bent and few"],
)
def test_what_carries_no_line_is_refused(x, y, why):
    """With the reason."""
    fit = line(x, y)

    assert isinstance(fit, Unfit)
    assert (fit.why, fit.n) == (why, len(x))


def test_many_points_are_thinned():
    """Ten thousand give a line in no time, over their whole span."""
    x = [float(n) for n in range(1, 10_001)]

    fit = line(x, noisy([300 + 2 * value for value in x]))

    assert (fit.n, fit.low_x, fit.high_x) == (10_000, 1, 10_000)
    assert fit.slope == pytest.approx(2, rel=0.01)


def test_a_median_has_an_interval_from_six_values_on():
    """By ranks: two of the values themselves."""
    assert sample([]) is None
    assert (sample([1, 2, 3, 4, 5]).median, sample([1, 2, 3, 4, 5]).low) == (3, None)
    six = sample([6, 5, 4, 3, 2, 1])
    assert (six.n, six.median, six.low, six.high) == (6, 3.5, 1, 6)


def test_a_ratio_is_resampled_from_twenty_pairs_on():
    """Sum over sum inside its interval, the same each time."""
    under = [10.0 + n for n in range(20)]
    over = noisy([3 * value for value in under])

    found = ratio(over, under)

    assert ratio(over[:19], under[:19]) is None
    assert found.low < found.value < found.high
    assert found == ratio(over, under)


def test_quantiles_lie_between_values():
    """Interpolated; none of nothing."""
    assert [quantile([1, 2, 3], p) for p in (25, 50)] == [1.5, 2]
    assert (quantile([4], 90), quantile([], 90)) == (4, None)
