"""What a prompt token costs: the server's figures, else TTFT, else a reason."""

from __future__ import annotations

import pytest

from analysis.explain.prefill import Engine, prefill_cost, prefill_costs, reported_prefill
from analysis.explain.source import Refusal
from proxy.journal.record import UsageReport
from tests.support.builders import MS, record, timings


def reported(ms, tokens):
    """A record whose server says how long it read how many tokens."""
    return record(reported={"prompt_ms": ms, "prompt_n": tokens})


def observed(ttft_ms, tokens, cached=None):
    """A record whose server says nothing of its prefill."""
    u0 = timings().request_end_ns
    return record(
        timings=timings(first_token_ns=u0 + ttft_ms * MS),
        usage=UsageReport(input=tokens, cached=cached),
    )


def test_the_servers_own_figures_are_pooled():
    """Sum of times over sum of tokens, with the spread and the span beside it."""
    cost = prefill_cost([reported(100.0, 50), reported(900.0, 950)])

    assert cost.ns_per_token == pytest.approx(1 * MS)
    assert (cost.low_ns_per_token, cost.high_ns_per_token) == (
        pytest.approx(900 / 950 * MS),
        pytest.approx(2 * MS),
    )
    assert (cost.exchanges, cost.least_tokens, cost.most_tokens) == (2, 50, 950)
    assert str(cost.source) == "reported by the server in 2 exchanges"
    assert str(cost.estimate) == "estimated from prefill reported in 2 exchanges"


def test_the_servers_figures_win_over_ttft():
    """One reported prefill is worth more than any number of waits."""
    cost = prefill_cost([observed(6000, 1000), reported(10.0, 100)])

    assert cost.ns_per_token == pytest.approx(0.1 * MS)
    assert cost.exchanges == 1


def test_without_them_the_wait_stands_for_prefill():
    """TTFT over uncached tokens is an estimate and says so."""
    cost = prefill_cost([observed(1000, 1000, cached=0), observed(1000, 2000, cached=1500)])

    assert cost.ns_per_token == pytest.approx(2000 * MS / 1500)
    assert (cost.least_tokens, cost.most_tokens) == (500, 1000)
    assert not cost.cache_unspoken
    assert str(cost.source) == str(cost.estimate) == "estimated from TTFT of 2 exchanges"


def test_says_when_the_cache_was_not_spoken_of():
    """A cache that hit in silence makes the cost look low: the figure carries that doubt."""
    assert prefill_cost([observed(1000, 1000)]).cache_unspoken


@pytest.mark.parametrize(
    "short",
    [
        observed(1000, 199),
        observed(1000, 1000, cached=801),
        observed(-1, 1000),
        record(timings=timings(first_token_ns=None)),
        record(usage=UsageReport(), parts=[]),
    ],
    ids=["short", "cached", "answered early", "no token", "not counted"],
)
def test_refuses_what_says_nothing_of_prefill(short):
    """Fewer than 200 uncached tokens, no wait or no count: a reason instead of a number."""
    cost = prefill_cost([short])

    assert isinstance(cost, Refusal)
    assert "200 uncached prompt tokens" in cost.reason


def test_no_record_is_no_cost():
    """Nothing at all is refused like too little."""
    assert isinstance(prefill_cost([]), Refusal)


def test_engines_are_kept_apart():
    """Two models, or one model at two addresses, never share a cost."""
    there = record(upstream="http://10.0.0.5:8000")
    other = record(model_served="other")

    costs = prefill_costs([record(), record(), there, other])

    assert {engine: cost.exchanges for engine, cost in costs.items()} == {
        Engine("http://127.0.0.1:8000", "qwen-27b-int8"): 2,
        Engine("http://10.0.0.5:8000", "qwen-27b-int8"): 1,
        Engine("http://127.0.0.1:8000", "other"): 1,
    }


@pytest.mark.parametrize(
    "figures",
    [
        {},
        {"prompt_ms": 10.0},
        {"prompt_ms": "10", "prompt_n": 5},
        {"prompt_ms": 0.0, "prompt_n": 5},
        {"prompt_ms": 10.0, "prompt_n": 0},
        {"prompt_ms": None, "prompt_n": None},
    ],
)
def test_figures_that_are_none_are_not_used(figures):
    """Half a figure, a text, a zero: the server did not say."""
    assert reported_prefill(record(reported=figures)) is None


def test_a_cost_gives_times():
    """Tokens times the cost, in whole nanoseconds."""
    assert prefill_cost([reported(100.0, 50)]).of(3) == 6 * MS
