"""What the recorder counts of its records, for Prometheus.

One rule: no label holds what a caller or a server chose. Labels are words of this program and the operator's
words for the routes, so the number of series is bounded whatever comes by. The model is no label for that
reason: its name comes from the caller. All of it lives in one registry of its own.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from operator import sub
from typing import TYPE_CHECKING, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.registry import Collector

from .dialects.table import DIALECTS
from .journal.timing import tpot_ns, ttft_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .journal.record import Record

PREFIX: Final = "turnscope"
MOST_ROUTES: Final = 64
"""Routes that are told apart; what comes by more is counted as `other`."""
OTHER: Final = "other"

# vLLM's own (vllm/v1/metrics/loggers.py), so that its histograms and these can be laid on each other.
TTFT_S: Final = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5),
    *(10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
_VLLM_ITL_S: Final = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5),
    *(10.0, 20.0, 40.0, 80.0),
)
STEP_S: Final = (0.001, 0.0025, 0.005, *_VLLM_ITL_S)
"""vLLM's for inter-token latency, with three below them: a small local model is faster than its first."""
EXCHANGE_S: Final = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
OWN_DELAY_S: Final = (
    *(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01),
    *(0.025, 0.1),
)

_NS: Final = 1e9


class Metrics:
    """Counts records. One thread counts, any may ask for the text."""

    def __init__(self, waiting: Callable[[], int] = lambda: 0) -> None:
        """`waiting` says how many exchanges stand before the second stage."""
        # The library's own switch, and not typed; a series more for each counter and histogram otherwise.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._routes: set[str] = set()
        self._dialects = frozenset(dialect.name for dialect in DIALECTS)
        self._exchanges = self._counter(
            *("exchanges", "Exchanges that have a record."),
            *("kind", "dialect", "outcome", "generation"),
        )
        self._errors = self._counter("errors", "Exchanges that went wrong.", "error_kind")
        self._unwritten = Counter(
            *("records_unwritten", "Records that could not be written to the journal."),
            namespace=PREFIX,
            registry=self.registry,
        )
        queued = Gauge(
            *("recorder_waiting_exchanges", "Ended exchanges whose record is not written yet."),
            namespace=PREFIX,
            registry=self.registry,
        )
        queued.set_function(waiting)
        self._make_times()
        self._make_tokens()

    def _make_times(self) -> None:
        ttft = "From the last request byte to the first generated token."
        self._ttft = self._histogram("time_to_first_token_seconds", ttft, TTFT_S, "kind")
        tpot = "Decode time of an exchange, for each token behind the first event."
        self._tpot = self._histogram("time_per_output_token_seconds", tpot, STEP_S)
        whole = "From the first request byte to the end."
        self._whole = self._histogram("exchange_seconds", whole, EXCHANGE_S, "kind")
        delay = "This proxy's own delay of the first piece of a reply: a lower bound."
        self._delay = self._histogram("own_delay_seconds", delay, OWN_DELAY_S)
        self._stall = self._counter("stall_seconds", "Time in which the caller did not read.")
        self._gaps = GapHistogram()
        self.registry.register(self._gaps)

    def _make_tokens(self) -> None:
        parts = "Prompt tokens by part, where they were counted."
        self._parts = self._counter("prompt_tokens", parts, "part")
        billed = "Prompt tokens as the server billed them, cached ones included."
        self._billed = self._counter("billed_prompt_tokens", billed)
        cached = "Prompt tokens that the server took from its cache."
        self._cached = self._counter("cached_prompt_tokens", cached)
        base = "Billed prompt tokens of the exchanges whose server said how many were cached."
        self._cache_known = self._counter("cache_reported_prompt_tokens", base)
        self._output = self._counter("output_tokens", "Generated tokens, reasoning included.")

    def take(self, record: Record, token_event_ns: Sequence[int], *, written: bool) -> None:
        """One more. `token_event_ns`: the time of each event that carried output, monotonic."""
        route = self._route(record)
        dialect = record.dialect if record.dialect in self._dialects else OTHER
        self._exchanges.add(1, route, record.kind, dialect, record.outcome, record.generation)
        if record.error_kind is not None:
            self._errors.add(1, route, record.error_kind)
        if not written:
            self._unwritten.inc()
        self._take_times(record, route)
        self._gaps.take(route, token_event_ns)
        self._take_tokens(record, route)

    def text(self) -> bytes:
        """All of it in Prometheus' text format 0.0.4."""
        return generate_latest(self.registry)

    def _take_times(self, record: Record, route: str) -> None:
        timings = record.timings
        self._ttft.add(ttft_ns(timings), route, record.kind)
        self._tpot.add(tpot_ns(timings, record.output).value, route)
        self._whole.add(timings.end_ns, route, record.kind)
        self._delay.add(record.self.first_ns, route)
        self._stall.add(record.stall_ns / _NS, route)

    def _take_tokens(self, record: Record, route: str) -> None:
        for part in record.parts:
            self._parts.add(part.tokens, route, part.part)
        usage = record.usage
        self._billed.add(usage.input, route)
        if usage.cached is not None:
            self._cached.add(usage.cached, route)
            self._cache_known.add(usage.input, route)
        self._output.add(record.output.tokens, route)

    def _route(self, record: Record) -> str:
        """The operator's word for it, else where it leads.

        `record.route` is no label: it has as many values as callers find addresses of this machine.
        """
        name = record.label or record.upstream
        if name not in self._routes:
            if len(self._routes) >= MOST_ROUTES:
                return OTHER
            self._routes.add(name)
        return name

    def _counter(self, name: str, text: str, *labels: str) -> Counts:
        names = ("route", *labels)
        return Counts(Counter(name, text, names, namespace=PREFIX, registry=self.registry))

    def _histogram(self, name: str, text: str, bounds: Sequence[float], *labels: str) -> Times:
        names = ("route", *labels)
        made = Histogram(
            name, text, names, namespace=PREFIX, registry=self.registry, buckets=bounds
        )
        return Times(made)


