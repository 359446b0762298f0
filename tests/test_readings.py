"""Prefill as servers report it, each in its own words, and as TTFT shows it."""

from __future__ import annotations

import pytest

from analysis.explain.readings import Reading, observed, quiet, reported_prefill
from proxy.journal.record import Load, Prefix, UsageReport
from tests.support.builders import MS, record

BILL = UsageReport(input=1_000, cached=400)


@pytest.mark.parametrize(
    "figures",
    [
        {"prompt_ms": 250.0, "prompt_n": 600},
        {"time_to_first_token_ms": 250.0, "queue_time_ms": 40.0},
        {"prompt_eval_duration": 250_000_000, "prompt_eval_count": 1_000},
        {"forward_entry_time": 1_790_000_000.0, "prefill_finished_time": 1_790_000_000.25},
    ],
    ids=["llama.cpp", "vLLM", "Ollama", "SGLang"],
)
def test_each_server_is_understood(figures):
    """The same prefill, whoever says it: 250 ms for 600 tokens."""
    assert reported_prefill(record(reported=figures, usage=BILL)) == Reading(250 * MS, 600)


def test_ollama_without_a_word_on_its_cache_says_nothing():
    """Its count is of the whole prompt, its time is not."""
    figures = {"prompt_eval_duration": 250_000_000, "prompt_eval_count": 1_000}

    assert reported_prefill(record(reported=figures, usage=UsageReport(input=1_000))) is None


def test_a_wait_of_unknown_tokens_says_nothing():
    """A prompt that goes on from another, and a server that does not speak of its cache."""
    goes_on = Prefix(parent="r1-0", expected=800)

    assert observed(record(prefix=goes_on)) is None
    assert observed(record(prefix=goes_on, usage=BILL)).tokens == 600
    assert observed(record(prefix=Prefix())).tokens == 9_459


@pytest.mark.parametrize(
    ("arrival", "peak", "alone"), [(1, 1, True), (1, 2, False), (None, None, False)]
)
def test_alone_is_alone_all_the_time(arrival, peak, alone):
    """Another that came later disturbs as well; unknown is not alone."""
    load = Load(in_flight_at_arrival=arrival, in_flight_peak=peak)

    assert quiet(record(load=load)) is alone
