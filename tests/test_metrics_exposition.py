"""What the recorder counts, as Prometheus reads it; and that the docs list all of it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from proxy.dialects.table import DIALECTS
from proxy.journal.record import Prefix, Request, Self, UsageReport
from proxy.metrics import MOST_ROUTES, OTHER, STEP_S, TTFT_S, Metrics
from proxy.slots import Figures
from proxy.vitals import Vitals, exposition
from tests.support.builders import output, parts, record, timings
from tests.support.own_pages import figure, samples
from tests.support.pages import page

TTFT_OF_VLLM = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
ITL_OF_VLLM = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0),
)
MS = 1_000_000


def text(*records, events=()):
    """What is said of these."""
    metrics = Metrics()
    for each in records:
        metrics.take(each, events, written=True)
    return metrics.text().decode()


def bounds(said, name):
    """The bounds of a histogram's buckets, without the last."""
    found = {s.labels["le"] for s in samples(said) if s.name == f"turnscope_{name}_bucket"}
    return sorted(map(float, found))[:-1]


def test_a_record_is_counted_under_its_own_words():
    """Kind, dialect, outcome and generation, and the kind of its error."""
    good = record(label="chat")
    bad = record(
        label="chat", outcome="client_gone", generation="incomplete", error_kind="client_disconnect"
    )
    said = text(good, good, bad)

    name, route = "turnscope_exchanges_total", {"route": "chat"}
    assert 2 == figure(said, name, outcome=good.outcome, kind=good.kind, **route)
    assert 1 == figure(said, name, outcome="client_gone", generation="incomplete", **route)
    assert 3 == figure(said, name, dialect=good.dialect)
    assert 1 == figure(said, "turnscope_errors_total", error_kind="client_disconnect", **route)


def test_waiting_times_are_the_ones_of_the_contract():
    """TTFT from u0, the whole from the first byte, the own delay as the record has it."""
    marks = timings(request_end_ns=100 * MS, first_token_ns=700 * MS, end_ns=2_000 * MS)
    said = text(record(timings=marks, self=Self(first_ns=60_000), stall_ns=250 * MS))

    assert 0.6 == pytest.approx(figure(said, "turnscope_time_to_first_token_seconds_sum"))
    assert 2.0 == pytest.approx(figure(said, "turnscope_exchange_seconds_sum"))
    assert 0.00006 == pytest.approx(figure(said, "turnscope_own_delay_seconds_sum"))
    assert 0.25 == figure(said, "turnscope_stall_seconds_total")


def test_tokens_are_told_apart():
    """By part as counted, and the bill beside it; the cache against bills that speak of it."""
    silent = record(parts=parts(system=10, tools=90), usage=UsageReport(input=110))
    spoken = record(
        parts=parts(system=10, tools=90, question=None),
        usage=UsageReport(input=110, cached=64),
        output=output(tokens=7),
    )
    said = text(silent, spoken)

    assert 20 == figure(said, "turnscope_prompt_tokens_total", part="system")
    assert 180 == figure(said, "turnscope_prompt_tokens_total", part="tools")
    assert 220 == figure(said, "turnscope_billed_prompt_tokens_total")
    assert 64 == figure(said, "turnscope_cached_prompt_tokens_total")
    assert 110 == figure(said, "turnscope_cache_reported_prompt_tokens_total")


def test_what_is_not_known_makes_no_series():
    """Null is not zero: neither a part nor a time nor a bill."""
    bare = record(
        parts=parts(question=None),
        timings=timings(request_end_ns=None, first_token_ns=None, last_token_ns=None),
        usage=UsageReport(),
        output=output(tokens=None),
        self=Self(),
    )
    said = text(bare)

    for name in (
        *("prompt_tokens_total", "billed_prompt_tokens_total", "cached_prompt_tokens_total"),
        *("output_tokens_total", "time_to_first_token_seconds_count", "own_delay_seconds_count"),
        *("event_gap_seconds_count", "time_per_output_token_seconds_count", "errors_total"),
    ):
        assert figure(said, f"turnscope_{name}") is None, name


def test_nonsense_from_a_server_harms_no_counter():
    """Negative counts, and an answer before the question's end, are left out; huge ones are a number."""
    marks = timings(request_end_ns=900 * MS, first_token_ns=100 * MS)
    usage = UsageReport(input=-5, cached=-1)
    said = text(record(usage=usage, timings=marks, output=output(tokens=2**63 - 1)))

    assert figure(said, "turnscope_billed_prompt_tokens_total") is None
    assert figure(said, "turnscope_time_to_first_token_seconds_count") is None
    assert 2.0**63 == figure(said, "turnscope_output_tokens_total")


def test_a_record_that_is_on_no_disk_is_counted_apart():
    """With all else of it: it was an exchange."""
    metrics = Metrics()
    metrics.take(record(), (), written=False)
    said = metrics.text().decode()

    assert 1 == figure(said, "turnscope_records_unwritten_total")
    assert 1 == figure(said, "turnscope_exchanges_total")


def test_buckets_are_those_of_vllm():
    """The same for TTFT; for gaps all of them, with finer ones below."""
    said = text(record(), events=(0, 20 * MS))

    assert list(TTFT_OF_VLLM) == bounds(said, "time_to_first_token_seconds") == list(TTFT_S)
    gaps = bounds(said, "event_gap_seconds")
    assert set(ITL_OF_VLLM) < set(gaps)
    assert max(set(gaps) - set(ITL_OF_VLLM)) < min(ITL_OF_VLLM)
    assert gaps == bounds(said, "time_per_output_token_seconds")


