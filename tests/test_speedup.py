"""The whole-turn formula against the field report's figures."""

from __future__ import annotations

from math import inf

import pytest

from analysis.explain.speedup import ceiling, whole_turn

FIXED_S = 6.084
DECODE_S = 10.003


@pytest.mark.parametrize(
    ("measured", "s", "expected"),
    [
        ("before", 1.11, 1.07),
        ("before", 1.42, 1.23),
        ("before", 2.58, 1.61),
        ("after", 1.11, 1.07),
        ("after", 1.42, 1.26),
        ("after", 2.58, 1.98),
    ],
)
def test_gives_the_field_reports_figures(measured, s, expected):
    """Each side's form gives what the field report prints for it."""
    assert round(whole_turn(FIXED_S, DECODE_S, s, measured), 2) == expected


def test_the_other_sides_form_promises_too_much():
    """F = 2, D = 10, s = 3 on the slow side is 2.25; the fast side's form would say 2.67."""
    assert whole_turn(2, 10, 3, "before") == pytest.approx(2.25)
    assert whole_turn(2, 10, 3, "after") == pytest.approx(2.667, abs=1e-3)


def test_before_is_the_default():
    """A journal of today's turns is the slow side unless the caller says otherwise."""
    assert whole_turn(2, 10, 3) == whole_turn(2, 10, 3, "before")


def test_no_decode_speed_goes_beyond_the_ceiling():
    """The ceiling is (F + D) / F, and a decode that is a million times as fast stays below it."""
    most = ceiling(FIXED_S, DECODE_S)

    assert most == pytest.approx(16.087 / 6.084)
    assert whole_turn(FIXED_S, DECODE_S, 1e6) < most
    assert ceiling(0, 1) == inf


@pytest.mark.parametrize(("fixed", "decode", "s"), [(0, 0, 2), (-1, 2, 2), (2, -1, 2), (1, 1, 0)])
def test_refuses_what_is_no_turn(fixed, decode, s):
    """No time, negative time or a speedup of nothing is a mistake of the caller."""
    with pytest.raises(ValueError, match="no speedup"):
        whole_turn(fixed, decode, s)


def test_refuses_a_ceiling_of_no_turn():
    """A turn without time has no ceiling."""
    with pytest.raises(ValueError, match="no speedup"):
        ceiling(0, 0)
