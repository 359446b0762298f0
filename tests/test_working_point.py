"""How many requests are at work at once: by whose word, for how long, and what to read there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.explain.asked import Range
from analysis.explain.overview import overview
from analysis.explain.working_point import (
    Distribution,
    View,
    concurrent,
    distribution,
    in_flight,
    of_gauges,
    working_point,
)
from analysis.render.working_point import working_point_table
from analysis.store.base import Journal, Sampling
from analysis.store.tallies import InFlight
from proxy.journal.gauge import GaugeSample
from tests.support.builders import AT_UNIX_NS, S, record, timings


def ran(start_s, end_s, **changes):
    """A record of an exchange between two seconds."""
    return record(
        id=f"r1-{start_s}-{end_s}",
        at_unix_ns=AT_UNIX_NS + round(start_s * S),
        timings=timings(end_ns=round((end_s - start_s) * S)),
        **changes,
    )


def said(at_s, running, waiting=0, **changes):
    """What a server answered at a second; None: it said nothing."""
    return GaugeSample(
        at_unix_ns=AT_UNIX_NS + round(at_s * S),
        took_ns=1,
        upstream=changes.pop("upstream", "http://127.0.0.1:8000"),
        in_flight=1,
        running=running,
        waiting=waiting,
        **changes,
    )


def text(point):
    """All that the screen says of it."""
    table = working_point_table(point)
    return "\n".join([*(" | ".join(row) for row in table.rows), *table.notes])


def test_in_flight_is_weighted_by_time():
    """Two overlap for 2 of 10 busy seconds, and nothing runs for 5."""
    seen = in_flight([ran(0, 6), ran(4, 8), ran(13, 15)])

    assert seen.busy_ns == {1: 8 * S, 2: 2 * S}
    assert seen.idle_ns == 5 * S
    assert seen.mean == pytest.approx(1.2)
    assert seen.share(2, 4) == pytest.approx(0.2)


def test_exchanges_that_meet_do_not_overlap():
    """One ends as the next begins: never two at once."""
    assert in_flight([ran(0, 3), ran(3, 5)]).busy_ns == {1: 5 * S}


def test_two_servers_are_two_engines():
    """One request at each of two upstreams is a working point of 1, not of 2."""
    seen = in_flight([ran(0, 4), ran(0, 4, upstream="http://127.0.0.1:9000")])

    assert seen.busy_ns == {1: 8 * S}


spans = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(0, 200)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=30,
)


@given(spans)
def test_all_time_of_all_spans_is_counted_once(each):
    """Number times length, summed, is the sum of the spans; with the idle time it is first to last."""
    stretches = list(concurrent(each))
    seen = distribution(stretches)

    assert sum((b - a) * n for a, b, n in stretches) == sum(b - a for a, b in each)
    assert min((n for _, _, n in stretches), default=0) >= 0
    if seen is not None:
        whole = max(b for _, b in each) - min(a for a, _ in each)
        assert seen.whole_busy_ns + seen.idle_ns == whole
        assert 1 <= seen.reached(0.5) <= seen.reached(0.9) <= max(seen.busy_ns)


def test_a_large_journals_own_count_wins():
    """Records may be a sample; what the store counted over all of them is taken instead."""
    tallied = {"http://a": InFlight({1: 6 * S, 12: 4 * S}, 3 * S), "http://b": InFlight({1: S}, 0)}
    point = working_point(None, [], [ran(0, 2)], tallied)

    assert point.views[0].distribution == Distribution({1: 7 * S, 12: 4 * S}, 3 * S)


def test_a_sample_of_answers_has_no_aggregate():
    """Its tokens are a part of all, its wall clock is that of all: dividing the two means nothing."""
    all_ = Journal(records=(ran(0, 2), ran(3, 5)))
    some = replace(all_, sampling=Sampling(2, 90, 2, 90))

    assert overview(all_).outlook.aggregate.turns == 2
    assert overview(some).outlook.aggregate is None


def test_a_sample_holds_until_the_next_one():
    """1 for 2 s, 3 for 1 s, idle for 1 s; the last one holds for no time."""
    seen, waited = of_gauges([said(0, 1), said(2, 3, 2), said(3, 0), said(4, 7)])

    assert seen == Distribution({1: 2 * S, 3: S}, S)
    assert waited == pytest.approx(1 / 3)


def test_a_gap_between_samples_is_no_state():
    """A recorder that was away for a night saw nothing of it: the last sample holds for a usual step."""
    seen, _ = of_gauges([said(0, 1), said(1, 1), said(2, 2), said(40_000, 1), said(40_001, 0)])

    assert seen.busy_ns == {1: 3 * S, 2: S}


def test_an_answer_that_did_not_come_ends_the_one_before():
    """A late answer says nothing of its own time."""
    seen, _ = of_gauges([said(0, 4), said(1, None, None, problem="late"), said(5, 4), said(6, 4)])

    assert seen.busy_ns == {4: 2 * S}


def test_nothing_that_ran_is_no_working_point():
    """Idle samples, one sample, none: there is no distribution."""
    for samples in ([], [said(0, 5)], [said(0, 0), said(1, 0)]):
        assert of_gauges(samples)[0] is None
    assert working_point(None, [], []) is None
    assert working_point_table(None) is None


def test_the_users_word_comes_first_and_all_others_stand_beside():
    """Said, gauge, proxy, caller: in this order, and the first one decides."""
    point = working_point(Range(16, 64), [said(0, 2), said(2, 0), said(3, 0)], [ran(0, 2)])

    assert [view.sight for view in point.views] == ["said", "gauge", "proxy", "caller"]
    assert point.column == "aggregate"
    assert [view.column for view in point.views[1:]] == ["per-request"] * 3


def test_without_the_users_word_the_gauge_decides():
    """The server sees callers that pass by this proxy: 12 at once, though 1 through it."""
    point = working_point(None, [said(0, 12), said(2, 0), said(3, 0)], [ran(0, 2)])

    assert point.column == "aggregate"
    assert point.disagree
    assert "Gauge and proxy are far apart" in text(point)


@pytest.mark.parametrize(
    ("said_", "column"),
    [((1, 1), "per-request"), ((1, 4), "per-request"), ((1, 5), "both"), ((5, 9), "both"),
     ((1, 64), "both"), ((10, 64), "aggregate")],
)  # fmt: skip
def test_low_load_reads_per_request_and_high_load_aggregate(said_, column):
    """Up to 4 at once, from 10 on, and what is neither."""
    view = View("said", working_point(Range(*said_), [], []).views[0].source, Range(*said_), None)

    assert view.column == column


def test_a_peak_is_no_working_point():
    """40 at once for a second of a hundred is a distribution whose middle is 1."""
    crowd = [ran(99, 100 + n / 1000, peer=f"127.0.0.1:{n}") for n in range(40)]

    assert working_point(None, [], [ran(0, 99), *crowd]).column == "per-request"


@pytest.mark.parametrize(
    ("hosts", "assumed"), [(1, "1 to 4"), (3, "1 to 4"), (7, "1 to 7"), (30, "10 to 30")]
)
def test_the_kind_of_caller_is_assumed_from_addresses(hosts, assumed):
    """A few callers are chats and agents; tens of them are a pool. It is called assumed."""
    records = [ran(n * 10, n * 10 + 1, peer=f"10.0.0.{n}:5{n:03}") for n in range(hosts)]
    view = working_point(None, [], records).views[-1]

    assert str(view.range) == assumed
    assert view.source.kind == "assumed"


def test_what_asked_no_model_is_not_at_work():
    """A list of models holds no slot."""
    assert working_point(None, [], [ran(0, 5, kind="not_generation")]) is None


def test_the_screen_says_which_column_and_why():
    """Shares of busy time, the advice with its reason, and that no limit is used."""
    told = text(working_point(Range(1, 4), [], [ran(0, 6), ran(4, 8)]))

    assert "you say | 1 to 4 | reported by you" in told
    assert "through this proxy | 1 for 75 %, 2 for 25 % of busy time | measured" in told
    assert "Read per-request speed, not aggregate" in told
    assert "--max-num-seqs" in told


def test_waiting_in_the_server_is_said():
    """A queue in the server stands beside what ran."""
    told = text(working_point(None, [said(0, 2, 3), said(1, 2, 0), said(2, 0)], []))

    assert "2 for 100 % of busy time; others waited in 50 % of it" in told
