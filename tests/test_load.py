"""Exchanges in flight: at an arrival, on average, and at the peak, as a slow and plain model has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.journal.load import LoadMeter
from proxy.journal.record import Load


def load(arrival, mean, peak):
    """What a record says of one exchange."""
    return Load(in_flight_at_arrival=arrival, in_flight_mean=mean, in_flight_peak=peak)


def test_alone():
    """One exchange and no other: one, throughout."""
    meter = LoadMeter()
    meter.opened(1, 1_000)

    assert meter.ended(1, 5_000) == load(1, 1.0, 1)


def test_one_behind_the_other_are_alone():
    """Nothing remains of an exchange that has ended."""
    meter = LoadMeter()
    for number in range(1, 4):
        meter.opened(number, number * 1_000)

        assert meter.ended(number, number * 1_000 + 500) == load(1, 1.0, 1)


def test_a_short_one_within_a_long_one():
    """The mean is weighted by time: a tenth of it at two."""
    meter = LoadMeter()
    meter.opened(1, 0)
    meter.opened(2, 400)

    assert meter.ended(2, 500) == load(2, 2.0, 2)
    assert meter.ended(1, 1_000) == load(1, 1.1, 2)


def test_the_peak_is_that_of_the_exchanges_own_time():
    """What was before it, or only at its arrival, is told apart."""
    meter = LoadMeter()
    for number in (1, 2, 3):
        meter.opened(number, 0)
    meter.ended(1, 100)
    meter.ended(2, 100)
    meter.opened(4, 200)

    assert meter.ended(4, 300) == load(2, 2.0, 2)
    assert meter.ended(3, 400) == load(3, 1.75, 3)


def test_an_exchange_of_no_time_has_the_load_it_met():
    """No division by nothing."""
    meter = LoadMeter()
    meter.opened(1, 500)
    meter.opened(2, 500)

    assert meter.ended(2, 500) == load(2, 2.0, 2)


def test_an_exchange_whose_beginning_was_not_seen_has_no_load():
    """Unknown is None, not zero; and it changes nothing for the others."""
    meter = LoadMeter()
    meter.opened(1, 0)

    assert meter.ended(7, 100) == Load()
    assert meter.ended(1, 200) == load(1, 1.0, 1)


def test_times_a_little_out_of_order_are_taken_as_they_come():
    """Workers' frames cross on the way: time does not go back, and no mean leaves what is possible."""
    meter = LoadMeter()
    meter.opened(1, 1_000)
    meter.opened(2, 900)

    assert meter.ended(1, 1_100) == load(1, 2.0, 2)
    assert meter.ended(2, 1_050) == load(2, 2.0, 2)


@pytest.mark.timeout(5)
def test_memory_follows_the_load_and_not_its_history():
    """A proxy that runs for a year keeps no more than what is in flight."""
    meter = LoadMeter()
    for number in range(20_000):
        meter.opened(number, number)
        if number >= 3:
            meter.ended(number - 3, number)

    assert len(meter._peaks) <= 4
    assert len(meter._arrivals) == 3


@st.composite
def histories(draw):
    """Opened and ended exchanges in order, each with its time; times may go back."""
    events, running, at = [], [], 0
    for number in range(draw(st.integers(1, 12))):
        at = max(0, at + draw(st.integers(-5, 40)))
        if running and draw(st.booleans()):
            events.append((running.pop(draw(st.integers(0, len(running) - 1))), at))
        events.append((number, at))
        running.append(number)
    return events + [(number, at := at + draw(st.integers(0, 30))) for number in running]


def modelled(events):
    """The load of each exchange, from a list of what was in flight from each event to the next."""
    seen, flight, now, spans, loads, arrivals = set(), 0, 0, [], {}, {}
    for number, at in events:
        spans.append((flight, max(at - now, 0)))
        now = max(now, at)
        if number not in seen:
            seen.add(number)
            flight += 1
            arrivals[number] = (flight, len(spans))
            continue
        arrival, first = arrivals[number]
        mine = spans[first:]
        took = sum(ns for _flight, ns in mine)
        mean = sum(count * ns for count, ns in mine) / took if took else float(arrival)
        loads[number] = load(arrival, round(mean, 3), max(count for count, _ns in mine))
        flight -= 1
    return loads


@given(histories())
def test_any_history_has_the_loads_of_the_model(events):
    """Overlapping in any way, ending in any order."""
    meter, seen, loads = LoadMeter(), set(), {}
    for number, at in events:
        if number in seen:
            loads[number] = meter.ended(number, at)
        else:
            meter.opened(number, at)
        seen.add(number)

    assert loads == modelled(events)
