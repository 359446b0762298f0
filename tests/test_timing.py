"""Figures of one exchange: each by its formula, and refused where it would mean nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.journal import timing
from proxy.journal.timing import Figure, Gaps
from tests.support.builders import MS, S, output, timings

TURN = timings()
"""The field report's turn: TTFT 6.084 s, over 10.003 s later; the last token 1 ms before the end."""


def refusal(figure):
    """The reason, of a figure that has no value."""
    assert figure.value is None
    return figure.refused


def test_the_field_reports_turn():
    """377 tokens, TTFT 6.084, decode 10.003: 37.7 tok/s as the client shows it, 23.4 over the turn."""
    out = output()
    assert timing.ttft_ns(TURN) == 6_084 * MS
    assert timing.whole_turn_ns(TURN) == 16_087 * MS
    assert round(timing.client_speed(TURN, out).value, 1) == 37.7
    assert round(timing.turn_speed(TURN, out).value, 1) == 23.4


def test_each_speed_has_its_own_window():
    """Over D, per step and per request: three more numbers for the same turn."""
    marks = timings(first_token_ns=2 * S, last_token_ns=12 * S, end_ns=15 * S, request_end_ns=1 * S)
    out = output(tokens=101, k1=1)
    assert timing.decode_speed(marks, out) == Figure(10.1)
    assert timing.step_speed(marks, out) == Figure(10.0)
    assert timing.tpot_ns(marks, out) == Figure(0.1 * S)
    assert timing.client_speed(marks, out) == Figure(101 / 13)
    assert timing.request_speed(marks, out) == Figure(101 / 11)
    assert timing.turn_speed(marks, out) == Figure(101 / 14)
    assert timing.decode_ns(marks) == 10 * S
    assert timing.tail_ns(marks) == 3 * S


def test_tokens_of_the_first_event_took_no_decode_time():
    """With k1 = 5 the window holds n - 5 tokens; unknown, k1 is taken for 1."""
    marks = timings(first_token_ns=0, last_token_ns=9_500 * MS)
    assert timing.tpot_ns(marks, output(tokens=100, k1=5)) == Figure(100 * MS)
    assert timing.tpot_ns(marks, output(tokens=96, k1=None)) == Figure(100 * MS)


def test_waiting_begins_at_the_last_request_byte():
    """TTFT ends at the first token in any channel, TTFA at the first that is no reasoning."""
    marks = timings(
        request_end_ns=100,
        first_token_ns=300,
        first_reasoning_ns=300,
        first_visible_text_ns=900,
        first_tool_call_ns=800,
    )
    assert timing.ttft_ns(marks) == 200
    assert timing.ttfa_ns(marks) == 700


def test_what_was_not_seen_has_no_time():
    """Null is not zero: without either end there is no duration."""
    marks = timings(
        request_end_ns=None,
        first_token_ns=None,
        first_visible_text_ns=None,
        last_token_ns=None,
        end_ns=5,
    )
    assert timing.ttft_ns(marks) is None
    assert timing.ttfa_ns(marks) is None
    assert timing.decode_ns(marks) is None
    assert timing.tail_ns(marks) is None
    assert timing.whole_turn_ns(marks) is None


def test_only_thinking_has_no_time_to_answer():
    """An answer cut while it was thinking has a first token and no first token of the answer."""
    marks = timings(first_visible_text_ns=None, first_reasoning_ns=2 * S)
    assert timing.ttfa_ns(marks) is None
    assert timing.ttft_ns(marks) is not None


@pytest.mark.parametrize(
    ("marks", "out", "reason"),
    [
        (TURN, output(events=None), "not streamed"),
        (TURN, output(events=0), "no token came"),
        (timings(last_token_ns=None), output(), "no token came"),
        (TURN, output(tokens=None), "tokens unknown"),
        (TURN, output(tokens=15), "fewer than 16 tokens"),
        (TURN, output(events=2), "fewer than 3 events"),
        (timings(last_token_ns=TURN.first_token_ns), output(), "decode window collapsed"),
        (timings(last_token_ns=TURN.first_token_ns + 9 * MS), output(), "decode window collapsed"),
        (TURN, output(tokens_per_event=33.0), "decode window collapsed"),
        (TURN, output(tokens=16, k1=16), "decode window collapsed"),
        (TURN, output(reasoning_tokens=200), "reasoning was not streamed"),
    ],
)
def test_tpot_is_refused_where_it_means_nothing(marks, out, reason):
    """Each refusal names its reason, and the speed per step is refused with it."""
    assert reason == refusal(timing.tpot_ns(marks, out))
    assert reason == refusal(timing.step_speed(marks, out))


@pytest.mark.parametrize(
    "out",
    [
        output(tokens=16),
        output(events=3),
        output(tokens_per_event=32.0),
        output(tokens_per_event=None),
        output(reasoning_tokens=0),
    ],
)
def test_tpot_is_given_at_the_limit(out):
    """The bounds themselves are good enough."""
    assert timing.tpot_ns(TURN, out).value is not None


def test_streamed_reasoning_is_in_the_window():
    """Thinking that was streamed is part of the tokens and of the window."""
    marks = timings(first_reasoning_ns=TURN.first_token_ns)
    assert timing.tpot_ns(marks, output(reasoning_tokens=200)).value is not None


def test_speeds_are_refused_without_their_window():
    """No tokens, no first token, no time between: each says which."""
    no_token = timings(first_token_ns=None, last_token_ns=None)
    instant = timings(first_token_ns=5, last_token_ns=5, end_ns=5, request_end_ns=5)
    assert refusal(timing.client_speed(TURN, output(tokens=None))) == "tokens unknown"
    assert refusal(timing.client_speed(no_token, output(events=None))) == "not streamed"
    assert refusal(timing.decode_speed(no_token, output())) == "no token came"
    assert refusal(timing.decode_speed(instant, output())) == "decode window collapsed"
    assert refusal(timing.turn_speed(instant, output())) == "decode window collapsed"
    no_end = timings(request_end_ns=None)
    assert refusal(timing.request_speed(no_end, output())) == "request end not seen"
    assert refusal(timing.turn_speed(no_end, output())) == "request end not seen"


def test_gaps_lie_between_events():
    """Half of the gaps are up to p50; the largest is max."""
    assert timing.gaps([0, 10, 30, 60, 100]) == Gaps(25, 38, 40)
    assert timing.gaps([5, 5, 5]) == Gaps(0, 0, 0)
    assert timing.gaps([7, 19]) == Gaps(12, 12, 12)
    assert timing.gaps([7]) is None
    assert timing.gaps([]) is None


@given(st.lists(st.integers(0, 10**12), min_size=2).map(sorted))
def test_gaps_keep_their_order(times):
    """Whatever the times: 0 <= p50 <= p95 <= max."""
    found = timing.gaps(times)
    assert 0 <= found.p50_ns <= found.p95_ns <= found.max_ns


@pytest.mark.parametrize(
    ("tokens", "k1", "events", "expected"),
    [
        (24, 4, 6, 4.0),
        (25, None, 6, 4.8),
        (3, 5, 2, 0.0),
        (None, 1, 6, None),
        (24, 1, 1, None),
        (24, 1, 0, None),
    ],
)
def test_tokens_per_event_leave_the_first_event_out(tokens, k1, events, expected):
    """(n - k1) / (events - 1): with speculation an event carries several tokens."""
    assert expected == timing.tokens_per_event(tokens, k1, events)
