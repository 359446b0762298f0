"""Findings about time that passes beside the model: hidden requests, queue, network, caller, this proxy.

One rule: each is a segment of the turns' budgets, whose source it takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from analysis.explain.source import MEASURED

from .base import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.segment import SegmentName

    from .base import FindingName, Seen

OURS_NS: Final = 10_000_000
"""Of this proxy's own in the mean turn: a measuring proxy is held to less than others."""


def hidden_requests(seen: Seen) -> Iterator[Finding]:
    """Requests that the client made for itself, and that a turn waited for."""
    among = sum(1 for turn, _ in seen.turns if turn.in_the_way)
    yield from _segment(seen, "hidden requests", ("hidden requests in the way",), turns=among)


def queueing(seen: Seen) -> Iterator[Finding]:
    """Requests that waited in the server for others, as it says."""
    yield from _segment(seen, "queueing", ("server queue",))


def slow_caller(seen: Seen) -> Iterator[Finding]:
    """The client did not read what had come for it."""
    stalled = sum(1 for r in seen.answers if r.stall_ns)
    yield from _segment(seen, "slow caller", ("caller not reading",), answers=stalled)


def far_server(seen: Seen) -> Iterator[Finding]:
    """Connecting and uploading take long."""
    dialled = sum(1 for r in seen.answers if r.timings.upstream_dial_ns is not None)
    yield from _segment(seen, "far server", ("upload", "connect"), dialled=dialled)


def proxy_slow(seen: Seen) -> Iterator[Finding]:
    """This proxy itself is in the way."""
    ns = seen.mean_ns("proxy itself")
    if ns >= OURS_NS:
        late = [r.self.lateness_ns for r in seen.answers if r.self.lateness_ns is not None]
        figures = {"lateness_ns": max(late)} if late else {}
        yield Finding("proxy slow", ns, MEASURED, figures, takes=frozenset({"proxy itself"}))


def _segment(
    seen: Seen, name: FindingName, names: tuple[SegmentName, ...], **figures: int
) -> Iterator[Finding]:
    ns = seen.mean_ns(*names)
    if not seen.felt(ns):
        return
    sources = [source for each in names if (source := seen.source_of(each))]
    found = {"share": ns / seen.turn_ns, **figures}
    yield Finding(name, ns, sources[0], found, takes=frozenset(names))
