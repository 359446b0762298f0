"""Which exchanges count as turns, and which turn stands for them all."""

from __future__ import annotations

import pytest

from analysis.explain.turns import median_turn, standing
from tests.support.builders import AT_UNIX_NS, MS, record, timings

NO_TOKEN = timings(first_token_ns=None)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "turn"),
        ({"kind": "hidden"}, "hidden"),
        ({"kind": "not_generation", "generation": "none"}, "not_generation"),
        ({"outcome": "client_gone"}, "turn"),
        ({"error_kind": "incomplete_stream", "generation": "incomplete"}, "cut"),
        ({"error_kind": "upstream_reset"}, "cut"),
        ({"error_kind": "client_disconnect", "timings": NO_TOKEN}, "cut"),
        ({"error_kind": "http_error", "timings": NO_TOKEN, "generation": "none"}, "error"),
        ({"error_kind": "http_error", "timings": NO_TOKEN, "kind": "not_generation"}, "error"),
    ],
)
def test_an_exchange_has_one_standing(changes, expected):
    """What failed counts as that; an answer that was whole before its caller left did not fail."""
    assert standing(record(**changes)) == expected


def lasting(ms, number):
    """A turn of this length, the n-th of its run."""
    return record(
        id=f"r1-{number}", at_unix_ns=AT_UNIX_NS + number, timings=timings(end_ns=ms * MS)
    )


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [([5], "r1-0"), ([9, 1, 5], "r1-2"), ([9, 1, 5, 7], "r1-2"), ([5, 5, 5, 5], "r1-1")],
)
def test_the_median_turn_is_a_real_one(lengths, expected):
    """The one in the middle by duration, the shorter of two; ties go by time."""
    turns = [lasting(ms, number) for number, ms in enumerate(lengths)]

    assert median_turn(turns).id == expected
    assert median_turn(turns[::-1]).id == expected


def test_no_turn_has_no_median():
    """Nothing stands for nothing."""
    assert median_turn([]) is None
