"""Exact counts by SQL are the counts over the records themselves."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given

from analysis.explain.census import census
from analysis.store.base import Journal
from analysis.store.duck import DuckStore
from analysis.store.tallies import InFlight
from proxy.journal.lines import encode
from proxy.journal.record import Prefix, Tools
from tests.support.builders import AT_UNIX_NS, S, record, timings
from tests.support.damage import examples
from tests.support.segments import journals, put


def counted(records):
    """What the store counts of these."""
    with TemporaryDirectory() as name:
        put(Path(name), *map(encode, records))
        journal = DuckStore(Path(name)).journal()
        return journal.tallies, journal


@examples(0.3)
@given(journals())
def test_the_census_is_the_same(records):
    """Standings, routes, models, clients, failures in the console's words, first and last."""
    tallies, journal = counted(records)
    by_hand = census(Journal(records=journal.records), 0)

    assert by_hand.exchanges == tallies.exchanges
    assert {k: n for k, n in by_hand.standings.items() if n} == tallies.standings
    assert by_hand.first_unix_ns == tallies.first_unix_ns
    assert by_hand.last_unix_ns == tallies.last_unix_ns
    assert by_hand.routes == tallies.routes
    assert by_hand.models == tallies.models
    assert by_hand.clients == tallies.clients
    assert by_hand.failures == tallies.failures
    turns = {r.turn or r.id for r in records if r.kind == "turn"}
    assert len(turns) == tallies.turns


@examples(0.3)
@given(journals())
def test_tools_and_misses_are_counted_the_same(records):
    """Offered and called over answers, hidden ones included; causes with the tokens they cost."""
    tallies, journal = counted(records)
    answers = [r for r in journal.records if r.kind != "not_generation" and r.generation != "none"]
    offering = [r for r in answers if r.tools is not None]
    calls = Counter(name for r in offering for name in r.tools.called)
    calling = Counter(name for r in offering for name in set(r.tools.called))
    missed = [r.prefix for r in records if r.prefix is not None and r.prefix.cause is not None]

    assert (len(answers), len(offering)) == (tallies.answers, tallies.offering)
    assert Counter(r.tools.set_hash for r in offering) == {
        name: offers.answers for name, offers in tallies.offered.items()
    }
    assert calls == {name: each.calls for name, each in tallies.called.items()}
    assert calling == {name: each.answers for name, each in tallies.called.items()}
    for name, each in tallies.called.items():
        assert max(r.at_unix_ns for r in offering if name in r.tools.called) == each.last_unix_ns
    assert Counter(p.cause for p in missed) == {k: v.exchanges for k, v in tallies.causes.items()}
    assert sum(max(0, p.lost or 0) for p in missed) == sum(
        each.tokens for each in tallies.causes.values()
    )


def end_of(r):
    """Wall time of its end, within 64 bits."""
    return min(r.at_unix_ns + max(0, r.timings.end_ns), 2**63 - 1)


def swept(records):
    """Time by exchanges in flight, looked up moment by moment."""
    asked = [r for r in records if r.kind != "not_generation"]
    result = {}
    for upstream in {r.upstream for r in asked}:
        spans = [(r.at_unix_ns, end_of(r)) for r in asked if r.upstream == upstream]
        ns = Counter()
        for begin, end in pairwise(sorted({moment for span in spans for moment in span})):
            ns[sum(b <= begin and e >= end for b, e in spans)] += end - begin
        if ns:
            result[upstream] = InFlight({k: n for k, n in sorted(ns.items()) if k}, ns[0])
    return result


@examples(0.3)
@given(journals())
def test_in_flight_times_are_those_of_the_spans(records):
    """By upstream, hidden requests included, idle time apart."""
    tallies, _ = counted(records)

    assert swept(records) == tallies.in_flight


def test_two_that_overlap_are_two_in_flight():
    """Ten seconds each, the second five after the first, and a third after five of nothing."""
    ends = timings(end_ns=10 * S)
    begins = [AT_UNIX_NS, AT_UNIX_NS + 5 * S, AT_UNIX_NS + 20 * S]
    records = [record(id=f"r-{n}", at_unix_ns=at, timings=ends) for n, at in enumerate(begins)]

    (in_flight,) = counted(records)[0].in_flight.values()

    assert InFlight({1: 20 * S, 2: 5 * S}, 5 * S) == in_flight
    assert 25 * S == in_flight.busy_ns


def test_a_tool_is_called_by_an_answer_once_and_as_often_as_it_was():
    """Two calls in one answer; the tokens of misses add up."""
    twice = Tools(set_hash="a" * 16, count=1, tokens=1, called=["f", "f"])
    missed = Prefix(cause="tools", lost=7)
    records = [record(id=f"r-{n}", tools=twice, prefix=missed) for n in range(2)]

    tallies, _ = counted(records)

    assert (2, 4) == (tallies.called["f"].answers, tallies.called["f"].calls)
    assert (2, 14) == (tallies.causes["tools"].exchanges, tallies.causes["tools"].tokens)