class GapHistogram(Collector):
    """Gaps between events that carry output. Events, not tokens: it is no inter-token latency.

    It takes all gaps of an exchange at once: the library's own takes a call for each, and an answer has
    hundreds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bounds_ns = [round(bound * _NS) for bound in STEP_S]
        self._routes: dict[str, tuple[list[int], int, int]] = {}
        """By route: gaps up to each bound, all gaps, their sum in ns."""

    def take(self, route: str, event_ns: Sequence[int]) -> None:
        """The gaps between these moments."""
        if len(event_ns) < 2:
            return
        gaps = sorted(map(sub, event_ns[1:], event_ns))
        below = [bisect_right(gaps, bound) for bound in self._bounds_ns]
        with self._lock:
            counts, count, sum_ns = self._routes.get(route, ([0] * len(STEP_S), 0, 0))
            counts = [old + new for old, new in zip(counts, below, strict=True)]
            self._routes[route] = counts, count + len(gaps), sum_ns + event_ns[-1] - event_ns[0]

    def describe(self) -> Iterable[HistogramMetricFamily]:
        """Its name alone."""
        yield self._family()

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """As it stands."""
        family = self._family()
        with self._lock:
            routes = sorted(self._routes.items())
        for route, (counts, count, sum_ns) in routes:
            buckets = [(str(le), float(n)) for le, n in zip(STEP_S, counts, strict=True)]
            family.add_metric((route,), [*buckets, ("+Inf", float(count))], sum_ns / _NS)
        yield family

    def _family(self) -> HistogramMetricFamily:
        text = "Time from an event that carries output to the next."
        return HistogramMetricFamily(f"{PREFIX}_event_gap_seconds", text, labels=("route",))


class Counts:
    """A counter with labels. It keeps its series at hand: the library's own look-up is most of the cost."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._series: dict[tuple[str, ...], Counter] = {}

    def add(self, value: float | None, *labels: str) -> None:
        """A number, if there is one. Servers can say negative ones; a counter cannot go down."""
        if value is not None and value > 0:
            if (series := self._series.get(labels)) is None:
                series = self._series[labels] = self._counter.labels(*labels)
            series.inc(value)


class Times:
    """A histogram with labels, in the same way."""

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._series: dict[tuple[str, ...], Histogram] = {}

    def add(self, value_ns: float | None, *labels: str) -> None:
        """A duration, if there is one. A negative one (an answer before its question's end) is none."""
        if value_ns is not None and value_ns >= 0:
            if (series := self._series.get(labels)) is None:
                series = self._series[labels] = self._histogram.labels(*labels)
            series.observe(value_ns / _NS)
