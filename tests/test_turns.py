"""Exchanges threaded into turns, hidden requests beside them, and the turn that stands for them all."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from analysis.explain.turns import Turn, median_turn, standing, threaded
from proxy.journal.record import Load, Prefix
from tests.support.absurd import absurd_loops
from tests.support.builders import AT_UNIX_NS, MS, S, record, timings
from tests.support.loops import agent, asked, calling, failed, titled

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
    exchange = record(
        id=f"r1-{number}", at_unix_ns=AT_UNIX_NS + number, timings=timings(end_ns=ms * MS)
    )
    return Turn(exchange.id, (exchange,))


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


def test_a_loop_is_one_turn_with_what_failed_in_it():
    """Three requests of one question, the refused one among them, and the turn before apart."""
    before, loop = threaded(agent().records)

    assert (before.id, loop.id) == ("r1-0", "r1-1")
    assert [r.id for r in loop.exchanges] == ["r1-1", "r1-3", "r1-4"]
    assert [standing(r) for r in loop.exchanges] == ["turn", "error", "turn"]
    assert loop.standing == "turn"
    assert loop.whole_ns == 12 * S
    assert [r.id for r in loop.hidden] == ["r1-2"]


def test_a_turn_ends_as_its_last_exchange_did():
    """A loop whose last request was refused brought no answer."""
    (loop,) = threaded([asked(1, 0, 4), failed(asked(2, 5, 1))])

    assert loop.standing == "error"


def test_gaps_are_the_clients_and_say_why():
    """Behind tool calls the client runs tools; behind a refusal nothing is known of what it does."""
    gaps = threaded(agent().records)[1].gaps

    assert [(g.begin_ns // S, g.ns // S, g.why, g.after, g.hidden_ns // S) for g in gaps] == [
        (4, 2, "tools", "r1-1", 1),
        (7, 1, "between requests", "r1-3", 0),
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_records_may_come_in_any_order(order):
    """What is threaded depends on the records alone."""
    assert threaded(agent().records[::order]) == threaded(agent().records)


def test_an_exchange_without_a_turn_is_one():
    """Nobody could say which conversation it is of."""
    turns = threaded([asked(1, 0, 1, turn=None), asked(2, 5, 1, turn=None)])

    assert [turn.id for turn in turns] == ["r1-1", "r1-2"]


def test_a_clock_that_steps_back_takes_no_time_away():
    """The wall says 100 s earlier; nothing else ran when it came, so it came after."""
    alone = Load(in_flight_at_arrival=1)
    (loop,) = threaded([asked(1, 0, 4), asked(2, -100, 3, load=alone)])

    assert [r.id for r in loop.exchanges] == ["r1-1", "r1-2"]
    assert [(p.begin_ns, p.end_ns) for p in loop.line] == [(0, 4 * S), (4 * S, 7 * S)]
    assert loop.gaps == ()


def test_the_recorders_own_clock_tells_a_gap():
    """The wall stepped by an hour; the exchange it goes on from ended 2 s before."""
    goes_on = Prefix(parent="r1-1", parent_age_ns=2 * S)
    (loop,) = threaded([asked(1, 0, 4), asked(2, 3600, 3, prefix=goes_on)])

    assert [g.ns for g in loop.gaps] == [2 * S]
    assert loop.whole_ns == 9 * S


def test_requests_at_once_leave_no_gap():
    """Two ran side by side: the time counts once, to the one that began first."""
    both = Load(in_flight_at_arrival=2)
    loop = threaded([asked(1, 0, 4), asked(2, 3, 4, load=both), asked(3, 4, 1, load=both)])[0]

    assert loop.gaps == ()
    assert loop.whole_ns == 7 * S
    assert [p.seen_from_ns // S for p in loop.line] == [0, 4, 5]


def test_numbers_tell_the_order_where_one_run_counted():
    """r1-10 follows r1-9, and a message in a tunnel follows the one before it."""
    turns = threaded([asked(10, 0, 1, turn="r1-9"), asked(9, 0, 1, turn="r1-9")])
    tunnel = [asked(0, 0, 1, id=f"r1-7.{n}", turn="r1-7.2") for n in (10, 2)]

    assert [r.id for r in turns[0].exchanges] == ["r1-9", "r1-10"]
    assert [r.id for r in threaded(tunnel)[0].exchanges] == ["r1-7.2", "r1-7.10"]


def beside(*hidden, turns=()):
    """Ids of the hidden requests beside each turn."""
    return [[r.id for r in turn.hidden] for turn in threaded([*turns, *hidden])]


TWO = (
    asked(1, 0, 4),
    asked(2, 2, 8, turn="r1-2", thread="t2", peer="127.0.0.1:50002"),
)


def test_a_hidden_request_stands_beside_one_turn():
    """Its own thread's, however short they overlap; else that of the same caller, the longest."""
    assert beside(titled(3, 3, 5), turns=TWO) == [["r1-3"], []]
    assert beside(titled(3, 3, 5, thread=None), turns=TWO) == [[], ["r1-3"]]
    assert beside(titled(3, 3, 5, thread="t9"), turns=TWO) == [[], ["r1-3"]]


