"""One turn's speeds, each by its definition, and those of all turns together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.explain.speeds import TOGETHER, aggregate, speeds, step
from tests.support.builders import AT_UNIX_NS, MS, S, output, record, timings


def ran(start_s, tokens=100, first_s=1, decode_s=3, **changes):
    """An answer that began at a second; its last token is its end."""
    return record(
        id=f"r1-{start_s}",
        at_unix_ns=AT_UNIX_NS + start_s * S,
        timings=timings(
            first_token_ns=first_s * S,
            first_visible_text_ns=first_s * S,
            last_token_ns=(first_s + decode_s) * S,
            end_ns=(first_s + decode_s) * S,
        ),
        output=output(tokens=tokens),
        **changes,
    )


def test_the_same_turn_has_the_field_reports_two_speeds():
    """37.7 tok/s as the client shows it, 23.4 over the whole turn."""
    turn = record()

    by_name = {row.name: row for row in speeds(turn, [turn])}

    assert by_name["client_style"].figure.value == pytest.approx(37.7, abs=0.05)
    assert by_name["whole_turn"].figure.value == pytest.approx(23.4, abs=0.05)
    assert all("/" in row.formula for row in by_name.values())


def test_every_speed_says_what_it_leaves_out_and_who_shows_it():
    """A number that nobody can place is of no use."""
    turn = record()

    assert all(row.leaves_out and row.shown_by for row in speeds(turn, [turn]))
    assert all(how.leaves_out for how in TOGETHER.values())


def test_the_median_is_over_turns_that_have_the_speed():
    """Turns without the speed are left out and the number of the others is said."""
    fast, unknown = record(output=output(tokens=754)), record(output=output(tokens=None))

    rows = {row.name: row for row in speeds(unknown, [record(), fast, unknown])}

    assert rows["whole_turn"].figure.refused == "tokens unknown"
    assert rows["whole_turn"].turns == 2
    assert rows["whole_turn"].median == pytest.approx(1.5 * 377 / 16.087)
    assert {row.median for row in speeds(unknown, [unknown])} == {None}


def test_a_step_is_the_time_of_an_event():
    """TPOT x tokens per event is D over the gaps between the events."""
    found = step(record())

    assert found.ns == pytest.approx(10_002 * MS / 198)
    assert found.tokens == pytest.approx(376 / 198)
    assert step(record(output=output(tokens=3))) is None


def test_aggregate_holds_the_pauses_and_says_how_long_they_were():
    """Two answers of 4 s with 2 s between them: 200 tokens in 10 s, a fifth of it idle."""
    found = aggregate([ran(0), ran(6)])

    assert found.tokens_per_s == pytest.approx(20)
    assert found.idle_share == pytest.approx(0.2)
    assert found.busy_tokens_per_s == pytest.approx(25)


def test_a_faster_server_has_a_larger_share_of_pauses():
    """Twice the decode speed and the same user: aggregate gains less than each request does."""
    slow, fast = (aggregate([ran(0, decode_s=d), ran(20, decode_s=d)]) for d in (8, 4))

    assert fast.tokens_per_s / slow.tokens_per_s < 9 / 5
    assert fast.idle_share > slow.idle_share


def test_the_steady_state_leaves_start_and_end_out():
    """Two at once for most of the time: only that time, and only tokens that came in it."""
    found = aggregate([ran(0, first_s=0, decode_s=10), ran(2, first_s=0, decode_s=10)])

    assert found.steady_at == 2
    assert found.steady_ns == 8 * S
    assert found.steady_tokens == pytest.approx(160)
    assert found.steady_tokens_per_s == pytest.approx(20)


def test_answers_in_one_piece_count_over_all_of_their_time():
    """Where no first token was seen, tokens are spread from the request to the end."""
    whole = record(
        timings=timings(first_token_ns=None, last_token_ns=None, end_ns=10 * S),
        output=output(tokens=50, events=None),
    )

    assert aggregate([whole]).steady_tokens_per_s == pytest.approx(5)


def test_without_counted_tokens_there_is_no_aggregate():
    """Nobody counted, or nothing took time."""
    assert aggregate([]) is None
    assert aggregate([record(output=output(tokens=None))]) is None
    assert aggregate([record(timings=timings(end_ns=0))]) is None


@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 500), st.integers(0, 9), st.integers(1, 30)),
        min_size=1,
        max_size=12,
    )
)
def test_aggregates_keep_their_order(each):
    """By the wall clock is never more than while any ran; no steady state has more tokens than there were."""
    found = aggregate([ran(start, n, first, decode) for start, n, first, decode in each])

    assert found.tokens_per_s <= found.busy_tokens_per_s * (1 + 1e-9)
    assert 0 <= found.steady_tokens <= found.tokens * (1 + 1e-9)
    assert 0 < found.steady_ns <= found.wall_ns - found.idle_ns
