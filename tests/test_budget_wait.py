"""The wait for a first token, split: this proxy's own delay, the server's queue, prefill, the first step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.explain.budget import budget, reported_queue_ns
from analysis.explain.prefill import PrefillCost
from analysis.explain.source import Refusal, Source
from proxy.journal.record import UsageReport
from tests.support.builders import MS, record, timings

NO_COST = Refusal("not known")
COST = PrefillCost(0.5 * MS, 0.4 * MS, 0.6 * MS, 3, 500, 5000, Source("estimated", "from TTFT"))
FITTED = replace(COST, interval=True, base_ns=100 * MS, base_range_ns=(80 * MS, 130 * MS))
WAIT = 6084 * MS - 100_000 - 90_000
"""Request sent -> first token in the default record, less the proxy's own delay."""


def named(spent, name):
    """The segment of this name."""
    return next(s for s in spent.segments if s.name == name)


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({}, None),
        ({"queue_time_ms": 250.0}, 250 * MS),
        ({"queue_time": 0.25}, 250 * MS),
        ({"queue_time_ms": 250.0, "queue_time": 9}, 250 * MS),
        ({"queue_time_ms": 0}, 0),
        ({"queue_time_ms": None, "queue_time": "soon"}, None),
        ({"queue_time_ms": -1.0}, None),
        ({"queue_time": float("inf")}, None),
    ],
)
def test_the_servers_queue_is_what_it_says(figures, expected):
    """In ms as vLLM says it, in seconds as SGLang does; what is no time is none."""
    assert reported_queue_ns(record(reported=figures)) == expected


def test_a_reported_queue_stands_before_the_prefill():
    """It is taken off the wait first, so that prefill cannot have that time."""
    spent = budget(record(reported={"queue_time_ms": 5000.0}), COST)

    assert named(spent, "server queue").ns == 5000 * MS
    assert str(named(spent, "server queue").source) == "reported by the server"
    prefill = sum(s.ns for s in spent.segments if s.name.startswith("prefill"))
    assert prefill == WAIT - 5000 * MS


def test_a_queue_longer_than_the_wait_is_cut_to_it():
    """Two clocks may disagree; so it is in a reply in one piece."""
    spent = budget(record(reported={"queue_time_ms": 60_000.0}), COST)
    piece = timings(first_token_ns=None, last_token_ns=None)
    plain = budget(record(timings=piece, reported={"queue_time_ms": 60_000.0}), COST)

    assert named(spent, "server queue").ns == WAIT
    assert named(plain, "server queue").ns == plain.whole_ns - 2 * MS - 100_000 - 90_000


def test_what_an_empty_prompt_waits_is_the_first_step():
    """With a fitted base the rest is unknown, and both have their size."""
    spent = budget(record(), FITTED)

    assert named(spent, "first step").ns == 100 * MS
    assert named(spent, "first step").interval == (80 * MS, 130 * MS)
    assert named(spent, "unknown").ns == WAIT - 9459 * MS // 2 - 100 * MS
    assert "queue and first step" not in [s.name for s in spent.segments]


def test_without_a_base_the_two_stay_one():
    """The server said how long it read: what is left is queue and first step."""
    figures = {"prompt_ms": 5000.0, "prompt_n": 9459}

    assert named(budget(record(reported=figures), COST), "queue and first step").ns == (
        WAIT - 5000 * MS
    )
    assert named(budget(record(reported=figures), FITTED), "first step").ns == 100 * MS


def test_an_estimated_part_has_its_interval():
    """By the ends of the cost's interval; a spread of single exchanges is none."""
    assert named(budget(record(), FITTED), "prefill: tools").interval == pytest.approx(
        (0.4 * 6603 * MS, 0.6 * 6603 * MS)
    )
    assert named(budget(record(), COST), "prefill: tools").interval is None


def test_a_cached_part_has_tokens_and_no_time():
    """8,112 came from the cache: tools and system cost nothing and say what they had."""
    spent = budget(record(usage=UsageReport(input=9459, cached=8112)), COST)
    tools, question = named(spent, "prefill: tools"), named(spent, "prefill: question")

    assert (tools.ns, tools.tokens, tools.cached) == (0, 0, 6603)
    assert (question.tokens, question.cached) == (37, 0)
    assert named(budget(record(), COST), "prefill: tools").cached is None


def test_the_proxys_own_delay_is_where_the_first_reply_piece_was():
    """Before the first token, or in the answer if that piece was the first token."""
    u0 = timings().request_end_ns
    together = timings(first_byte_ns=u0 + 6084 * MS)

    assert named(budget(record(), NO_COST), "wait, not split").ns == WAIT
    spent = budget(record(timings=together), NO_COST)
    assert named(spent, "proxy itself").ns == 90_000
    assert named(spent, "wait, not split").ns == WAIT + 90_000
    assert named(spent, "answer").ns == 10_002 * MS - 90_000


def test_no_reply_has_no_own_delay():
    """Nothing came that could have been delayed."""
    gone = timings(first_byte_ns=None, first_token_ns=None, last_token_ns=None)

    assert named(budget(record(timings=gone), NO_COST), "proxy itself").ns == 0
