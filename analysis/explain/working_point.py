"""How many requests are at work at once: the point at which figures of an engine have to be read.

One rule: a working point is what runs, never what may run. A configured limit (`--max-num-seqs 64`) has
decided for the wrong column before, so none is ever taken. What the user says comes first, then the
server's gauge, then what went through this proxy, and last an assumption; all that exist stand side by
side, because a proxy sees its own callers only and a gauge may be stale.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from .asked import Range
from .source import MEASURED, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from analysis.store.recorded import GaugeSample, Record
    from analysis.store.tallies import InFlight

Sight = Literal["said", "gauge", "proxy", "caller"]
"""Whose word it is, the best first: the user's, the server's own gauge, what this proxy had in flight,
the kind of caller."""

Column = Literal["per-request", "aggregate", "both"]

GAUGE: Final = Source("reported", "by the server's gauge")

LOW_MOST: Final = 4
"""Requests at once up to which a figure is of low load: one user's chat or agent has 1 to 4."""

HIGH_LEAST: Final = 10
"""Requests at once from which load is high: only a pool behind a load balancer has tens."""

HELD_MOST: Final = 3
"""A busy sample whose next one is later than so many times the usual step: what came after it was not
seen."""

APART: Final = 0.25
"""Gauge and proxy disagree when their means over busy time are further apart, as a share of the larger."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How long how many were at work at once."""

    busy_ns: Mapping[int, int]
    """By number, ascending, from 1: for how long."""
    idle_ns: int
    """For how long none was, between the first and the last that was seen."""

    @property
    def whole_busy_ns(self) -> int:
        """All time in which at least one was at work; > 0."""
        return sum(self.busy_ns.values())

    @property
    def mean(self) -> float:
        """Over busy time."""
        return sum(n * ns for n, ns in self.busy_ns.items()) / self.whole_busy_ns

    def share(self, least: int, most: int) -> float:
        """Of busy time, that with so many at work, 0 to 1."""
        within = sum(ns for n, ns in self.busy_ns.items() if least <= n <= most)
        return within / self.whole_busy_ns

    def reached(self, share: float) -> int:
        """The fewest at work that are not exceeded for this share of busy time: 0.5 is the median."""
        upto = 0
        for n, ns in self.busy_ns.items():
            upto += ns
            if upto >= share * self.whole_busy_ns:
                return n
        return max(self.busy_ns)


@dataclass(frozen=True, slots=True)
class View:
    """One word on the working point."""

    sight: Sight
    source: Source
    range: Range | None
    """None: it is a distribution."""
    distribution: Distribution | None
    """None: it is a range."""
    waited: float | None = None
    """Share of busy time in which requests waited in the server besides, 0 to 1; None: not said."""

    @property
    def column(self) -> Column:
        """The column to read at it."""
        least, most = self._middle()
        if most <= LOW_MOST:
            return "per-request"
        return "aggregate" if least >= HIGH_LEAST else "both"

    def _middle(self) -> tuple[int, int]:
        if self.distribution is not None:
            middle = self.distribution.reached(0.5)
            return middle, middle
        return (0, LOW_MOST) if self.range is None else (self.range.least, self.range.most)


@dataclass(frozen=True, slots=True)
class WorkingPoint:
    """All words on it."""

    views: tuple[View, ...]
    """The best first: the first one is the working point."""
    disagree: bool
    """True: gauge and proxy are far apart. The server has other callers, or its gauge is stale."""

    @property
    def column(self) -> Column:
        """The column to read."""
        return self.views[0].column


def working_point(
    said: Range | None,
    gauges: Iterable[GaugeSample],
    records: Sequence[Record],
    tallied: Mapping[str, InFlight] | None = None,
) -> WorkingPoint | None:
    """What is known of it; None without a word from anybody.

    `tallied`: what was in flight with each upstream, exactly; None: it is worked out from the records,
    which must then be all that there are.
    """
    asked = [r for r in records if r.kind != "not_generation"]
    server, waited = of_gauges(gauges)
    proxy = in_flight(asked) if tallied is None else of_tallies(tallied)
    views = (
        None if said is None else View("said", Source("reported", "by you"), said, None),
        None if server is None else View("gauge", GAUGE, None, server, waited),
        None if proxy is None else View("proxy", MEASURED, None, proxy),
        _by_caller(asked),
    )
    there = tuple(view for view in views if view is not None)
    return WorkingPoint(there, _apart(server, proxy)) if there else None


