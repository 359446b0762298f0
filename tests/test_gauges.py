"""A server's own metrics in our figures: each engine's names, what is summed, and nothing that is half true."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.gauges import exposition
from proxy.gauges.exposition import read
from proxy.gauges.following import Following, Question, starts_anew
from proxy.gauges.names import ENGINES
from proxy.journal.gauge import GaugeSample
from proxy.journal.lines import encode
from tests.support import expositions

EXPECTED = {
    "vllm": {
        "running": 7,
        "waiting": 2,
        "kv_usage": 0.75,
        "prompt_tokens": 12_345_680,
        "generation_tokens": 1000,
        "cache_queries": 12_000,
        "cache_hits": 8500,
        "drafts": 400,
        "drafted": 1600,
        "accepted": 600,
        "preemptions": 1,
    },
    "sglang": {
        "running": 5,
        "waiting": 2,
        "kv_usage": 0.5,
        "prompt_tokens": 1000,
        "generation_tokens": 70,
        "cache_queries": 1000,
        "cache_hits": 450,
        "drafts": 30,
        "preemptions": 2,
    },
    "llamacpp": {
        "running": 1,
        "waiting": 3,
        "prompt_tokens": 2000,
        "generation_tokens": 345,
        "cache_queries": 2000,
        "cache_hits": 800,
        "drafts": 0,
        "drafted": 0,
        "accepted": 0,
    },
    "tensorrt_llm": {
        "running": 6,
        "waiting": 1,
        "kv_usage": 0.375,
        "prompt_tokens": 5000,
        "generation_tokens": 600,
        "cache_queries": 5000,
        "cache_hits": 2000,
        "drafted": 90,
        "accepted": 60,
    },
    "tgi": {
        "running": 5,
        "waiting": 2,
        "prompt_tokens": 3456,
        "generation_tokens": 789,
        "accepted": 123,
    },
}
NOW = Question(at_unix_ns=1_790_000_000 * 10**9, took_ns=2_000_000, in_flight=3)


def text_of(engine):
    """The engine's answer."""
    return getattr(expositions, engine.upper())


def said(text):
    """An answer that has something to say."""
    found = read(text.encode())
    assert found is not None
    return found


@pytest.mark.parametrize("engine", EXPECTED)
def test_each_engine_is_read_by_its_own_names(engine):
    """Series are summed over engines, shares are the fullest's, shards and parts are not counted twice."""
    found = said(text_of(engine))

    assert (found.engine, found.figures) == (engine, EXPECTED[engine])


def test_each_engine_of_the_table_is_tried_here():
    """No table without a text."""
    assert EXPECTED.keys() == ENGINES.keys()


def test_each_row_fills_a_field_that_is_there_and_each_once():
    """The table's names are the sample's."""
    for rows in ENGINES.values():
        figures = [row.figure for row in rows]
        assert len(figures) == len(set(figures))
        assert set(figures) <= set(GaugeSample.__struct_fields__)


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("vllm:gpu_cache_usage_perc 0.5\nvllm:gpu_prefix_cache_hits_total 8\n", (0.5, 8)),
        ("vllm:gpu_cache_usage_perc 0.1\nvllm:kv_cache_usage_perc 0.5\n", (0.5, None)),
        ('vllm:kv_cache_usage_perc{a="x",} 0.5 1790000000000\r\n', (0.5, None)),
    ],
)
def test_older_names_are_known_and_newer_ones_win(text, figures):
    """As vLLM renamed them; a time behind the value and a comma behind the labels are allowed."""
    found = said(text).figures

    assert (found.get("kv_usage"), found.get("cache_hits")) == figures


@pytest.mark.parametrize(
    "line",
    [
        "vllm:num_requests_running{engine='1'} 4",
        'vllm:num_requests_running{engine="1"} NaN',
        'vllm:num_requests_running{engine="1"} +Inf',
        'vllm:num_requests_running{engine="1"} -1',
        'vllm:num_requests_running{engine="1"} 1e300',
        f'vllm:num_requests_running{{engine="1"}} {"9" * 400}',
        'vllm:num_requests_running{engine="1"} many',
        'vllm:num_requests_running{engine="1"}',
        f'vllm:num_requests_running{{engine="{"x" * 5000}"}} 4',
    ],
)
def test_a_figure_with_a_series_that_cannot_be_read_is_missing(line):
    """A sum over the rest would be a lie; other figures are not harmed."""
    figures = said(f"{line}\nvllm:num_requests_running 3\nvllm:num_requests_waiting 2\n").figures

    assert figures == {"waiting": 2}


def test_both_halves_of_a_sum_or_none():
    """An older llama.cpp says what it did not have in its cache, and not what it had."""
    figures = said("llamacpp:prompt_tokens_total 12\nllamacpp:requests_processing 1\n").figures

    assert figures == {"running": 1}


@pytest.mark.parametrize("text", ["", "{}", "<html>", "# TYPE a gauge\na 1\n", "vllm:other 1\n"])
def test_a_text_without_a_known_metric_is_no_sample(text):
    """Whatever else answers at that path."""
    assert read(text.encode()) is None


def test_an_answer_of_fewer_lines_never_invents_a_figure():
    """Cut behind any line, each figure is right or missing."""
    lines = expositions.LLAMACPP.encode().splitlines(keepends=True)
    for count in range(len(lines)):
        found = read(b"".join(lines[:count]))
        figures = {} if found is None else found.figures
        assert figures.items() <= EXPECTED["llamacpp"].items()


