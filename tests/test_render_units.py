"""Numbers as text: each with its unit."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from analysis.render import units
from tests.support.builders import AT_UNIX_NS, MS, S


@pytest.mark.parametrize(
    ("ns", "expected"),
    [
        (0, "0 s"),
        (400_000, "0.4 ms"),
        (12 * MS, "12 ms"),
        (180 * MS, "0.18 s"),
        (6_084 * MS, "6.1 s"),
        (128 * S, "128 s"),
        (5000 * S, "5,000 s"),
    ],
)
def test_durations_in_sentences(ns, expected):
    """As many figures as mean something."""
    assert units.duration(ns) == expected


def test_a_column_has_one_unit():
    """Seconds from half a second on, milliseconds below; what is unknown is a dash."""
    seconds, short = units.scale_for(16 * S), units.scale_for(499 * MS)

    assert [seconds.text(n) for n in (4_247 * MS, 0, None)] == ["4.25 s", "0.00 s", "-"]
    assert short.text(12_345_678) == "12.3 ms"
    assert seconds.least_shown_ns == pytest.approx(5 * MS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (units.count(6603), "6,603"),
        (units.count(None), "-"),
        (units.plural(1, "tool"), "1 tool"),
        (units.plural(31, "tool"), "31 tools"),
        (units.plural(2, "entry", "entries"), "2 entries"),
        (units.percent(0.698), "70 %"),
        (units.percent(0.001), "< 1 %"),
        (units.percent(0.0), "0 %"),
        (units.speed(37.69), "37.7 tok/s"),
        (units.factor(1.606), "1.61 x"),
        (units.per_token(640_000), "0.64 ms"),
        (units.per_token(54_321), "54.3 us"),
    ],
)
def test_numbers_carry_their_unit(text, expected):
    """Counts, shares, speeds, factors."""
    assert text == expected


def test_moments_are_in_a_zone():
    """The same moment on two clocks; None is the machine's own and has the same shape."""
    east = timezone(timedelta(hours=2))

    assert units.moment(AT_UNIX_NS, UTC) == "2026-09-21 14:13:20"
    assert units.time_of_day(AT_UNIX_NS, east) == "16:13:20"
    assert len(units.moment(AT_UNIX_NS, None)) == 19


@pytest.mark.parametrize(
    ("length_s", "expected"),
    [
        (0, "less than a second"),
        (1, "1 second"),
        (41, "41 seconds"),
        (12 * 60, "12 minutes"),
        (5 * 3600, "5 hours"),
        (3 * 86400, "3 days"),
    ],
)
def test_spans_are_rough(length_s, expected):
    """One unit is enough to know how long was recorded."""
    assert units.span(length_s * S) == expected
