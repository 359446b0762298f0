"""What servers with OpenAI's formats say of themselves, each where it puts it."""

from __future__ import annotations

import pytest

from proxy.dialects.base import Usage
from proxy.dialects.openai_figures import read_figures
from proxy.dialects.tally import Tally


def figures(*values, streamed=True):
    """The reading after objects in events of their own."""
    tally = Tally(200)
    for n, value in enumerate(values):
        tally.begin(n if streamed else None)
        read_figures(value, tally)
        tally.end()
    return tally.reading(streamed=streamed)


BILL = {"prompt_tokens": 30, "completion_tokens": 9}

USAGE = {
    "OpenAI, vLLM": (
        {"prompt_tokens_details": {"cached_tokens": 16}, "completion_tokens_details": {"reasoning_tokens": 6}},
        Usage(30, 9, cached=16, reasoning=6),
    ),
    "vLLM's new cache": (
        {"prompt_tokens_details": {"cached_tokens": 0, "created_cache_tokens": 8}},
        Usage(30, 9, cached=0, cache_write=8),
    ),
    "OpenRouter": ({"prompt_tokens_details": {"cache_write_tokens": 8}}, Usage(30, 9, cache_write=8)),
    "SGLang": ({"reasoning_tokens": 7, "prompt_tokens_details": None}, Usage(30, 9, reasoning=7)),
    "DeepSeek": ({"prompt_cache_hit_tokens": 20, "prompt_cache_miss_tokens": 10}, Usage(30, 9, cached=20)),
    "Moonshot": ({"cached_tokens": 20}, Usage(30, 9, cached=20)),
    "wrong types": ({"prompt_tokens_details": 7, "completion_tokens_details": []}, Usage(30, 9)),
}  # fmt: skip


@pytest.mark.parametrize(("details", "expected"), USAGE.values(), ids=USAGE)
def test_each_server_bills_in_its_own_place(details, expected):
    """Cached, written and reasoning tokens are found; what is not said stays None."""
    assert figures({"choices": [], "usage": BILL | details}).usage == expected


def test_usage_of_wrong_types_is_none():
    """Counts that are no counts say nothing."""
    wrong = {"prompt_tokens": "30", "completion_tokens": -1}

    assert figures({"usage": wrong}, {"usage": [1]}, {"usage": "x"}).usage == Usage()


def test_usage_beside_choices_is_a_running_count():
    """In an event with choices usage runs; without choices it is the bill; whole bodies have the bill."""
    running = {"choices": [{"delta": {}}], "usage": BILL}

    assert figures(running).output_source == "continuous usage"
    assert figures(running | {"choices": []}).output_source == "usage"
    assert figures({"usage": BILL}).output_source == "usage"
    assert figures(running, streamed=False).output_source == "usage"


def test_llama_cpp_counts_cached_tokens_apart():
    """`prompt_n` leaves cached tokens out; without `cache_n` the prompt's length is not known."""
    timings = {"cache_n": 9, "prompt_n": 22, "predicted_n": 3, "predicted_ms": 41.0}
    reading = figures({"timings": timings})

    assert reading.usage == Usage(31, 3, cached=9)
    assert reading.output_source == "timings"
    assert reading.reported == timings

    del timings["cache_n"]
    assert figures({"timings": timings}).usage == Usage(output=3)


FIGURES = {
    "vLLM": ({"metrics": {"queue_time_ms": 1.5}}, {"queue_time_ms": 1.5}),
    "SGLang": ({"sglext": {"spec_tokens_details": {"spec_verify_ct": 4}}}, {"spec_tokens_details.spec_verify_ct": 4}),
    "SGLang, not streamed": ({"choices": [{"meta_info": {"e2e_latency": 0.5, "id": "x"}}]}, {"e2e_latency": 0.5}),
    "LM Studio": ({"stats": {"time_to_first_token": 0.25, "stop_reason": "eos"}}, {"time_to_first_token": 0.25, "stop_reason": "eos"}),
    "llama.cpp's progress": ({"prompt_progress": {"processed": 512}}, {"prompt_progress.processed": 512}),
    "wrong types": ({"metrics": [1], "timings": 7, "stats": "x", "choices": {"a": 1}}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), FIGURES.values(), ids=FIGURES)
def test_own_figures_keep_the_servers_names(value, expected):
    """Each server's figures are reported as it calls them; texts are not, but for a known word."""
    assert figures(value).reported == expected


def test_the_model_is_the_first_named():
    """Azure's first event names no model; a later one does."""
    reading = figures({"model": ""}, {"model": "m-1", "system_fingerprint": "b1"}, {"model": "m-2"})

    assert (reading.model, reading.fingerprint) == ("m-1", "b1")