@given(st.binary(max_size=400), st.integers(0, 2000), st.sampled_from(sorted(EXPECTED)))
@example(b"\\" * 300 + b'"', 60, "vllm")
def test_no_bytes_make_it_raise(junk, place, engine):
    """Bytes put anywhere into a good answer."""
    body = text_of(engine).encode()
    found = read(body[:place] + junk + body[place:])

    assert found is None or set(found.figures) <= set(GaugeSample.__struct_fields__)


@given(st.text(alphabet='{}",=\\ \t#eE+-.0123456789NaInf_:abc\n', max_size=200))
def test_no_line_of_a_known_metric_makes_it_raise(rest):
    """What stands behind the name."""
    found = read(f"vllm:num_requests_running{rest}\nvllm:num_requests_waiting 1".encode())

    assert found is None or found.figures.get("waiting", 1) >= 0


def test_a_hostile_answer_costs_little():
    """8 MiB of series of one metric, each with as many labels as fit: bounded, and no figure comes of it."""
    labels = ",".join(f'l{n}="{"x" * 8}"' for n in range(200))
    line = f"vllm:num_requests_running{{{labels}}} 1\n"
    body = (line * (8 * 2**20 // len(line)) + "vllm:num_requests_waiting 1\n").encode()
    began = time.process_time()

    found = read(body)

    assert found is None or "running" not in found.figures
    assert time.process_time() - began < 10


def test_a_large_answer_of_a_real_server_is_cheap():
    """16 engines with all their buckets: about 1 MB, a few dozen lines of it ours."""
    bucket = 'vllm:e2e_request_latency_seconds_bucket{{engine="{0}",le="{1}",model_name="m"}} 1.0\n'
    buckets = "".join(bucket.format(e, n) for e in range(16) for n in range(800))
    body = (buckets + expositions.VLLM).encode()
    began = time.process_time()

    assert said(body.decode()).figures == EXPECTED["vllm"]
    assert time.process_time() - began < 1


def test_the_first_sample_knows_of_no_reset():
    """Nothing is known of the time before."""
    sample = Following("http://a").answered(said(expositions.TGI), NOW)

    assert (sample.reset, sample.engine, sample.problem, sample.in_flight) == (None, "tgi", None, 3)


def moved(line, value, text=expositions.VLLM):
    """The text with another value of the series that begins so."""
    return "\n".join(
        f"{row.rpartition(' ')[0]} {value}" if row.startswith(line) else row
        for row in text.splitlines()
    )


@pytest.mark.parametrize(
    ("now", "reset"),
    [
        (expositions.VLLM, False),
        (moved('vllm:generation_tokens_total{engine="0"', 901), False),
        (moved("vllm:num_requests_running", 0), False),
        (moved('vllm:generation_tokens_total{engine="1"', 99), True),
        (moved("process_start_time_seconds", 1.8e9), True),
        (expositions.VLLM.replace('engine="1"', 'engine="2"'), True),
        (expositions.VLLM + 'vllm:num_preemptions_total{engine="2"} 0\n', False),
        (expositions.TGI, True),
    ],
    ids=["same", "grown", "gauge", "fell", "restarted", "gone", "new", "other engine"],
)
def test_a_counter_that_starts_anew_is_marked(now, reset):
    """Each series counts for itself: one engine's restart can hide in a sum that still grows."""
    assert starts_anew(said(expositions.VLLM), said(now)) is reset


def test_a_reset_that_hides_in_the_sum_is_marked():
    """Engine 1 was started anew while engine 0 generated more than that took away."""
    after = moved('vllm:generation_tokens_total{engine="0"', 5000)
    after = moved('vllm:generation_tokens_total{engine="1"', 3, after)
    following = Following("http://a")
    first = following.answered(said(expositions.VLLM), NOW)
    second = following.answered(said(after), NOW)

    assert second.generation_tokens > first.generation_tokens
    assert (first.reset, second.reset) == (None, True)


def test_a_problem_is_written_when_it_begins_and_counted_while_it_lasts():
    """A reader sees the gap, its cause and how many questions fell into it."""
    following = Following("http://a")
    asked = ["late", "late", "late", "unreachable", "unreachable"]
    lines = [following.missed(problem, NOW) for problem in asked]
    after = following.answered(said(expositions.TGI), NOW)

    assert [line and (line.problem, line.dropped) for line in lines] == [
        ("late", 0),
        None,
        None,
        ("unreachable", 2),
        None,
    ]
    assert (after.problem, after.dropped) == (None, 1)
    assert following.missed("late", NOW).dropped == 0


def test_a_reset_is_seen_across_a_problem():
    """A server is away while it is started anew."""
    following = Following("http://a")
    following.answered(said(expositions.llamacpp(predicted=100)), NOW)
    following.missed("unreachable", NOW)

    assert following.answered(said(expositions.llamacpp(predicted=1)), NOW).reset is True


def test_a_line_begins_as_all_lines_of_a_journal_do():
    """So that one that was glued behind a torn one is found."""
    sample = Following("http://a").answered(said(expositions.VLLM), NOW)

    assert encode(sample).startswith(b'{"v":1,')


def test_nothing_is_kept_of_what_was_read():
    """A thousand answers with other labels each leave no more behind than one."""
    following = Following("http://a")
    for n in range(1000):
        following.answered(said(f'tgi_request_input_length_sum{{pod="{n}"}} {n}\n'), NOW)

    assert len(following._before.counters) == 1
    assert exposition.MOST_LINES < 10_000