@given(st.lists(st.integers(0, 100_000 * MS), max_size=40), st.integers(0, 10**15))
@settings(max_examples=60, deadline=None)
def test_gaps_are_counted_as_the_library_would(gaps, start):
    """One call for all of them gives what a call for each gives."""
    registry = CollectorRegistry()
    oracle = Histogram("turnscope_event_gap_seconds", "", registry=registry, buckets=STEP_S)
    events = [start]
    for gap in gaps:
        events.append(events[-1] + gap)
        oracle.observe(gap / 1e9)
    said = text(record(), record(), events=events)

    found = {(s.name, s.labels.get("le")): s.value for s in samples(said)}
    for each in samples(generate_latest(registry).decode()):
        if gaps and not each.name.endswith("_created"):
            got = found[each.name, each.labels.get("le")]
            assert 2 * each.value == pytest.approx(got)


WORD = st.text(min_size=1, max_size=30)
LABEL = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=64)
"""As the config takes them."""


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "label": LABEL,
                **dict.fromkeys(("route", "peer", "id", "dialect"), WORD),
                **dict.fromkeys(("client", "thread", "turn", "model_served", "server"), WORD),
                **dict.fromkeys(("backend", "fingerprint", "error_type", "error_detail"), WORD),
            }
        ),
        max_size=30,
    ),
    WORD,
)
@settings(max_examples=40, deadline=None)
def test_nothing_that_comes_by_is_a_label(words, path):
    """Of all texts of a record only the operator's two are in a label, whatever they hold."""
    asked = Request(method=path, path=path, model=path)
    said = text(*(record(request=asked, **each) for each in words))

    values = {v for s in samples(said) for key, v in s.labels.items() if key not in {"le", "route"}}
    allowed = {record().kind, record().outcome, record().generation, record().dialect, OTHER}
    parts_named = {"system", "tools", "history", "tool_results", "question", "media", "template"}
    assert values <= allowed | parts_named | {dialect.name for dialect in DIALECTS}
    routes = {s.labels["route"] for s in samples(said) if "route" in s.labels}
    assert len(routes) <= len({each["label"] for each in words})


def test_the_number_of_routes_is_bounded():
    """Whatever calls itself a route beyond that is one more series and no further one."""
    said = text(*(record(label=f"route {n}") for n in range(MOST_ROUTES * 3)))

    routes = {s.labels["route"] for s in samples(said) if "route" in s.labels}
    assert MOST_ROUTES + 1 == len(routes)
    assert MOST_ROUTES * 2 == figure(said, "turnscope_exchanges_total", route=OTHER)


def test_a_route_without_a_word_is_called_by_where_it_leads():
    """Not by the address that the caller found it at, of which there are as many as it likes."""
    said = text(
        *(
            record(label="", upstream="http://gpu:8000", route=f"127.0.{n}.1:8484")
            for n in range(50)
        )
    )

    assert {"http://gpu:8000"} == {s.labels["route"] for s in samples(said) if "route" in s.labels}


def test_counting_a_record_is_cheap():
    """An answer of 400 events with all its figures: well below a tenth of a millisecond when undisturbed."""
    metrics = Metrics()
    usage = UsageReport(input=8_000, cached=7_900, output=400)
    prompt = parts(system=10, tools=90, history=5, tool_results=5, question=5, template=5)
    one = record(parts=prompt, usage=usage, self=Self(first_ns=50_000), prefix=Prefix())
    events = tuple(n * 12_345_678 for n in range(400))
    took = []
    for _ in range(200):
        began = time.perf_counter_ns()
        metrics.take(one, events, written=True)
        took.append(time.perf_counter_ns() - began)

    assert min(took) < 300_000


def exported():
    """Each name with its type and its labels."""
    rich = record(
        label="r",
        error_kind="http_error",
        parts=parts(system=1),
        usage=UsageReport(input=5, cached=2, output=3),
        output=output(tokens=40, events=30),
        self=Self(first_ns=1),
        stall_ns=1,
    )
    look = Vitals(0, 0, (Figures(pulse_ns=1),), Figures(), recorder_up=True)
    metrics = Metrics()
    metrics.take(rich, (0, MS, 2 * MS), written=False)
    both = exposition(look) + metrics.text()
    for family in text_string_to_metric_families(both.decode()):
        labels = {key for s in family.samples for key in s.labels} - {"le", "quantile"}
        counter = "_total" if family.type == "counter" else ""
        yield f"{family.name}{counter}", family.type, labels


def test_the_docs_list_every_metric_and_no_other():
    """Name, type and labels, in docs/metrics.md; and no name comes twice."""
    found = [(name, kind, labels) for name, kind, labels in exported()]
    rows = page("docs/metrics.md").rows("Prometheus")
    listed = [
        (name.strip("`"), kind, set() if not labels else set(labels.replace("`", "").split(", ")))
        for name, kind, labels, _ in rows
    ]

    assert sorted(listed, key=str) == sorted(found, key=str)
    assert len({name for name, *_ in found}) == len(found)