def test_a_hidden_request_of_others_stands_beside_none():
    """Another host, another upstream, or another time."""
    elsewhere = {"thread": None, "peer": "10.0.0.9:50000"}
    assert beside(titled(3, 3, 5, **elsewhere), turns=TWO) == [[], []]
    assert beside(titled(3, 3, 5, thread=None, upstream="http://b:1"), turns=TWO) == [[], []]
    assert beside(titled(3, 50, 5), turns=TWO) == [[], []]


def test_hidden_requests_in_the_way():
    """While a prompt was read, or in a gap; not while the answer came."""
    first = calling(asked(1, 0, 4), "clock")
    hidden = [titled(5, 1, 0.5), titled(6, 2.5, 1), titled(7, 5, 0.5)]
    (loop,) = threaded([first, asked(2, 6, 4), *hidden])

    assert [r.id for r in loop.hidden] == ["r1-5", "r1-6", "r1-7"]
    assert [r.id for r in loop.in_the_way] == ["r1-5", "r1-7"]


def test_hidden_requests_at_once_cover_a_gap_once():
    """Two of 2 s that overlap by 1 s are in the way for 3."""
    first = calling(asked(1, 0, 4), "clock")
    hidden = [titled(5, 4.5, 2), titled(6, 5.5, 2)]
    (loop,) = threaded([first, asked(2, 9, 1), *hidden])

    assert [(g.ns, g.hidden_ns) for g in loop.gaps] == [(5 * S, 3 * S)]


@given(absurd_loops)
def test_every_record_of_a_turn_is_in_one(records):
    """Whatever the clocks say: none is lost, none is there twice, and no time is negative."""
    turns = threaded(records)
    inside = [r.id for turn in turns for r in turn.exchanges]
    hidden = [r.id for turn in turns for r in turn.hidden]

    assert sorted(inside) == sorted(r.id for r in records if r.kind == "turn")
    assert len(set(hidden)) == len(hidden)
    for turn in turns:
        assert turn.id == turn.exchanges[0].id
        assert all(0 <= p.begin_ns <= p.seen_from_ns <= p.end_ns for p in turn.line)
        assert all(gap.ns > 0 and 0 <= gap.hidden_ns <= gap.ns for gap in turn.gaps)
        assert all(0 <= begin <= end <= turn.whole_ns for begin, end in turn.hidden_spans())


def test_thousands_of_exchanges_in_one_turn_are_threaded_at_once():
    """A journal that calls everything one turn costs no quadratic time: 5,000 with a hidden one each."""
    loop = [asked(n, n, 0.5) for n in range(1, 5001)]
    quick = [msgspec.structs.replace(titled(n + 5000, n, 0.9), id=f"h-{n}") for n in range(1, 5001)]
    (turn,) = threaded([*loop, *quick])

    assert len(turn.gaps) == 4999
    assert len(turn.in_the_way) == 5000