def _apart(server: Distribution | None, proxy: Distribution | None) -> bool:
    if server is None or proxy is None:
        return False
    return abs(server.mean - proxy.mean) > APART * max(server.mean, proxy.mean)


def _by_caller(records: Sequence[Record]) -> View | None:
    """Judged by from how many addresses callers came; a pool hides its callers behind one."""
    hosts = len({r.peer.rpartition(":")[0] for r in records})
    if not hosts:
        return None
    callers = "1 caller" if hosts == 1 else f"{hosts:,} callers"
    if hosts < HIGH_LEAST:
        basis, assumed = f"{callers}: a chat or agent each", Range(1, max(LOW_MOST, hosts))
    else:
        basis, assumed = f"{callers}: a pool", Range(HIGH_LEAST, hosts)
    return View("caller", Source("assumed", f"from {basis}"), assumed, None)


def in_flight(records: Iterable[Record]) -> Distribution | None:
    """What was in flight with each upstream, from starts and ends; None when nothing took time."""
    by_upstream: dict[str, list[tuple[int, int]]] = {}
    for r in records:
        span = (r.at_unix_ns, r.at_unix_ns + max(0, r.timings.end_ns))
        by_upstream.setdefault(r.upstream, []).append(span)
    return distribution(step for spans in by_upstream.values() for step in concurrent(spans))


def of_tallies(tallied: Mapping[str, InFlight]) -> Distribution | None:
    """The same, as the store counted it."""
    return distribution(
        (0, ns, n) for each in tallied.values() for n, ns in [(0, each.idle_ns), *each.ns.items()]
    )


def concurrent(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Stretches (start, end, how many of the spans run), from the first start to the last end."""
    changes: dict[int, int] = {}
    for start, end in spans:
        changes[start] = changes.get(start, 0) + 1
        changes[end] = changes.get(end, 0) - 1
    running = 0
    for at, until in pairwise(sorted(changes)):
        running += changes[at]
        yield at, until, running


def of_gauges(samples: Iterable[GaugeSample]) -> tuple[Distribution | None, float | None]:
    """What ran, as the servers said, each sample until the next one of its server.

    The first is None when no sample says that anything ran. The second is the share of that time in
    which requests waited in the server besides, 0 to 1; None where it does not say.
    """
    by_upstream: dict[str, list[GaugeSample]] = {}
    for sample in samples:
        by_upstream.setdefault(sample.upstream, []).append(sample)
    held = [step for each in by_upstream.values() for step in _held(each)]
    ran = distribution((0, step.ns, step.running) for step in held)
    spoken = [step for step in held if step.running and step.waiting is not None]
    whole = sum(step.ns for step in spoken)
    waited = sum(step.ns for step in spoken if step.waiting)
    return ran, waited / whole if whole else None


class _Held(NamedTuple):
    """A sample, and for how long it stands."""

    ns: int
    running: int
    waiting: int | None


def _held(samples: Sequence[GaugeSample]) -> Iterator[_Held]:
    """The samples of one server, in time order, that say something.

    One that says nothing ends the one before. The last one stands for no time: how long it held nobody
    knows. A server without exchanges is asked seldom, so what ran just before that, or before a recorder
    stopped, stands for the usual time and not until the next question.
    """
    steps = [later.at_unix_ns - sample.at_unix_ns for sample, later in pairwise(samples)]
    busy = [step for sample, step in zip(samples, steps, strict=False) if sample.running]
    usual = median_low(busy) if busy else 0
    for sample, step in zip(samples, steps, strict=False):
        if sample.running is not None and step > 0:
            overlong = sample.running and step > HELD_MOST * usual
            yield _Held(usual if overlong else step, max(0, sample.running), sample.waiting)


def distribution(stretches: Iterable[tuple[int, int, int]]) -> Distribution | None:
    """Stretches (start, end, how many), added up by number; None when nothing ran in any.

    Of several servers the time of each counts: a working point is that of one engine.
    """
    times: dict[int, int] = {}
    for start, end, n in stretches:
        times[n] = times.get(n, 0) + end - start
    idle = times.pop(0, 0)
    busy = {n: times[n] for n in sorted(times) if times[n] > 0}
    return Distribution(busy, idle) if busy else None
