"""Budgets of turns: the segments of all exchanges and the client's own time, to the nanosecond."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from analysis.explain.budget import budget, summed
from analysis.explain.prefill import PrefillCost, engine
from analysis.explain.segment import Segment, joined
from analysis.explain.source import MEASURED, REPORTED, Refusal, Source
from analysis.explain.turn_budget import turn_budget
from analysis.explain.turns import threaded
from analysis.render.turn import spent_table
from proxy.journal.record import Load, Self
from tests.support.absurd import absurd, absurd_loops
from tests.support.builders import MS, S, record
from tests.support.loops import agent, asked, calling, failed

NO_COST = Refusal("not known")
COST = PrefillCost(0.5 * MS, 0.4 * MS, 0.6 * MS, 3, 500, 5000, Source("estimated", "from TTFT"), interval=True)  # fmt: skip


def costs(records, cost=NO_COST):
    """The same cost for every engine."""
    return dict.fromkeys(map(engine, records), cost)


def spent(records, cost=NO_COST):
    """The budget of the last turn that the records hold."""
    return turn_budget(threaded(records)[-1], costs(records, cost))


def segments(found):
    """Names and lengths of the segments that have one."""
    return {s.name: s.ns for s in found.segments if s.ns}


def test_a_loops_time_has_names():
    """12 s: two answers of 2 s, what their client did, what a title was in the way of."""
    found = spent(agent().records)

    assert found.whole_ns == sum(s.ns for s in found.segments) == 12 * S
    assert found.decode_ns == segments(found)["answer"] == 4 * S - 2 * MS
    assert found.fixed_ns == 8 * S + 2 * MS
    assert segments(found)["client: tools"] == 1 * S
    assert segments(found)["hidden requests in the way"] == 1 * S
    assert segments(found)["client: between requests"] == 1 * S
    assert segments(found)["server queue"] == 250 * MS
    assert segments(found)["proxy itself"] == 3 * 90_000


def test_names_stand_once_and_in_their_order():
    """The first segment is the upload, the client's time stands behind the server's."""
    names = [s.name for s in spent(agent().records).segments]

    assert len(names) == len(set(names))
    assert names[:3] == ["upload", "connect", "proxy itself"]
    assert (
        names.index("tail")
        < names.index("client: tools")
        < names.index("hidden requests in the way")
    )


def test_one_exchange_is_its_own_turn():
    """The turn's budget is the exchange's."""
    found = spent([asked(1, 0, 4)])
    own = budget(asked(1, 0, 4), NO_COST)

    assert segments(found) == segments(own)
    assert (found.whole_ns, found.decode_ns) == (own.whole_ns, own.decode_ns)


def test_requests_at_once_count_once():
    """The second began 1 s before the first ended: it has 3 s of its own."""
    both = [asked(1, 0, 4), asked(2, 3, 4, load=Load(in_flight_at_arrival=2))]
    found = spent(both)

    assert found.whole_ns == sum(s.ns for s in found.segments) == 7 * S
    assert segments(found)["upload"] == 2 * MS


def test_decode_that_was_not_seen_is_unknown():
    """A reply in one piece among streamed ones; a refusal has none, and takes nothing away."""
    whole = asked(2, 5, 4)
    marks = msgspec.structs.replace(whole.timings, first_token_ns=None, last_token_ns=None)
    plain = msgspec.structs.replace(whole, timings=marks)

    assert spent([asked(1, 0, 4), plain]).decode_ns is None
    assert spent([asked(1, 0, 4), failed(whole)]).decode_ns == 2 * S - MS
    assert spent([failed(whole)]).decode_ns is None


def test_tokens_and_intervals_add_up():
    """Tools read in both requests: tokens, time and both ends of the interval twice."""
    loop = [calling(asked(1, 0, 20), "clock"), asked(2, 21, 20)]
    tools = next(s for s in spent(loop, COST).segments if s.name == "prefill: tools")

    assert tools.tokens == 2 * 6603
    assert tools.cached is None
    assert tools.ns == 2 * (6603 * MS // 2)
    assert tools.interval == pytest.approx((0.4 * 2 * 6603 * MS, 0.6 * 2 * 6603 * MS))


def test_what_is_least_sure_is_said_first():
    """An answer measured once and reported once is reported, and measured."""
    both = (Segment("answer", 5, MEASURED), Segment("answer", 1, REPORTED))

    assert str(joined("answer", both).source) == "reported by the server; measured"
    assert joined("answer", both[:1]) == both[0]


def test_a_sum_takes_turns():
    """Two turns: the client's time stands in the sum too."""
    turns = threaded(agent().records)
    total = summed(turn_budget(turn, costs(agent().records)) for turn in turns)

    assert (total.budgets, total.whole_ns) == (2, 14 * S)
    assert sum(s.ns for s in total.segments) == total.whole_ns
    assert "client: tools" in [s.name for s in total.segments]


@settings(max_examples=200)
@given(absurd_loops)
def test_a_turns_segments_add_up_whatever_the_clocks(records):
    """For any marks, clocks and parents: to the nanosecond, nothing negative, no name twice."""
    for cost in (NO_COST, COST):
        for turn in threaded(records):
            found = turn_budget(turn, costs(records, cost))
            names = [s.name for s in found.segments]

            assert sum(s.ns for s in found.segments) == found.whole_ns == turn.whole_ns
            assert all(type(s.ns) is int and s.ns >= 0 for s in found.segments)
            assert len(names) == len(set(names))
            assert found.decode_ns is None or 0 <= found.decode_ns <= found.whole_ns


@settings(max_examples=100)
@given(absurd)
def test_a_turn_of_one_senseless_exchange_adds_up(exchange):
    """Also where the server's own figures are absurd."""
    for cost in (NO_COST, COST):
        found = spent([exchange], cost)

        assert (
            sum(s.ns for s in found.segments) == found.whole_ns == max(0, exchange.timings.end_ns)
        )


def test_a_turn_without_own_delays():
    """Where the proxy could not measure itself, it has no time and the rest adds up."""
    found = spent([record(self=Self())])

    assert "proxy itself" not in segments(found)
    assert sum(s.ns for s in found.segments) == found.whole_ns


def test_an_estimate_is_printed_with_its_interval():
    """Beside its source, also where that is the same as in the row above."""
    table = spent_table("X", spent([asked(1, 0, 20)], COST), "")
    said = {cells[0]: cells[-1] for cells in table.rows}

    assert said["prefill: tools"] == "estimated from TTFT, 2.64 s to 3.96 s"
    assert said["prefill: system"] == '", 0.60 s to 0.91 s'
    assert said["answer"] == "measured"
