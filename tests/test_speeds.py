"""One turn's speeds, each by its definition."""

from __future__ import annotations

import pytest

from analysis.explain.speeds import speeds
from tests.support.builders import output, record


def test_the_same_turn_has_the_field_reports_two_speeds():
    """37.7 tok/s as the client shows it, 23.4 over the whole turn."""
    turn = record()

    by_name = {row.name: row for row in speeds(turn, [turn])}

    assert by_name["client_style"].figure.value == pytest.approx(37.7, abs=0.05)
    assert by_name["whole_turn"].figure.value == pytest.approx(23.4, abs=0.05)
    assert all("/" in row.formula for row in by_name.values())


def test_the_median_is_over_turns_that_have_the_speed():
    """Turns without the speed are left out and the number of the others is said."""
    fast, unknown = record(output=output(tokens=754)), record(output=output(tokens=None))

    rows = {row.name: row for row in speeds(unknown, [record(), fast, unknown])}

    assert rows["whole_turn"].figure.refused == "tokens unknown"
    assert rows["whole_turn"].turns == 2
    assert rows["whole_turn"].median == pytest.approx(1.5 * 377 / 16.087)
    assert {row.median for row in speeds(unknown, [unknown])} == {None}
