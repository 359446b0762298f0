"""Fields of the wrong type are fields that are not there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.fields import (
    as_count,
    as_items,
    as_number,
    as_object,
    as_objects,
    as_text,
    first_count,
    scalars,
)

ANYTHING = (None, True, 0, -1, 7, 2.5, 12.0, math.nan, math.inf, 10**400, "x", "", [], [1], {}, {"a": 1})  # fmt: skip


@pytest.mark.parametrize("value", ANYTHING)
def test_a_value_is_itself_or_empty(value):
    """Objects, arrays and strings are themselves under their own name and empty under another."""
    assert as_object(value) == (value if isinstance(value, dict) else {})
    assert as_items(value) == (value if isinstance(value, list) else [])
    assert as_text(value) == (value if isinstance(value, str) else "")


def test_objects_of_an_array():
    """What is no object in an array is passed over."""
    assert as_objects([{"a": 1}, None, "x", {}]) == [{"a": 1}, {}]
    assert as_objects({"a": 1}) == []


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (7, 7), (12.0, 12), (2**53, 2**53)])
def test_counts(value, expected):
    """A count is a whole number, also when it is written with a point; zero is one."""
    assert as_count(value) == expected


@pytest.mark.parametrize(
    "value", [None, True, False, -1, 2.5, math.nan, math.inf, 10**400, "7", [], {}]
)
def test_no_counts(value):
    """Everything else is no count, and not zero."""
    assert as_count(value) is None


def test_numbers():
    """A number keeps its sign and its fraction; booleans and what is not finite are none."""
    assert [as_number(v) for v in (-1, 2.5, 0)] == [-1, 2.5, 0]
    assert [as_number(v) for v in (True, "1", math.nan, -math.inf, 10**400)] == [None] * 5


def test_the_first_place_that_holds_a_count():
    """Places are tried in order; a place of the wrong type is passed over."""
    usage = {"a": {"b": 3}, "c": 4, "d": "x", "zero": 0}

    assert first_count(usage, "a.b", "c") == 3
    assert first_count(usage, "d.e", "a.x", "d", "c") == 4
    assert first_count(usage, "zero", "c") == 0
    assert first_count(usage, "x", "c.y") is None


@given(st.floats() | st.integers())
def test_any_number_is_read(value):
    """No number raises, and a count is never negative."""
    as_number(value)
    assert (as_count(value) or 0) >= 0


def test_scalars_are_numbers_words_and_switches():
    """By their paths, words cut; lists, objects and null are not there."""
    value = {"a": 0, "b": "x" * 99, "c": {"d": False, "e": None, "f": [1]}, "g": 1e300, "c.d": 5}

    assert scalars(value, ("a", "b", "c", "c.d", "c.e", "c.f", "g", "no.where", "a.b")) == {
        "a": 0,
        "b": "x" * 80,
        "c.d": False,
    }
